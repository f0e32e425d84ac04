// SPDX-License-Identifier: Apache-2.0
// The kernels of triangle counting. See include/bitgraph/graph/triangles.hpp for what is computed.
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>

#include "core/devices/backend.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// Each node's earlier neighbours. Node v's list is cols[start[v]] .. of low[v] nodes, all of them below v. The nodes
/// below num_bit_rows have a bit row beside their list: a bit for each node below them, in blocks of bit_block bits.
struct OrientedView {
  NodeId num_nodes = 0;
  const EdgeOffset* start = nullptr;
  const NodeId* low = nullptr;
  const NodeId* cols = nullptr;
  NodeId num_bit_rows = 0;
  const std::uint64_t* bits = nullptr;
};

inline constexpr std::size_t bit_block = 512;

/// Blocks of node v's bit row, and of all rows before it.
[[nodiscard]] constexpr std::size_t blocks_of(std::size_t v) noexcept { return (v + bit_block - 1) / bit_block; }
[[nodiscard]] constexpr std::size_t blocks_before(std::size_t v) noexcept {
  if (v == 0) return 0;
  const std::size_t whole = (v - 1) / bit_block;
  return bit_block * whole * (whole + 1) / 2 + (v - 1) % bit_block * (whole + 1);
}

/// Words of a thread's marks: a bit a node, in whole blocks.
[[nodiscard]] constexpr std::size_t mark_words(std::size_t num_nodes) noexcept {
  return blocks_of(num_nodes) * (bit_block / 64);
}

/// Rows no longer than this are compared as they are, without marks.
inline constexpr std::size_t short_row = 16;

/// Nodes that a thread takes at a time.
inline constexpr std::size_t triangle_chunk = 256;

/// Counters of the first nodes that each thread keeps for itself: the hubs, which many triangles share.
inline constexpr std::size_t own_counters = std::size_t{1} << 16;

/// Triangles of a symmetric graph, at the definition; of each node too where counts is not null. counts are zeros.
std::uint64_t triangles(const Reference& backend, const CsrPatternView& a, std::uint64_t* counts);

/// marks: zeros, mark_words a thread.
std::uint64_t triangles(const Cpu& backend, const OrientedView& a, std::uint64_t* marks);

/// Of a symmetric graph none of whose rows is longer than short_row.
std::uint64_t triangles_of_short_rows(const Cpu& backend, const CsrPatternView& a);

/// Adds each node's triangles to counts. own: zeros, min(num_nodes, own_counters) a thread, which they are again.
void triangles_of_nodes(const Cpu& backend, const OrientedView& a, std::uint64_t* marks, std::uint64_t* own,
                        std::uint64_t* counts);

}  // namespace bitgraph
