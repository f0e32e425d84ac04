// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/graph/packed_graph.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace bitgraph {

/// A set of nodes without two neighbours. No node can be added to it.
struct IndependentSet {
  Buffer<std::uint8_t> member;  ///< n, in the caller's numbering: 1 or 0, on the graph's device
  NodeId size = 0;
};

class IndependentSetEngine;

/// A maximal independent set of the undirected graph, after Luby (1986; Bit-GraphBLAS, Table IV). Both directions of
/// the edges count; loops do not count. Every node draws a priority, a higher one the fewer neighbours it has. A node
/// enters the set when no neighbour of higher priority is in the set or may still enter it.
///
/// The result is the set that a loop over the nodes by falling priority gives. It depends on the graph and the seed
/// only and is the same on every device. O(n + m log n), expected. On a CUDA device the constructor unpacks tiles.
class MaximalIndependentSet {
 public:
  /// `graph` must outlive this object. Throws usage for a directed graph that was packed without in-edges. O(n + m).
  explicit MaximalIndependentSet(const PackedGraph& graph, std::uint64_t seed = 0);
  MaximalIndependentSet(MaximalIndependentSet&&) noexcept;
  MaximalIndependentSet& operator=(MaximalIndependentSet&&) noexcept;
  ~MaximalIndependentSet();

  /// Finds the set. A repeated call allocates nothing and overwrites the result.
  const IndependentSet& run();

  /// Moves the result of the last run out. The next run() allocates it anew.
  [[nodiscard]] IndependentSet take() { return std::exchange(result_, {}); }

 private:
  const PackedGraph* graph_;
  std::unique_ptr<IndependentSetEngine> engine_;
  IndependentSet result_;
};

/// One run of MaximalIndependentSet.
[[nodiscard]] IndependentSet maximal_independent_set(const PackedGraph& graph, std::uint64_t seed = 0);

}  // namespace bitgraph
