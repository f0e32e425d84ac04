// SPDX-License-Identifier: Apache-2.0
// Short sorted lists of columns: the rows of a pattern.
#pragma once

#include <bitgraph/core/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bitgraph {

/// How many columns of a sorted row are below `column`. O(log d) without branches on the values, which nobody can
/// predict.
[[nodiscard]] inline std::size_t columns_below(std::span<const NodeId> row, NodeId column) noexcept {
  if (row.empty()) return 0;
  const NodeId* first = row.data();
  for (std::size_t left = row.size(); left > 1;) {
    const std::size_t half = left / 2;
    first = first[half - 1] < column ? first + half : first;
    left -= half;
  }
  return static_cast<std::size_t>(first - row.data()) + (*first < column ? 1U : 0U);
}

/// The columns of a sorted row in [begin, end).
[[nodiscard]] inline std::span<const NodeId> columns_between(std::span<const NodeId> row, NodeId begin,
                                                             NodeId end) noexcept {
  const std::size_t first = columns_below(row, begin);
  return row.subspan(first, columns_below(row.subspan(first), end));
}

[[nodiscard]] inline bool has_column(std::span<const NodeId> row, NodeId column) noexcept {
  const std::size_t position = columns_below(row, column);
  return position < row.size() && row[position] == column;
}

/// Rows up to this size are sorted by rank: about a third of std::sort's time.
inline constexpr std::size_t most_by_rank = 48;

/// Writes the values of `in`, all different, to `out` in increasing order, by counting for each how many are smaller:
/// O(d^2), but vectorised and without branches on the values. The two do not overlap.
inline void rank_sort(const NodeId* in, std::size_t size, NodeId* out) noexcept {
  for (std::size_t k = 0; k < size; ++k) {
    const NodeId value = in[k];
    std::uint32_t rank = 0;
    for (std::size_t l = 0; l < size; ++l) rank += in[l] < value ? 1U : 0U;
    out[rank] = value;
  }
}

}  // namespace bitgraph
