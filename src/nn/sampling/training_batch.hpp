// SPDX-License-Identifier: Apache-2.0
// What one step of training sees of a graph: patterns between the nodes of neighbouring layers, features, labels.
#pragma once

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/ops/binarize.hpp>
#include <bitgraph/ops/sparse_product.hpp>

#include "core/memory/array_pack.hpp"
#include "nn/sampling/transposed_entries.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bitgraph::nn {

/// What a layer must know of the whole graph, where it sees a part of it.
struct WholeGraphFacts {
  float factor = 1;  ///< of sums
  /// How many neighbours each target has in the whole graph, where only some were drawn: a sum over those, normalized
  /// or not, is scaled up to all, the node's own entry with it. Empty: all are there.
  std::span<const float> degrees;
  /// For Aggregation::symmetric: how many neighbours each input has in the whole graph. Empty: as in this part.
  std::span<const float> input_degrees;
};

/// Float features on the host, most of them zero.
struct SparseRows {
  CsrPattern pattern;
  Buffer<float> values;
  TransposedEntries transposed;

  SparseRows(CsrPattern rows, Buffer<float> of_rows)
      : pattern(std::move(rows)), values(std::move(of_rows)), transposed(pattern) {}
};

/// Float features of all nodes on the host, few of which are not zero.
struct FeatureEntries {
  CsrPattern pattern;
  Buffer<float> values;
  BitMatrix<ZeroOne> present;  ///< the pattern

  FeatureEntries() = default;
  FeatureEntries(CsrPattern rows, Buffer<float> of_rows);
};

/// Some rows of the features of all nodes: on the host, or on a device.
struct FeatureRows {
  const FeatureEntries* all = nullptr;
  const SparseBothWays* there = nullptr;
  std::span<const NodeId> nodes;

  [[nodiscard]] bool exist() const noexcept { return all != nullptr || there != nullptr; }
};

/// The arrays of a LayerGraph in an ArrayPack.
struct LayerPlaces {
  struct Pattern {
    NodeId nrows = 0;
    NodeId ncols = 0;
    ArrayPack::Place<EdgeOffset> row_ptr;
    ArrayPack::Place<NodeId> col_ind;
    ArrayPack::Place<NodeId> chunk_row;
    EdgeOffset longest_row = 0;
  };
  Pattern pattern, transposed;
  ArrayPack::Place<float> row_scale, col_scale, vote_scale;
};

/// What a layer aggregates over, on a device: targets x inputs, target i being input i, with its own normalization.
struct LayerGraph {
  CsrPattern pattern;  ///< with the targets' own entries where the aggregation takes a node itself in
  CsrPattern transposed;
  Buffer<float> row_scale;   ///< of the aggregation; empty: ones
  Buffer<float> col_scale;   ///< the same
  Buffer<float> vote_scale;  ///< 1 / entries of a row; 0 for an empty one

  /// `block` lies on the host, without entries (i, i). `facts` are for sums and Aggregation::symmetric.
  LayerGraph(const CsrPattern& block, Aggregation aggregation, const WholeGraphFacts& facts, const Device& device);

  /// Where the pack was brought by upload().
  LayerGraph(const LayerPlaces& places, const ArrayPack& arrays);

  /// Of arrays that are made already; no scales of columns.
  LayerGraph(CsrPattern of_rows, CsrPattern of_columns, Buffer<float> row_scales, Buffer<float> vote_scales)
      : pattern(std::move(of_rows)),
        transposed(std::move(of_columns)),
        row_scale(std::move(row_scales)),
        vote_scale(std::move(vote_scales)) {}
};

/// Adds the arrays of the LayerGraph of a block on the host, with the threads of its device.
[[nodiscard]] LayerPlaces pack_layer(ArrayPack& arrays, const CsrPattern& block, Aggregation aggregation,
                                     const WholeGraphFacts& facts);

/// Signs of sparse features on the host: row i is alpha[i] times (base + its flips), a flip being -2 base where a
/// feature has the other sign.
struct SparseSigns {
  SparseRows flips;
  DenseMatrix<float> base;  ///< 1 x features, of -1 and 1
  Buffer<float> alpha;
};

/// All on one device.
struct TrainingBatch {
  std::vector<std::shared_ptr<const LayerGraph>> graphs;  ///< one a layer; null: it aggregates nothing
  std::shared_ptr<const LayerGraph> readout;              ///< graphs x nodes; null: nodes are classified
  DenseMatrix<float> features;                            ///< real models: of the first layer's inputs; or
  std::unique_ptr<const SparseRows> sparse;               ///< the same, of which most are zero; or
  FeatureRows rows;                                       ///< the same, of a sample
  Buffer<float> inverse_degree_roots;  ///< 1 / degree_root() of the same rows; empty: no steps are by degree
  Binarized signs;                     ///< binary models: the same; or
  std::unique_ptr<const SparseSigns> sparse_signs;  ///< of which few are not the base's
  Buffer<std::int32_t> labels;                      ///< one a row of the logits
  Buffer<NodeId> counted;                           ///< rows of the logits that count in the loss
  Buffer<float> loss_weight;                        ///< one a row of the logits; empty: ones
  DenseMatrix<float> taught;                        ///< a teacher's probabilities; 0 x 0: none
};

}  // namespace bitgraph::nn
