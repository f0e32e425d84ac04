// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/graph/packed_graph.hpp>

#include <cstdint>
#include <memory>

namespace bitgraph {

// Triangles of the undirected graph: edges taken both ways, loops dropped. Counts are exact and the same for any number
// of threads, format and order.

/// Clustering coefficients (Watts and Strogatz 1998; transitivity: Newman 2003).
struct Clustering {
  std::uint64_t triangles = 0;
  Buffer<double> local;     ///< of each node, triangles over pairs of neighbours; 0 where it has fewer than two
  double average = 0;       ///< mean of the local ones over all nodes
  double transitivity = 0;  ///< three times the triangles over all pairs of edges that share a node; 0 without any
};

/// Triangles of one graph, counted any number of times. Making it prepares the graph, O(m); after that a call allocates
/// nothing.
///
/// Every edge belongs to the later of its two nodes, and a triangle u > v > w is found at u, as a w that the lists of u
/// and v share. Where degrees are alike, nodes are left in their order and nothing is copied. Where they differ, nodes
/// go by falling degree, so that no list is longer than the square root of 2 m, and the lists of the first nodes, the
/// hubs, where nearly all the work is, are bit rows: AND and popcount. How many have bit rows is chosen by counting
/// what either way costs. O(m^(3/2)) at worst. Memory beside the graph: none to speak of where degrees are alike, else
/// half the entries, and bit rows of at most as many bytes; and all entries for a graph in tiles, or one that is not
/// symmetric.
///
/// On a CUDA device nodes go by falling degree always, the lists are made there, and a node outside the hubs has its
/// list pass a filter of the other's. Bit rows take 8 to 512 MiB, the lists 12 bytes an edge. Counts and coefficients
/// of nodes are there too.
class TriangleCounter {
 public:
  /// `graph` must outlive this.
  explicit TriangleCounter(const PackedGraph& graph);
  ~TriangleCounter();
  TriangleCounter(TriangleCounter&&) noexcept;
  TriangleCounter& operator=(TriangleCounter&&) = delete;

  [[nodiscard]] std::uint64_t count();

  /// Writes the number of triangles that each node is part of, in the caller's numbering. `counts` has an element a
  /// node and is on the graph's device (usage).
  void count_of_nodes(Buffer<std::uint64_t>& counts);

 private:
  friend Clustering clustering(const PackedGraph& graph);
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

/// The number of triangles; preparing included.
[[nodiscard]] std::uint64_t count_triangles(const PackedGraph& graph);

/// Of each node, the triangles it is part of.
[[nodiscard]] Buffer<std::uint64_t> triangles_of_nodes(const PackedGraph& graph);

/// Clustering coefficients; the time is that of triangles_of_nodes.
[[nodiscard]] Clustering clustering(const PackedGraph& graph);

}  // namespace bitgraph
