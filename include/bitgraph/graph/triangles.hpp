// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/graph/packed_graph.hpp>

#include <cstdint>
#include <memory>

namespace bitgraph {

// Triangles of the undirected graph: both directions of the edges count, loops do not count. Counts are exact and the
// same for every number of threads, format, order and device.

/// Clustering coefficients (Watts and Strogatz 1998; transitivity: Newman 2003).
struct Clustering {
  std::uint64_t triangles = 0;
  Buffer<double> local;  ///< n, in the caller's numbering, on the graph's device: triangles over pairs of neighbours;
                         ///< 0 for a node with fewer than two neighbours
  double average = 0;    ///< mean of the local coefficients over all nodes
  double transitivity = 0;  ///< three times the triangles over all pairs of edges that share a node; 0 without any
};

class TriangleEngine;

/// Repeated counts of one graph's triangles. The constructor prepares the graph. The first count of nodes allocates
/// more; any other call allocates nothing.
///
/// Every edge belongs to the later of its two nodes. A triangle u > v > w is found at u, as a node w that is in the
/// lists of u and of v. Where degrees are alike, the nodes keep their order and nothing is copied. Where degrees
/// differ, the nodes are sorted by falling degree, so that no list is longer than the square root of 2 m. The lists of
/// the first nodes, the hubs, take nearly all the work. They are bit rows: AND and popcount. The number of bit rows is
/// chosen by the predicted cost of both ways. O(m^(3/2)) at worst.
///
/// Memory beside the graph is small where degrees are alike. Else it is half the entries, and bit rows of at most as
/// many bytes. A graph in tiles, or one that is not symmetric, takes all entries more.
///
/// On a CUDA device nodes are always sorted by falling degree, and the lists are made there. The list of a node that is
/// no hub is tested against a filter of the other list. Bit rows take 8 to 512 MiB, the lists 12 bytes an edge.
class TriangleCounter {
 public:
  /// `graph` must outlive the counter. Throws not_possible for 2^30 nodes or more on a CUDA device. O(m).
  explicit TriangleCounter(const PackedGraph& graph);
  TriangleCounter(TriangleCounter&&) noexcept;
  TriangleCounter& operator=(TriangleCounter&&) noexcept;
  ~TriangleCounter();

  /// The number of triangles.
  [[nodiscard]] std::uint64_t count();

  /// Writes for each node, in the caller's numbering, the number of triangles that it is part of. Throws usage unless
  /// `counts` has an element for each node and is on the graph's device and stream.
  void count_of_nodes(Buffer<std::uint64_t>& counts);

 private:
  friend Clustering clustering(const PackedGraph& graph);
  const PackedGraph* graph_;
  std::unique_ptr<TriangleEngine> engine_;
};

/// The number of triangles: one count of TriangleCounter.
[[nodiscard]] std::uint64_t count_triangles(const PackedGraph& graph);

/// For each node the triangles that it is part of, on the graph's device.
[[nodiscard]] Buffer<std::uint64_t> triangles_of_nodes(const PackedGraph& graph);

/// Clustering coefficients. They take the time of triangles_of_nodes().
[[nodiscard]] Clustering clustering(const PackedGraph& graph);

}  // namespace bitgraph
