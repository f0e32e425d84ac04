// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/graph/packed_graph.hpp>

#include <cstdint>
#include <limits>
#include <memory>

namespace bitgraph {

/// The parent of a node that no path from the source leads to.
inline constexpr NodeId no_parent = std::numeric_limits<NodeId>::max();

struct BfsOptions {
  NodeId source = 0;     ///< in the caller's numbering
  bool parents = false;  ///< find a node before every reached node as well
};

/// Levels and parents, by the caller's numbers of the nodes; where the graph lives.
struct BfsResult {
  Buffer<std::int32_t> level;   ///< edges of a shortest path from the source; -1 where there is none
  Buffer<NodeId> parent;        ///< only if asked for: the smallest node one level up that has an edge to the node; the
                                ///< source's is itself, that of an unreached node no_parent
  std::int32_t num_levels = 0;  ///< levels that hold a node: the source's eccentricity + 1
  NodeId reached = 0;           ///< nodes with a level, the source among them
};

class DeviceBfs;

/// A breadth-first search from one node along the edges' direction: direction-optimising (Beamer, Asanovic, Patterson
/// 2012) where the graph has its other direction at hand, from the queue of a level alone where it does not.
/// The result does not depend on the format, the threads or the instruction set. Throws usage, naming the range, for a
/// source outside the graph. On a CUDA device one launch, for pattern CSR with both directions (not_possible else).
/// O(n + m).
[[nodiscard]] BfsResult bfs(const PackedGraph& graph, const BfsOptions& options = {});

/// Searches one after another over one graph: memory is taken when it is made (and by the first search that asks for
/// parents), not by run().
class BfsSearch {
 public:
  /// Refers to `graph`, which must outlive it. O(n), or O(m) for tiles.
  explicit BfsSearch(const PackedGraph& graph);
  BfsSearch(BfsSearch&&) noexcept;
  BfsSearch& operator=(BfsSearch&&) noexcept;
  ~BfsSearch();

  /// As bfs(). The result is good until the next call.
  const BfsResult& run(const BfsOptions& options = {});

  /// The same with another value for unreached nodes: a search is what shortest paths over unit edges are.
  const BfsResult& run(const BfsOptions& options, std::int32_t unreached);

  /// The result of the last run, moved out. The search is of no use afterwards.
  [[nodiscard]] BfsResult take() && { return std::move(result_); }

 private:
  void find_parents(NodeId source, std::int32_t unreached);

  const PackedGraph* graph_;
  std::unique_ptr<DeviceBfs> there_;  ///< what searches on a CUDA device; then nothing else is used
  NodeId max_degree_ = 0;
  Buffer<std::uint64_t> unreachable_;  ///< rows without an edge that leads to them
  Buffer<std::uint64_t> visited_, front_, next_;
  Buffer<NodeId> queue_;
  Buffer<std::int32_t> row_level_;  ///< levels by row, where rows are in another order than the caller's nodes
  BfsResult result_;
};

}  // namespace bitgraph
