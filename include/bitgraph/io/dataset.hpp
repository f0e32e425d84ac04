// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace bitgraph {

/// Sparse features: a CSR matrix with float values.
struct SparseFeatures {
  CsrPattern pattern;
  Buffer<float> values;  ///< one for each entry of the pattern
};

/// Shares of the samples with a label; what is left over is in no part.
struct SplitShares {
  double train = 0.5;
  double validation = 0.25;
  double test = 0.25;
};

/// Where a split comes from.
enum class SplitKind {
  file,       ///< from the data set's file, or set by hand
  per_class,  ///< draw_split()
  shares      ///< inductive_split()
};

/// How a split came about: enough to draw it again. Fields of other kinds count for nothing.
struct Split {
  SplitKind kind = SplitKind::file;
  std::uint64_t seed = 0;
  std::size_t train_per_class = 20;
  std::size_t validation_per_class = 30;
  SplitShares shares;

  [[nodiscard]] std::string describe() const;  ///< "shares 0.8, 0.1, 0.1, seed 3"
};

/// A data set for node classification, or for graph classification: then it has many graphs, along the diagonal of
/// `graph` (block_diagonal). What is classified, nodes or graphs, are its samples. Its features are sparse or dense:
/// `features` has no columns where `dense_features` has some.
struct Dataset {
  std::string name;
  CsrPattern graph;                   ///< undirected (A or A^T), without loops
  SparseFeatures features;            ///< num_nodes rows
  DenseMatrix<float> dense_features;  ///< num_nodes x num_features(), or empty
  /// One more than graphs: nodes first_node[g] .. first_node[g + 1] - 1 are those of graph g. Empty: samples are nodes.
  std::vector<NodeId> first_node;
  std::vector<std::int32_t> labels;  ///< of each sample: 0 .. num_classes-1; -1: no label
  std::int32_t num_classes = 0;
  std::vector<NodeId> train, validation, test;  ///< samples; empty where the file has no split
  Split split;                                  ///< how these three came about

  [[nodiscard]] bool has_dense_features() const noexcept { return dense_features.ncols() != 0; }
  [[nodiscard]] std::size_t num_features() const noexcept {
    return has_dense_features() ? dense_features.ncols() : features.pattern.ncols();
  }

  /// Of a data set for graph classification; 0: its samples are nodes.
  [[nodiscard]] std::size_t num_graphs() const noexcept { return first_node.empty() ? 0 : first_node.size() - 1; }
  [[nodiscard]] std::size_t num_samples() const noexcept {
    return first_node.empty() ? graph.nrows() : first_node.size() - 1;
  }
  /// The nodes of some samples, in their order: the samples themselves, or the nodes of the graphs. O(nodes of these).
  [[nodiscard]] std::vector<NodeId> nodes_of(const std::vector<NodeId>& samples) const;

  /// Throws bad_input, naming the field, unless the fields agree: a square graph without loops; a row of features for
  /// each node and a value for each entry, all finite; graphs that have a node each, and no edge between two of them; a
  /// label for each sample (or no labels and no classes), below num_classes; parts of the split that hold samples. All
  /// of it is on the host. Everything that takes a data set calls it. O(nodes + entries + features), parallel.
  void validate() const;

  /// 16 hexadecimal digits that tell its graph, features and labels from another set's; the name and the split count
  /// for nothing. O(nodes + entries + features).
  [[nodiscard]] std::string fingerprint() const;
};

/// A dense matrix as CSR, zeros left out. O(values), parallel.
[[nodiscard]] SparseFeatures sparse_features(const DenseMatrix<float>& dense);

/// Reads a .npz in gnn-benchmark layout: adj_{data,indices,indptr,shape}, attr_{data,indices,indptr,shape} or a matrix
/// attr_matrix, and optional labels, train_idx, val_idx, test_idx; of many graphs graph_ptr, which is first_node of
/// Dataset. The graph is symmetrised, loops dropped; labels are moved to start at 0. An attr_matrix stays dense where
/// more than half of it is not zero, for that is smaller than CSR; where the file holds it as float32, row after row
/// and not deflated, it is not copied but stays in the mapped file.
///
/// A folder, or one of its files, is a set in the layout of MUSAE (Rozemberczki et al. 2021): NAME_edges.csv, NAME.json
/// and NAME_target.csv, each perhaps gzipped; see docs/formats.md. Such a set has no split. Neither have sets of many
/// graphs: a folder with graphs.json and target.csv (Karate Club), or a MATLAB file, .mat (Shervashidze et al. 2011).
///
/// Throws bad_input naming file and member, line or byte.
[[nodiscard]] Dataset load_dataset(const std::filesystem::path& path, const Device& device = {});

/// Writes that layout. With dense features all members are stored, not deflated, and written without a copy in memory.
void save_dataset(const Dataset& dataset, const std::filesystem::path& path);

struct SplitOptions {
  std::size_t train_per_class = 20;
  std::size_t validation_per_class = 30;
  std::uint64_t seed = 0;
};

/// Draws a split: so many samples of each class for training and for validation, all others with a label for the test.
/// A class with fewer samples gives at most half of them to each. Replaces the split of `dataset`.
void draw_split(Dataset& dataset, const SplitOptions& options);

/// Draws a split by shares, as inductive learning has it (Hamilton et al. 2017): a training run may see the training
/// nodes and the edges between them only. Of graphs each class has these shares. Replaces the split of `dataset`; parts
/// are sorted. Throws usage unless the shares lie between 0 and 1 and add up to at most 1, bad_input where a share
/// above 0 comes to no sample. O(samples).
void inductive_split(Dataset& dataset, const SplitShares& shares, std::uint64_t seed);

/// Draws a split again. SplitKind::file leaves the one that is there. Throws as the two above do.
void redraw_split(Dataset& dataset, const Split& split);

}  // namespace bitgraph
