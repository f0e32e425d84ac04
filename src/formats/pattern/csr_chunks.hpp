// SPDX-License-Identifier: Apache-2.0
// What a CsrPattern on a CUDA device knows besides its arrays, made on the host.
#pragma once

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/views.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace bitgraph {

/// The length of CsrPatternView::chunk_row.
[[nodiscard]] constexpr std::size_t csr_chunk_bounds(std::size_t nrows, EdgeOffset nvals) noexcept {
  return (nrows + nvals + csr_chunk_items - 1) / csr_chunk_items + 1;
}

/// Fills chunk_row and returns the entries of the longest row. O(rows).
inline EdgeOffset csr_chunks_into(std::span<NodeId> chunk_row, std::span<const EdgeOffset> row_ptr) noexcept {
  EdgeOffset longest = 0;
  const std::size_t nrows = row_ptr.size() - 1;
  std::size_t chunk = 0;
  for (std::size_t i = 0; i < nrows; ++i) {
    longest = std::max(longest, row_ptr[i + 1] - row_ptr[i]);
    // The end of row i is item row_ptr[i + 1] + i: chunks that begin up to there begin in the row.
    for (; chunk * csr_chunk_items <= row_ptr[i + 1] + i; ++chunk) chunk_row[chunk] = static_cast<NodeId>(i);
  }
  std::fill(chunk_row.begin() + static_cast<std::ptrdiff_t>(chunk), chunk_row.end(), static_cast<NodeId>(nrows));
  return longest;
}

}  // namespace bitgraph
