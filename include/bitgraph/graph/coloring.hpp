// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/graph/packed_graph.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace bitgraph {

class CudaColoring;

/// Colours of which no two neighbours have the same.
struct Coloring {
  Buffer<std::int32_t> color;  ///< of each node, in the caller's numbering, from 0
  std::int32_t count = 0;      ///< colours in use; at most one more than the largest degree
};

/// Greedy colouring of the undirected graph (the union of both directions; loops do not count) in parallel, after Jones
/// and Plassmann (1993): nodes of more neighbours first, ties drawn by the seed; a node takes the smallest colour that
/// no neighbour before it has, when all of those have theirs. It depends on the graph and the seed alone.
/// O(n + m) times the length of the waits, which is some log n where degrees are alike.
///
/// On a CUDA device the same colours, and they are there too; tiles are unpacked when the search is made, which takes
/// 4 bytes an edge for the neighbours that every node waits for. Fewer than 2^31 nodes there (else not_possible).
class ColoringSearch {
 public:
  /// `graph` must outlive this; a directed one must be packed with in-edges (throws usage).
  explicit ColoringSearch(const PackedGraph& graph, std::uint64_t seed = 0);

  /// A repeated call allocates nothing.
  const Coloring& run();

  /// Hands the last run's result over; the next run makes room anew.
  [[nodiscard]] Coloring take() { return std::move(result_); }

 private:
  const PackedGraph& graph_;
  Buffer<std::uint64_t> priority_;
  Buffer<std::int32_t> color_;  // of rows; only where the order was changed
  Buffer<NodeId> open_;
  Coloring result_;
  std::shared_ptr<CudaColoring> on_cuda_;
};

/// The same, once.
[[nodiscard]] Coloring greedy_coloring(const PackedGraph& graph, std::uint64_t seed = 0);

}  // namespace bitgraph
