// SPDX-License-Identifier: Apache-2.0
// The part that the transposes of all compressed row formats have in common.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/types.hpp>

#include "core/threads/parallel.hpp"
#include "formats/pattern/sorted_row.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace bitgraph {

/// Rows of sorted columns: of entries, or of tiles.
struct CompressedRows {
  NodeId nrows = 0;
  NodeId ncols = 0;
  std::span<const EdgeOffset> row_ptr;
  std::span<const NodeId> col_ind;

  [[nodiscard]] std::span<const NodeId> row(std::size_t i) const noexcept {
    return col_ind.subspan(row_ptr[i], row_ptr[i + 1] - row_ptr[i]);
  }
};

/// Cuts the columns into `parts` ranges with about as many entries in each, by the quantiles of a sample: parts + 1
/// bounds.
inline std::vector<NodeId> balanced_columns(const CompressedRows& a, std::size_t parts) {
  std::vector<NodeId> bounds(parts + 1, a.ncols);
  bounds[0] = 0;
  const std::size_t samples = std::min<std::size_t>(a.col_ind.size(), 64 * parts);
  if (parts == 1 || samples == 0) return bounds;
  std::vector<NodeId> sample(samples);
  for (std::size_t s = 0; s < samples; ++s) sample[s] = a.col_ind[part_of(a.col_ind.size(), s, samples).begin];
  std::sort(sample.begin(), sample.end());
  for (std::size_t p = 1; p < parts; ++p) bounds[p] = sample[samples * p / parts];
  return bounds;
}

/// How many threads are worth their while for so much work.
[[nodiscard]] inline std::size_t worthwhile_parts(const Device& device, std::size_t work) noexcept {
  return work < (std::size_t{1} << 15) ? 1 : static_cast<std::size_t>(device.threads());
}

/// body(begin, end) for ranges of columns that cover all of them, each on its own thread.
template <class Body>
void for_column_ranges(const Device& device, const std::vector<NodeId>& bounds, Body&& body) {
  parallel_chunks(device, bounds.size() - 1, 1, [&](Range parts) {
    for (std::size_t p = parts.begin; p < parts.end; ++p) {
      if (bounds[p] != bounds[p + 1]) body(bounds[p], bounds[p + 1]);
    }
  });
}

/// Calls place(from, to, i) for every position `from` of row i in a, `to` its position in the transpose, whose ncols +
/// 1 row pointers are written. Each thread takes a range of columns, a contiguous part of every row: the rows of the
/// transpose then fill in order, without atomic operations, whatever the number of threads. O(nrows log d) a thread and
/// O(entries + ncols) in all; no memory but the row pointers.
template <class Place>
void transpose_index_into(std::span<EdgeOffset> row_ptr, const Device& device, const CompressedRows& a, Place&& place) {
  const std::vector<NodeId> bounds =
      balanced_columns(a, worthwhile_parts(device, a.col_ind.size() + a.nrows + a.ncols));
  for_column_ranges(device, bounds, [&](NodeId begin, NodeId end) {
    std::fill(row_ptr.begin() + begin, row_ptr.begin() + end, EdgeOffset{0});
    if (bounds.size() == 2) {
      for (const NodeId j : a.col_ind) ++row_ptr[j];
      return;
    }
    for (std::size_t i = 0; i < a.nrows; ++i) {
      for (const NodeId j : columns_between(a.row(i), begin, end)) ++row_ptr[j];
    }
  });
  row_ptr[a.ncols] = 0;
  exclusive_scan(device, row_ptr);
  for_column_ranges(device, bounds, [&](NodeId begin, NodeId end) {
    for (NodeId i = 0; i < a.nrows; ++i) {
      const auto columns = bounds.size() == 2 ? a.row(i) : columns_between(a.row(i), begin, end);
      auto from = static_cast<EdgeOffset>(columns.data() - a.col_ind.data());
      for (const NodeId j : columns) place(from++, row_ptr[j]++, i);
    }
  });
  // The pointers moved to the ends of their rows: shift them back.
  std::copy_backward(row_ptr.begin(), row_ptr.end() - 1, row_ptr.end());
  row_ptr[0] = 0;
}

/// The same; returns the row pointers.
template <class Place>
Buffer<EdgeOffset> transpose_index(const Device& device, const CompressedRows& a, Place&& place) {
  Buffer<EdgeOffset> row_ptr(std::size_t{a.ncols} + 1, device);
  transpose_index_into(row_ptr.span(), device, a, std::forward<Place>(place));
  return row_ptr;
}

}  // namespace bitgraph
