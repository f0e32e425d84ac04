// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/graph/packed_graph.hpp>

#include <cstdint>
#include <memory>
#include <span>

namespace bitgraph {

class CudaMultiSourceBfs;

/// Sources that one pass takes together.
inline constexpr std::size_t sources_a_pass = 512;

struct MultiSourceBfsOptions {
  std::span<const NodeId> sources;  ///< in the caller's numbering; any number, duplicates too
  bool levels = false;              ///< keep the level of every node from every source: 4 n bytes a source
};

/// One element for each source, on the graph's device.
struct MultiSourceBfsResult {
  Buffer<NodeId> reached;             ///< nodes that paths lead to, the source among them
  Buffer<std::int32_t> eccentricity;  ///< edges to the farthest of them
  DenseMatrix<std::int32_t> level;    ///< only if asked for: n x sources, -1 where there is no path
};

/// Breadth-first searches from many sources at once (Then et al., "The more the merrier", VLDB 2014): what each node
/// has been seen by is a row of a bit matrix, n x sources, and a step along the edges ORs rows: up to 512 searches for
/// little more than the price of one. More sources take several passes.
///
/// The result does not depend on the format, the device or the threads. Throws usage for a source outside the graph;
/// not_possible on a CUDA device for a directed graph that was packed without its transpose.
/// O(levels (n + m) sources / 512) at most; rows that every source has seen are skipped.
[[nodiscard]] MultiSourceBfsResult multi_source_bfs(const PackedGraph& graph, const MultiSourceBfsOptions& options);

/// The same again and again: memory for up to `most_sources` at once (at most 512 a pass) is taken when it is made, but
/// for levels. It refers to `graph`, which must outlive it.
class MultiSourceBfs {
 public:
  explicit MultiSourceBfs(const PackedGraph& graph, std::size_t most_sources = sources_a_pass);

  /// The result is good until the next call. Throws usage for more sources than most_sources.
  const MultiSourceBfsResult& run(const MultiSourceBfsOptions& options);

  [[nodiscard]] MultiSourceBfsResult take() && { return std::move(result_); }

 private:
  const PackedGraph* graph_;
  std::size_t most_sources_;
  std::size_t words_;                           ///< of a row: 1, 2, 4 or 8
  Buffer<std::uint64_t> seen_, front_, next_;   ///< n x words_
  Buffer<std::uint64_t> active_, active_next_;  ///< rows of front_ and next_ that hold anything
  MultiSourceBfsResult result_;
  std::shared_ptr<CudaMultiSourceBfs> on_cuda_;
};

}  // namespace bitgraph
