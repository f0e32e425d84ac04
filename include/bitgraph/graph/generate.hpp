// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/io/dataset.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bitgraph {

// Generated graphs: symmetric, without loops, the same for any number of threads. Those with a seed are random.

/// R-MAT (Chakrabarti, Zhan, Faloutsos 2004) with corners .57 .19 .19 .05: 2^scale nodes, edge_factor 2^scale drawn
/// edges before duplicates and loops go. Throws usage unless 1 <= scale <= 31.
[[nodiscard]] CsrPattern generate_rmat(int scale, std::size_t edge_factor, std::uint64_t seed,
                                       const Device& device = {});

/// `num_edges` edges drawn uniformly.
[[nodiscard]] CsrPattern generate_uniform(NodeId num_nodes, std::size_t num_edges, std::uint64_t seed,
                                          const Device& device = {});

/// Each node tied to the neighbours at its left, right, above and below.
[[nodiscard]] CsrPattern generate_grid(NodeId width, NodeId height, const Device& device = {});

/// The Mycielski graph of order k (Mycielski 1955; the SuiteSparse matrices mycielskianK): no triangles, k colours are
/// needed. Order 2 is one edge; each next order has, for every node u of the one before, a copy tied to u's neighbours,
/// and one more node tied to all copies. 3 2^(k-2) - 1 nodes. Throws usage unless 2 <= order <= 20.
[[nodiscard]] CsrPattern generate_mycielskian(int order, const Device& device = {});

/// The binary de Bruijn graph on 2^scale nodes: node i tied to 2 i and 2 i + 1 modulo 2^scale; directions and loops are
/// dropped. Throws usage unless 1 <= scale <= 31.
[[nodiscard]] CsrPattern generate_de_bruijn(int scale, const Device& device = {});

/// A triangulated planar mesh, standing in for Delaunay triangulations of random points: the points of a
/// width x height grid, each square cut along one of its diagonals at random, so that degrees lie between 2 and 8 and
/// average almost 6. `shuffled` numbers the nodes at random, as points in no order would be; else row by row.
[[nodiscard]] CsrPattern generate_mesh(NodeId width, NodeId height, std::uint64_t seed, bool shuffled = false,
                                       const Device& device = {});

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

/// A large graph with planted classes: the shape of a data set that cannot be shipped.
struct PlantedGraphOptions {
  NodeId num_nodes = 10'000;
  EdgeOffset num_entries = 100'000;  ///< of the symmetric matrix: twice the edges
  std::int32_t num_classes = 7;
  std::size_t num_features = 100;
  double exponent = 2.5;         ///< of the degrees' power law, above 2
  double hub_share = 0.05;       ///< the largest degree as a share of the nodes, before duplicates go
  double homophily = 0.6;        ///< probability that an edge joins two nodes of one class
  double feature_signal = 0.05;  ///< how far a class's mean lies from 0 in each feature, in deviations of the noise
  double label_noise = 0.1;      ///< share of the nodes whose label is drawn at random: no model learns these
  SplitShares split;
  std::uint64_t seed = 0;
};

/// The sizes and shares of a published data set: "flickr" (89,250 nodes, 899,756 entries, 500 features, 7 classes),
/// "reddit" (232,965; 114,615,892; 602; 41) or "arxiv" (169,343; 2,500,000; 128; 40). `scale_down` divides nodes and
/// entries. Throws usage for another name or a scale below 1.
[[nodiscard]] PlantedGraphOptions planted_graph_preset(std::string_view name, double scale_down = 1);

/// The graph alone. Edges are drawn as Chung and Lu do (2002): both ends in proportion to weights that fall as a power
/// of the rank, the second among the nodes of the first's class with probability `homophily`. How many to draw is found
/// from their probabilities, so that what is left without duplicates and loops is `num_entries` but for chance: within
/// 1 % from some ten thousand entries on. Nodes are numbered in no order. Every number is a function of seed and place:
/// threads change nothing. Throws usage for impossible options, also where that many entries are not to be had.
/// O(entries log degree); 13 bytes an entry at most, for a time.
[[nodiscard]] CsrPattern generate_planted_pattern(const PlantedGraphOptions& options, const Device& device = {});

/// The data set: that graph, dense features (a mean for each class, plus noise of deviation 1), labels, an inductive
/// split. One node's features tell little of its class, those of its neighbours together more. O(nodes features) more;
/// 4 bytes a feature.
[[nodiscard]] Dataset generate_planted_graph(const PlantedGraphOptions& options, const Device& device = {});

}  // namespace bitgraph
