// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/io/dataset.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bitgraph {

// Generated graphs are symmetric, have no loops, and are the same for any number of threads. Those with a seed are
// random. `device` is the host, and its threads do the work.

/// R-MAT (Chakrabarti, Zhan, Faloutsos 2004) with corners .57 .19 .19 .05. The graph has 2^scale nodes. It draws
/// edge_factor 2^scale edges, then drops duplicates and loops. Throws usage unless 1 <= scale <= 31.
[[nodiscard]] CsrPattern generate_rmat(int scale, std::size_t edge_factor, std::uint64_t seed,
                                       const Device& device = {});

/// Draws `num_edges` edges uniformly, then drops duplicates and loops. Throws usage for edges without nodes.
[[nodiscard]] CsrPattern generate_uniform(NodeId num_nodes, std::size_t num_edges, std::uint64_t seed,
                                          const Device& device = {});

/// A grid of width x height nodes. An edge joins each node to those at its left, right, above and below.
[[nodiscard]] CsrPattern generate_grid(NodeId width, NodeId height, const Device& device = {});

/// The Mycielski graph of order k (Mycielski 1955; the SuiteSparse matrices mycielskianK). It has no triangles and
/// needs k colours. Order 2 is one edge. The next order adds a copy of every node u, joined to the neighbours of u, and
/// one node joined to all copies. The graph has 3 2^(k-2) - 1 nodes. Throws usage unless 2 <= order <= 20.
[[nodiscard]] CsrPattern generate_mycielskian(int order, const Device& device = {});

/// The binary de Bruijn graph on 2^scale nodes. An edge joins node i to 2 i and to 2 i + 1, modulo 2^scale. Directions
/// and loops are dropped. Throws usage unless 1 <= scale <= 31.
[[nodiscard]] CsrPattern generate_de_bruijn(int scale, const Device& device = {});

/// A triangulated planar mesh, in place of a Delaunay triangulation of random points. The nodes are the points of a
/// width x height grid, and each square is cut along one of its diagonals at random. Degrees are 2 to 8, almost 6 in
/// the mean. The nodes are numbered row by row, or at random where `shuffled` is true.
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

/// A data set with planted classes. Edges and binary features depend on the class of their node. The split has 20
/// training and 30 validation nodes a class; the other nodes are for testing. Throws usage for impossible options.
[[nodiscard]] Dataset generate_planted_partition(const PlantedPartitionOptions& options, const Device& device = {});

/// A large graph with planted classes. It has the shape of a published data set that cannot be shipped.
struct PlantedGraphOptions {
  NodeId num_nodes = 10'000;
  EdgeOffset num_entries = 100'000;  ///< of the symmetric matrix: twice the edges
  std::int32_t num_classes = 7;
  std::size_t num_features = 100;
  double exponent = 2.5;         ///< of the degrees' power law, above 2
  double hub_share = 0.05;       ///< the largest degree as a share of the nodes, before duplicates go
  double homophily = 0.6;        ///< probability that an edge joins two nodes of one class
  double feature_signal = 0.05;  ///< how far a class's mean lies from 0 in each feature, in deviations of the noise
  double label_noise = 0.1;      ///< share of the nodes whose label is drawn at random; no model can learn these
  SplitShares split;
  std::uint64_t seed = 0;
};

/// The names that planted_graph_preset() knows.
[[nodiscard]] std::vector<std::string> planted_graph_preset_names();

/// The sizes and shares of a published data set: "flickr" (89,250 nodes, 899,756 entries, 500 features, 7 classes),
/// "reddit" (232,965; 114,615,892; 602; 41) or "arxiv" (169,343; 2,500,000; 128; 40). And of QGTC's Table 1, with two
/// entries for each edge of the table: "proteins", "artist", "blogcatalog", "ppi", "ogbn-arxiv" and "ogbn-products".
/// `scale_down` divides nodes and entries. Throws usage for another name or a scale below 1.
[[nodiscard]] PlantedGraphOptions planted_graph_preset(std::string_view name, double scale_down = 1);

/// The graph alone, after Chung and Lu (2002). Both ends of an edge are drawn in proportion to weights that fall as a
/// power of the rank. With probability `homophily` the second end is drawn among the nodes of the first one's class.
/// The number of draws follows from the probabilities, so that `num_entries` entries are expected after duplicates and
/// loops are dropped. From about ten thousand entries on, the result is within 1 % of that. The nodes are numbered in
/// random order. Every random number is a function of seed and place, so threads change nothing.
///
/// Throws usage for impossible options, and where the graph cannot have that many entries. O(entries log degree).
/// Memory while it works: 13 bytes an entry at most.
[[nodiscard]] CsrPattern generate_planted_pattern(const PlantedGraphOptions& options, const Device& device = {});

/// The data set: the graph of generate_planted_pattern(), dense features (a mean for each class, plus noise of
/// deviation 1), labels, and an inductive split. The features of one node say little about its class; the features of
/// its neighbours together say more. Throws as generate_planted_pattern(). O(nodes features) on top of it, and 4 bytes
/// a feature.
[[nodiscard]] Dataset generate_planted_graph(const PlantedGraphOptions& options, const Device& device = {});

}  // namespace bitgraph
