// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/graph/packed_graph.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace bitgraph {

class CudaIndependentSet;

/// Nodes of which no two are neighbours, and to which none can be added.
struct IndependentSet {
  Buffer<std::uint8_t> member;  ///< of each node, in the caller's numbering: 1 or 0
  NodeId size = 0;
};

/// A maximal independent set of the undirected graph (the union of both directions; loops do not count), after Luby
/// (1986; Bit-GraphBLAS, Table IV): every node draws a priority, higher ones for fewer neighbours, and a node enters
/// when no neighbour of higher priority has entered or may still. That is the set that adding nodes one by one in the
/// order of the priorities gives, whatever runs side by side: it depends on the graph and the seed alone.
/// O(n + m log n), expected.
///
/// On a CUDA device the same set, and it is there too; tiles are unpacked when the search is made.
class IndependentSetSearch {
 public:
  /// `graph` must outlive this; a directed one must be packed with in-edges (throws usage).
  explicit IndependentSetSearch(const PackedGraph& graph, std::uint64_t seed = 0);

  /// A repeated call allocates nothing.
  const IndependentSet& run();

  /// Hands the last run's result over; the next run makes room anew.
  [[nodiscard]] IndependentSet take() { return std::move(result_); }

 private:
  const PackedGraph& graph_;
  Buffer<std::uint64_t> priority_;
  Buffer<std::uint8_t> state_;
  Buffer<NodeId> open_;
  IndependentSet result_;
  std::shared_ptr<CudaIndependentSet> on_cuda_;
};

/// The same, once.
[[nodiscard]] IndependentSet maximal_independent_set(const PackedGraph& graph, std::uint64_t seed = 0);

}  // namespace bitgraph
