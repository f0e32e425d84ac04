// SPDX-License-Identifier: Apache-2.0
// The arguments of the search kernel. See cuda.cu.
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <cstdint>

namespace bitgraph {

/// Vertices that a queued frontier may have; a larger one is kept as bits.
inline constexpr unsigned bfs_queue_capacity = 1U << 17;

/// Where a queued vertex's edges are: the first one, and how many edges the vertices before it in the queue have.
struct BfsQueue {
  EdgeOffset* first = nullptr;
  unsigned* edges_before = nullptr;
};

/// State that all blocks of a search share. A level writes the entry of its number modulo 3.
struct BfsControl {
  unsigned long long queued[3];  ///< vertices and edges of the frontier in the queue, in one word
  unsigned long long edges[3];   ///< edges of the frontier that is kept as bits
  unsigned found[3];             ///< its vertices
  int level;                     ///< where a single block left off
  unsigned reached;
  int num_levels;
};

/// A vertex's first edge and its number of edges in one word: 2^40 edges, 2^24 of a vertex.
struct BfsRow {
  static constexpr int degree_bits = 24;
  std::uint64_t packed = 0;

  static constexpr BfsRow make(EdgeOffset begin, EdgeOffset end) noexcept {
    return {begin << degree_bits | (end - begin)};
  }
  [[nodiscard]] constexpr EdgeOffset first() const noexcept { return packed >> degree_bits; }
  [[nodiscard]] constexpr unsigned degree() const noexcept {
    return static_cast<unsigned>(packed & ((1U << degree_bits) - 1));
  }
};

struct BfsCudaArgs {
  CsrPatternView out;
  CsrPatternView in;
  /// What is pushed along: BfsRow of each row of `out` in `rows`, for positions in `columns`; or, where all rows are
  /// short, `width` columns a row, with nrows for those that are not there, and nothing to look up in between.
  const std::uint64_t* rows = nullptr;
  const NodeId* columns = nullptr;
  unsigned width = 0;
  EdgeOffset nvals = 0;
  NodeId source = 0;
  std::int32_t unreached = -1;                 ///< the level of what is not reached
  std::int32_t* level = nullptr;               ///< nrows
  std::uint32_t* visited[2] = {};              ///< bits of all rows
  const std::uint32_t* unreachable = nullptr;  ///< bits of the rows that no edge leads to: they are never looked for
  NodeId num_unreachable = 0;
  BfsQueue queue[2];
  BfsControl* control = nullptr;
};

/// Sets the bits of the rows without entries and adds their number to *count.
void find_unreachable(const Device& device, const CsrPatternView& in, std::uint32_t* unreachable, unsigned* count);

/// Columns a row of short rows; longer ones have no such table.
inline constexpr unsigned bfs_short_widths[] = {4, 8};

/// Fills a table of `width` columns a row.
void pack_bfs_short_rows(const Device& device, const CsrPatternView& out, unsigned width, NodeId* columns);

/// Fills `rows`.
void pack_bfs_rows(const Device& device, const CsrPatternView& out, std::uint64_t* rows);

/// Puts a search on the device's stream.
void launch_bfs(const Device& device, const BfsCudaArgs& args);

}  // namespace bitgraph
