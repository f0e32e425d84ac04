// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/graph/packed_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace bitgraph {

/// Sources that one pass searches from.
inline constexpr std::size_t sources_a_pass = 512;

struct MultiSourceBfsOptions {
  std::span<const NodeId> sources;  ///< in the caller's numbering; any number, duplicates too
  bool levels = false;              ///< keep the level of every node from every source: 4 n bytes a source
};

/// One element for each source, on the graph's device.
struct MultiSourceBfsResult {
  Buffer<NodeId> reached;             ///< nodes that the source reaches, itself included
  Buffer<std::int32_t> eccentricity;  ///< edges to the farthest of these nodes
  DenseMatrix<std::int32_t> level;    ///< only if asked for: n x sources, -1 where there is no path
};

/// Breadth-first searches from many sources at once (Then et al., "The more the merrier", VLDB 2014). Row i of a bit
/// matrix, n x sources, says which sources have seen node i. A step along the edges ORs rows. So up to 512 searches
/// cost little more than one search. More sources take several passes.
///
/// The result does not depend on the format, the device or the threads. Throws usage for a source outside the graph;
/// not_possible on a CUDA device for a directed graph that was packed without its transpose.
/// O(levels (n + m) sources / 512) at most: rows that every source has seen are skipped.
[[nodiscard]] MultiSourceBfsResult multi_source_bfs(const PackedGraph& graph, const MultiSourceBfsOptions& options);

class MultiSourceBfsEngine;

/// Repeated searches of one graph. The constructor allocates the memory for up to `most_sources` sources, without their
/// levels: 3 bits a node and source, for at most 512 sources.
class MultiSourceBreadthFirstSearch {
 public:
  /// `graph` must outlive the search.
  explicit MultiSourceBreadthFirstSearch(const PackedGraph& graph, std::size_t most_sources = sources_a_pass);
  MultiSourceBreadthFirstSearch(MultiSourceBreadthFirstSearch&&) noexcept;
  MultiSourceBreadthFirstSearch& operator=(MultiSourceBreadthFirstSearch&&) noexcept;
  ~MultiSourceBreadthFirstSearch();

  /// Searches as multi_source_bfs() does. The first elements of `reached` and `eccentricity` are the sources'. Throws
  /// usage for more than most_sources sources. A repeated call with as many sources allocates nothing and overwrites
  /// the result.
  const MultiSourceBfsResult& run(const MultiSourceBfsOptions& options);

  /// Moves the result of the last run out. The next run() allocates it anew.
  [[nodiscard]] MultiSourceBfsResult take() { return std::exchange(result_, {}); }

 private:
  const PackedGraph* graph_;
  std::size_t most_sources_;
  std::unique_ptr<MultiSourceBfsEngine> engine_;
  MultiSourceBfsResult result_;
};

}  // namespace bitgraph
