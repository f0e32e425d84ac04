// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/graph/packed_graph.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph {

struct DiameterOptions {
  std::size_t max_searches =
      0;                        ///< stop after this number of searches, with the bounds known then; 0: go on to the end
  bool eccentricities = false;  ///< bound every node's eccentricity too, and go on until all are known
};

/// Bounds of the diameter of the undirected graph. The diameter is the most edges that a shortest path has; both
/// directions of the edges count. Pairs without a path do not count: the diameter is the largest one of a component.
/// The eccentricity of an isolated node is 0.
struct Diameter {
  std::int32_t lower = 0;
  std::int32_t upper = 0;    ///< equals lower, unless max_searches ended the work
  NodeId from = 0, to = 0;   ///< two nodes `lower` apart, in the caller's numbering
  std::size_t searches = 0;  ///< breadth-first searches that ran

  /// n, in the caller's numbering, within the node's component, on the graph's device; only if asked for.
  Buffer<std::int32_t> eccentricity_lower, eccentricity_upper;
};

/// Finds the diameter by breadth-first searches from well-chosen nodes (Takes and Kosters, "Determining the diameter of
/// small world networks", CIKM 2011). A search from v, whose eccentricity is e, bounds the eccentricity of a node w at
/// distance d: at least max(d, e - d), at most e + d. The next search starts, by turns, from the node with the largest
/// upper bound and from the node with the smallest lower bound. The searches end when no upper bound is above the
/// largest distance found. Components come by falling size, as long as they are large enough to matter.
///
/// A directed graph is made symmetric first, which takes the memory of the graph once more. On a CUDA device the bounds
/// of the nodes are on the device, and a graph in tiles is unpacked to pattern CSR first. Any graph is accepted; an
/// empty one has diameter 0. O(searches (n + m)): a few searches for most graphs, n at worst.
[[nodiscard]] Diameter diameter(const PackedGraph& graph, const DiameterOptions& options = {});

}  // namespace bitgraph
