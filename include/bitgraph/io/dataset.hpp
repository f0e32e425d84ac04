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

/// A node classification data set.
struct Dataset {
  std::string name;
  CsrPattern graph;                  ///< undirected (A or A^T), without loops
  SparseFeatures features;           ///< num_nodes rows
  std::vector<std::int32_t> labels;  ///< 0 .. num_classes-1; -1: no label
  std::int32_t num_classes = 0;
  std::vector<NodeId> train, validation, test;  ///< empty where the file has no split
};

/// Reads a .npz in gnn-benchmark layout: adj_{data,indices,indptr,shape}, attr_{data,indices,indptr,shape}, labels,
/// optional train_idx, val_idx, test_idx. The graph is symmetrised, loops dropped; labels are moved to start at 0.
/// Throws bad_input naming file and member.
[[nodiscard]] Dataset load_dataset(const std::filesystem::path& path, const Device& device = {});

void save_dataset(const Dataset& dataset, const std::filesystem::path& path);

struct SplitOptions {
  std::size_t train_per_class = 20;
  std::size_t validation_per_class = 30;
  std::uint64_t seed = 0;
};

/// Draws a split: so many nodes of each class for training and for validation, all others with a label for the test.
/// A class with fewer nodes gives at most half of them to each. Replaces the split of `dataset`.
void draw_split(Dataset& dataset, const SplitOptions& options);

}  // namespace bitgraph
