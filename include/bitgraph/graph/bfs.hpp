// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/graph/packed_graph.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

namespace bitgraph {

/// The parent of a node that no path from the source leads to.
inline constexpr NodeId no_parent = std::numeric_limits<NodeId>::max();

struct BfsOptions {
  NodeId source = 0;     ///< in the caller's numbering
  bool parents = false;  ///< find the parent of every reached node too
};

/// Levels and parents in the caller's numbering, on the graph's device.
struct BfsResult {
  Buffer<std::int32_t> level;   ///< n: edges of a shortest path from the source; -1 where there is no path
  Buffer<NodeId> parent;        ///< n, only if asked for: the smallest node of the level before with an edge to the
                                ///< node. The source is its own parent, an unreached node has no_parent
  std::int32_t num_levels = 0;  ///< levels that hold a node: the source's eccentricity + 1
  NodeId reached = 0;           ///< nodes with a level, the source included
};

/// Breadth-first search from one node along the direction of the edges. The search is direction-optimising (Beamer,
/// Asanovic, Patterson 2012) where the graph has in-edges. Without in-edges it goes on from the queue of a level only.
///
/// The result does not depend on the format, the device, the threads or the instruction set. Throws usage, naming the
/// range, for a source outside the graph; not_possible on a CUDA device for a directed graph that was packed without
/// its transpose. O(n + m).
[[nodiscard]] BfsResult bfs(const PackedGraph& graph, const BfsOptions& options = {});

class BfsEngine;

/// Repeated searches of one graph. The constructor and the first search for parents allocate all memory. Any other run
/// allocates nothing. A CUDA device runs a search in one launch; tiles are unpacked there by the constructor.
class BreadthFirstSearch {
 public:
  /// `graph` must outlive the search. O(n), or O(m) for tiles.
  explicit BreadthFirstSearch(const PackedGraph& graph);
  BreadthFirstSearch(BreadthFirstSearch&&) noexcept;
  BreadthFirstSearch& operator=(BreadthFirstSearch&&) noexcept;
  ~BreadthFirstSearch();

  /// Searches as bfs() does. The next call overwrites the result.
  const BfsResult& run(const BfsOptions& options = {});

  /// The same with another level for unreached nodes. Shortest paths over edges of length 1 use it.
  const BfsResult& run(const BfsOptions& options, std::int32_t unreached);

  /// Moves the result of the last run out. The next run() allocates it anew.
  [[nodiscard]] BfsResult take() { return std::exchange(result_, {}); }

 private:
  const PackedGraph* graph_;
  std::unique_ptr<BfsEngine> engine_;
  BfsResult result_;
};

}  // namespace bitgraph
