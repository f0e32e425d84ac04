// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/io/dataset.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph {

// Seeded random graphs: symmetric, without loops, the same for any number of threads.

/// R-MAT (Chakrabarti, Zhan, Faloutsos 2004) with corners .57 .19 .19 .05: 2^scale nodes, edge_factor 2^scale drawn
/// edges before duplicates and loops go. Throws usage unless 1 <= scale <= 31.
[[nodiscard]] CsrPattern generate_rmat(int scale, std::size_t edge_factor, std::uint64_t seed,
                                       const Device& device = {});

/// `num_edges` edges drawn uniformly.
[[nodiscard]] CsrPattern generate_uniform(NodeId num_nodes, std::size_t num_edges, std::uint64_t seed,
                                          const Device& device = {});

/// Each node tied to the neighbours at its left, right, above and below.
[[nodiscard]] CsrPattern generate_grid(NodeId width, NodeId height, const Device& device = {});

struct PlantedPartitionOptions {
  NodeId num_nodes = 2000;
  std::int32_t num_classes = 7;
  std::size_t num_features = 500;
  double mean_degree = 5;
  double homophily = 0.8;       ///< probability that an edge joins two nodes of one class
  double features_a_node = 20;  ///< mean number of set features
  double feature_signal = 0.5;  ///< probability that a set feature is one of the class's own
  std::uint64_t seed = 0;
};

/// A data set with planted classes: nodes, edges and binary features that tell of the class, and a split of 20 training
/// and 30 validation nodes a class. Throws usage for impossible options.
[[nodiscard]] Dataset generate_planted_partition(const PlantedPartitionOptions& options, const Device& device = {});

}  // namespace bitgraph
