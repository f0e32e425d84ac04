// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/graph/packed_graph.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace bitgraph {

/// A colour for every node. Two neighbours never have the same colour.
struct Coloring {
  Buffer<std::int32_t> color;  ///< n, in the caller's numbering, from 0, on the graph's device
  std::int32_t count = 0;      ///< colours in use; at most the largest degree + 1
};

class ColoringEngine;

/// Greedy colouring of the undirected graph, after Jones and Plassmann (1993). Both directions of the edges count;
/// loops do not count. Nodes with more neighbours come first, and the seed breaks ties. A node waits until all
/// neighbours before it have a colour, then takes the smallest colour that none of them has.
///
/// The colours depend on the graph and the seed only; they are the same on every device. O(n + m) times the length of
/// the chain of waiting nodes, which is about log n where degrees are alike.
///
/// On a CUDA device the constructor unpacks tiles and takes 4 bytes for each edge to a neighbour that comes first.
class GreedyColoring {
 public:
  /// `graph` must outlive this object. Throws usage for a directed graph that was packed without in-edges;
  /// not_possible for 2^31 nodes or more on a CUDA device. O(n + m).
  explicit GreedyColoring(const PackedGraph& graph, std::uint64_t seed = 0);
  GreedyColoring(GreedyColoring&&) noexcept;
  GreedyColoring& operator=(GreedyColoring&&) noexcept;
  ~GreedyColoring();

  /// Colours the graph. A repeated call allocates nothing and overwrites the result.
  const Coloring& run();

  /// Moves the result of the last run out. The next run() allocates it anew.
  [[nodiscard]] Coloring take() { return std::exchange(result_, {}); }

 private:
  const PackedGraph* graph_;
  std::unique_ptr<ColoringEngine> engine_;
  Coloring result_;
};

/// One run of GreedyColoring.
[[nodiscard]] Coloring greedy_coloring(const PackedGraph& graph, std::uint64_t seed = 0);

}  // namespace bitgraph
