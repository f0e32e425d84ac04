// SPDX-License-Identifier: Apache-2.0
// Walking the entries of a row, whatever the graph's format.
#pragma once

#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

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

}  // namespace bitgraph
