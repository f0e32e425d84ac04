// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/row_order.hpp>

#include "core/devices/backend.hpp"
#include "formats/cuda/formats.hpp"

#include <algorithm>
#include <vector>

namespace bitgraph {

namespace {

/// Rows that are shorter are sorted by counting.
constexpr EdgeOffset counted_lengths = 4096;

/// The rows of a pattern on the host, the longest one first, rows of one length as they come.
Buffer<NodeId> sorted_by_length(const CsrPatternView& a) {
  const auto length = [&](NodeId i) { return a.row_ptr[i + 1] - a.row_ptr[i]; };
  const auto place = [&](NodeId i) { return counted_lengths - std::min(length(i), counted_lengths); };
  std::vector<NodeId> first(counted_lengths + 2, 0);  // of each place, and the next one
  for (NodeId i = 0; i < a.nrows; ++i) ++first[place(i) + 1];
  for (EdgeOffset p = 0; p <= counted_lengths; ++p) first[p + 1] += first[p];
  const NodeId longer = first[1];
  Buffer<NodeId> rows(a.nrows);
  for (NodeId i = 0; i < a.nrows; ++i) rows[first[place(i)]++] = i;
  std::stable_sort(rows.begin(), rows.begin() + longer, [&](NodeId i, NodeId j) { return length(i) > length(j); });
  return rows;
}

/// at_least[d]: how many of these rows have length_of(d) entries or more.
template <class LengthOf>
void count_at_least(const CsrPatternView& a, std::span<const NodeId> rows, std::span<NodeId> at_least,
                    const LengthOf& length_of) {
  for (std::size_t d = 0; d < at_least.size(); ++d) {
    const auto end =
        std::ranges::partition_point(rows, [&](NodeId i) { return a.row_ptr[i + 1] - a.row_ptr[i] >= length_of(d); });
    at_least[d] = static_cast<NodeId>(end - rows.begin());
  }
}

}  // namespace

RowOrder::RowOrder(const CsrPattern& a) : RowOrder(compact(a)) {
  if (empty() || a.device().is_host()) return;
  places_ = with_cuda<Buffer<RowPlace>>(a.device(), "places_of_rows", [&](const auto& cuda) {
    return cuda_formats::places_of_rows(cuda, a, rows_.span());
  });
  pattern_id_ = a.id();
}

RowOrder RowOrder::compact(const CsrPattern& a) {
  RowOrder order;
  if (a.nrows() == 0) return order;
  if (a.device().is_host()) {
    order.rows_ = sorted_by_length(a.view());
    count_at_least(a.view(), order.rows_.span(), order.at_least_, [](std::size_t p) { return EdgeOffset{1} << p; });
    count_at_least(a.view(), order.rows_.span(), order.at_least_of_few_, [](std::size_t d) { return EdgeOffset{d}; });
  } else {
    order.rows_ = with_cuda<Buffer<NodeId>>(a.device(), "rows_by_length", [&](const auto& cuda) {
      return cuda_formats::rows_by_length(cuda, a, order.at_least_, order.at_least_of_few_);
    });
  }
  return order;
}

}  // namespace bitgraph
