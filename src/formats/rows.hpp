// SPDX-License-Identifier: Apache-2.0
// Walking the entries of a row, whatever the graph's format.
#pragma once

#include <bitgraph/formats/views.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

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

/// The columns of a row in one strip of a SellPattern, rising.
struct SellPiece {
  const NodeId* indices = nullptr;
  const std::uint16_t* short_indices = nullptr;
  std::size_t first = 0;
  std::size_t step = 1;
  NodeId first_column = 0;
  NodeId degree = 0;

  [[nodiscard]] NodeId column(NodeId e) const {
    const std::size_t at = first + step * e;
    return first_column + (short_indices != nullptr ? short_indices[at] : indices[at]);
  }
};

/// use(row, piece) for each row that has entries in a section.
template <class Use>
void for_each_piece(const SellView& sell, std::size_t section, Use&& use) {
  constexpr std::size_t lanes = SellView::lanes;
  const auto first_column = static_cast<NodeId>(section % sell.num_strips * sell.strip_columns);
  for (std::size_t n = sell.section_chunks[section] * lanes; n < sell.section_chunks[section + 1] * lanes; ++n) {
    if (sell.degrees[n] == 0) continue;
    const EdgeOffset first = sell.chunk_ptr[n / lanes] + n % lanes;
    use(sell.rows[n], SellPiece{sell.col_ind, sell.short_col_ind, first, lanes, first_column, sell.degrees[n]});
  }
  for (std::size_t n = sell.section_long_rows[section]; n < sell.section_long_rows[section + 1]; ++n) {
    const auto degree = static_cast<NodeId>(sell.long_ptr[n + 1] - sell.long_ptr[n]);
    use(sell.long_rows[n],
        SellPiece{sell.long_col_ind, sell.short_long_col_ind, sell.long_ptr[n], 1, first_column, degree});
  }
}

/// A window at a time, whose pieces are sorted by row beforehand.
template <class Fn>
void for_each_row(const SellView& a, Fn&& fn) {
  std::vector<SellPiece> pieces(std::min<std::size_t>(a.window_rows, a.nrows) * a.num_strips);
  for (std::size_t window = 0; window < a.num_windows; ++window) {
    const std::size_t begin = window * a.window_rows;
    const std::size_t end = std::min<std::size_t>(a.nrows, begin + a.window_rows);
    std::fill(pieces.begin(), pieces.end(), SellPiece());
    for (std::size_t strip = 0; strip < a.num_strips; ++strip) {
      for_each_piece(a, window * a.num_strips + strip,
                     [&](NodeId row, const SellPiece& piece) { pieces[(row - begin) * a.num_strips + strip] = piece; });
    }
    for (std::size_t i = begin; i < end; ++i) {
      const std::span<const SellPiece> own(pieces.data() + (i - begin) * a.num_strips, a.num_strips);
      fn(static_cast<NodeId>(i), [own](const auto& use) {
        for (const SellPiece& piece : own) {
          for (NodeId e = 0; e < piece.degree; ++e) use(piece.column(e));
        }
      });
    }
  }
}

}  // namespace bitgraph
