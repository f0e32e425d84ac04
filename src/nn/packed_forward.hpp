// SPDX-License-Identifier: Apache-2.0
// The packed forward pass of a two-layer binary GCN, for inference and for the validation pass of training.
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/ops/binarize.hpp>
#include <bitgraph/ops/gemm.hpp>

#include <optional>

namespace bitgraph::nn {

/// A graph as the products see it: the pattern of A + I, and D^-1/2.
struct NormalizedGraph {
  CsrPattern pattern;
  Buffer<float> scale;

  NormalizedGraph(const CsrPattern& a, const Device& device);
  [[nodiscard]] std::size_t bytes() const noexcept { return pattern.bytes() + scale.bytes(); }
};

/// Binarized features, kept dense or as differences from one row, whichever is smaller.
struct PackedFeatures {
  std::optional<SparseBinarized> sparse;
  std::optional<Binarized> dense;

  PackedFeatures(const SparseFeatures& features, std::span<const float> values, const ColumnMap& map,
                 const Device& device);
  [[nodiscard]] std::span<const float> alpha() const { return sparse ? sparse->alpha.span() : dense->alpha.span(); }
  [[nodiscard]] std::size_t bytes() const noexcept;
};

/// Graph and features must outlive it. run() allocates nothing.
class PackedForward {
 public:
  PackedForward(const NormalizedGraph& graph, const PackedFeatures& features, std::size_t hidden,
                std::size_t num_classes, Precision form, const Device& device);

  /// The weights of the two layers; they are kept by reference, what is derived from them is made here.
  void set_weights(const BinaryLayer& first, const BinaryLayer& second);

  const DenseMatrix<float>& run();

 private:
  template <class Out>
  void first_product(Out& out);

  const NormalizedGraph& graph_;
  const PackedFeatures& features_;
  Precision form_;
  Device device_;
  const BinaryLayer* first_ = nullptr;
  const BinaryLayer* second_ = nullptr;
  SparseGemmWeights sparse_weights_;
  DenseMatrix<float> updated_;  ///< full: n x hidden, then aggregated_
  DenseMatrix<float> aggregated_;
  Binarized hidden_;               ///< full: the second layer's input
  BitMatrix<PlusMinusOne> signs_;  ///< bin: the first layer's signs, then votes_
  BitMatrix<PlusMinusOne> votes_;
  DenseMatrix<float> scores_;  ///< n x classes, then logits_
  DenseMatrix<float> logits_;
};

}  // namespace bitgraph::nn
