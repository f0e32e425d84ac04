// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/graph/packed_graph.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph {

struct DiameterOptions {
  std::size_t max_searches = 0;  ///< stop after so many searches with the bounds there are then; 0: go on to the end
  bool eccentricities = false;   ///< bound every node's eccentricity too, and go on until these are known
};

/// Bounds of the diameter of the undirected graph (the union of both directions): the most edges that a shortest path
/// has. Pairs without a path are left out, so of several components the largest diameter counts; isolated nodes have 0.
struct Diameter {
  std::int32_t lower = 0;
  std::int32_t upper = 0;    ///< lower, unless max_searches came first
  NodeId from = 0, to = 0;   ///< nodes `lower` apart
  std::size_t searches = 0;  ///< how many breadth-first searches it took

  /// Of every node, within its component; only if asked for.
  Buffer<std::int32_t> eccentricity_lower, eccentricity_upper;
};

/// Breadth-first searches from nodes that tell most (Takes and Kosters, "Determining the diameter of small world
/// networks", CIKM 2011): a search from v at eccentricity e leaves w, d away, with one between max(d, e - d) and e + d.
/// Turn by turn the node with the largest upper and the one with the smallest lower bound is taken, until no node can
/// be farther from another than what is known. Components are taken by falling size as long as they are large enough to
/// matter.
///
/// A directed graph is made symmetric first, which takes memory for it once more. On a CUDA device the bounds of nodes
/// are there, and tiles and directed graphs are made a symmetric pattern CSR.
/// O(searches (n + m)); a few searches for most graphs, n at worst.
[[nodiscard]] Diameter diameter(const PackedGraph& graph, const DiameterOptions& options = {});

}  // namespace bitgraph
