// SPDX-License-Identifier: Apache-2.0
// Walking the entries of a row, whatever the graph's format.
#pragma once

#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/sell_pattern.hpp>

#include <bit>
#include <cstdint>

namespace bitgraph {

/// fn(column) for each entry of row i, in increasing order.
template <class Fn>
void for_each_entry(const CsrPatternView& a, NodeId i, Fn&& fn) {
  for (const NodeId j : a.row(i)) fn(j);
}

template <int K, class Fn>
void for_each_entry(const BitTileView<K>& a, NodeId i, Fn&& fn) {
  const NodeId tile_row = i / K;
  for (EdgeOffset t = a.tile_row_ptr[tile_row]; t < a.tile_row_ptr[tile_row + 1]; ++t) {
    const NodeId first = a.tile_col_ind[t] * K;
    for (std::uint64_t bits = a.tile_row(t, static_cast<int>(i % K)); bits != 0; bits &= bits - 1) {
      fn(first + static_cast<NodeId>(std::countr_zero(bits)));
    }
  }
}

/// Whether fn(column) is true for an entry of row i; none behind the first one is looked at.
template <class Fn>
bool any_entry(const CsrPatternView& a, NodeId i, Fn&& fn) {
  for (const NodeId j : a.row(i)) {
    if (fn(j)) return true;
  }
  return false;
}

template <int K, class Fn>
bool any_entry(const BitTileView<K>& a, NodeId i, Fn&& fn) {
  const NodeId tile_row = i / K;
  for (EdgeOffset t = a.tile_row_ptr[tile_row]; t < a.tile_row_ptr[tile_row + 1]; ++t) {
    const NodeId first = a.tile_col_ind[t] * K;
    for (std::uint64_t bits = a.tile_row(t, static_cast<int>(i % K)); bits != 0; bits &= bits - 1) {
      if (fn(first + static_cast<NodeId>(std::countr_zero(bits)))) return true;
    }
  }
  return false;
}

/// fn(row, entries) for every row, in any order; entries(use) calls use(column) for each of its entries.
template <class Graph, class Fn>
void for_each_row(const Graph& a, Fn&& fn) {
  for (NodeId i = 0; i < a.nrows; ++i) fn(i, [&](const auto& use) { for_each_entry(a, i, use); });
}

template <class Fn>
void for_each_row(const SellView& a, Fn&& fn) {
  for (std::size_t n = 0; n < a.num_chunks * SellView::lanes; ++n) {
    if (a.rows[n] == a.nrows) continue;
    const EdgeOffset first = a.chunk_ptr[n / SellView::lanes] + n % SellView::lanes;
    fn(a.rows[n], [&](const auto& use) {
      for (NodeId e = 0; e < a.degrees[n]; ++e) use(a.col_ind[first + e * SellView::lanes]);
    });
  }
  for (std::size_t n = 0; n < a.num_long_rows; ++n) {
    fn(a.long_rows[n], [&](const auto& use) {
      for (EdgeOffset e = a.long_ptr[n]; e < a.long_ptr[n + 1]; ++e) use(a.long_col_ind[e]);
    });
  }
}

}  // namespace bitgraph
