// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a push, the same on the host and on a CUDA device: rank is counted in whole numbers, so that sums
// of it do not depend on the order in which they are taken.
#pragma once

#include <bitgraph/core/types.hpp>

#include <cstdint>

namespace bitgraph {

/// All the rank there is.
inline constexpr std::uint64_t whole_rank = std::uint64_t{1} << 62;

/// A row that the walk came to.
struct RankedRow {
  std::uint64_t rank;
  NodeId row;
  std::uint32_t degree;
};

/// What becomes of the rank that a node has found.
struct RankPush {
  std::uint64_t stays;    ///< for good
  std::uint64_t to_each;  ///< to every neighbour
  std::uint64_t left;     ///< to be found again
};

struct RankRule {
  double teleport = 0;
  double epsilon = 0;

  /// Rank from which on a node of this degree is pushed.
  [[nodiscard]] constexpr std::uint64_t enough(std::uint32_t degree) const {
    constexpr double least = 1024;  // a push must keep a little for good
    const double rank = epsilon * degree * static_cast<double>(whole_rank);
    if (rank < least) return degree == 0 ? 1 : static_cast<std::uint64_t>(least);
    return rank < static_cast<double>(whole_rank) ? static_cast<std::uint64_t>(rank) : whole_rank + 1;
  }

  /// One half of what does not go back to the seeds stays where it is: the walk is lazy.
  [[nodiscard]] constexpr RankPush push(std::uint64_t found, std::uint32_t degree) const {
    if (degree == 0) return {found, 0, 0};
    auto stays = static_cast<std::uint64_t>(teleport * static_cast<double>(found));
    stays = stays == 0 ? 1 : stays < found ? stays : found;
    const std::uint64_t to_each = (found - stays) / 2 / degree;
    return {stays, to_each, found - stays - to_each * degree};
  }
};

/// As a share of all.
[[nodiscard]] constexpr double share_of(std::uint64_t rank) {
  return static_cast<double>(rank) / static_cast<double>(whole_rank);
}

}  // namespace bitgraph
