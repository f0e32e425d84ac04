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

/// use(row, degree, column), with column(e) for e = 0 .. degree - 1 rising, for each row that has entries in a section.
template <class Use>
void for_each_piece(const SellView& sell, std::size_t section, Use&& use) {
  constexpr std::size_t lanes = SellView::lanes;
  const auto first_column = static_cast<NodeId>(section % sell.num_strips * sell.strip_columns);
  const auto column = [&](const NodeId* indices, const std::uint16_t* short_indices, EdgeOffset at) -> NodeId {
    return first_column + (short_indices != nullptr ? short_indices[at] : indices[at]);
  };
  for (std::size_t n = sell.section_chunks[section] * lanes; n < sell.section_chunks[section + 1] * lanes; ++n) {
    if (sell.degrees[n] == 0) continue;
    const EdgeOffset first = sell.chunk_ptr[n / lanes] + n % lanes;
    use(sell.rows[n], sell.degrees[n],
        [&](NodeId e) { return column(sell.col_ind, sell.short_col_ind, first + std::size_t{e} * lanes); });
  }
  for (std::size_t n = sell.section_long_rows[section]; n < sell.section_long_rows[section + 1]; ++n) {
    use(sell.long_rows[n], static_cast<NodeId>(sell.long_ptr[n + 1] - sell.long_ptr[n]),
        [&](NodeId e) { return column(sell.long_col_ind, sell.short_long_col_ind, sell.long_ptr[n] + e); });
  }
}

/// Each row is looked for in its window.
template <class Fn>
void for_each_row(const SellView& a, Fn&& fn) {
  for (NodeId i = 0; i < a.nrows; ++i) {
    const std::size_t first = i / a.window_rows * a.num_strips;
    fn(i, [&](const auto& use) {
      for (std::size_t section = first; section < first + a.num_strips; ++section) {
        for_each_piece(a, section, [&](NodeId row, NodeId degree, const auto& column) {
          if (row != i) return;
          for (NodeId e = 0; e < degree; ++e) use(column(e));
        });
      }
    });
  }
}

}  // namespace bitgraph
