// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// Index of a node, and of a row or column of a graph matrix. A graph has at most 2^32 - 1 nodes.
using NodeId = std::uint32_t;

/// Position in an array of entries or tiles: a graph may hold more than 2^32 of them.
using EdgeOffset = std::uint64_t;

/// Number of 64-bit words that hold `ncols` bits.
[[nodiscard]] constexpr std::size_t words_for_bits(std::size_t ncols) noexcept {
  return ncols / 64 + (ncols % 64 == 0 ? 0 : 1);
}

/// Tells a format's constructor that the arrays keep its invariants, because the code that made them does: only their
/// sizes are checked then. Wrong arrays that are trusted make operators read and write outside their memory.
struct Trusted {
  explicit Trusted() = default;
};
inline constexpr Trusted trusted{};

}  // namespace bitgraph
