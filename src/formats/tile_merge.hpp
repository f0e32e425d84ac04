// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/bit_tile_matrix.hpp>

#include <algorithm>
#include <array>
#include <limits>

namespace bitgraph {

/// Merges the K rows of one tile row of a pattern: visits its non-empty tiles in order of column, and in each the
/// entries. O(K) a tile and O(1) an entry, K words of memory.
template <int K>
class TileMerge {
 public:
  TileMerge(const CsrPatternView& a, NodeId tile_row) {
    const NodeId first = tile_row * K;
    rows_ = std::min<NodeId>(K, a.nrows - first);
    for (NodeId r = 0; r < rows_; ++r) {
      const auto row = a.row(first + r);
      next_[r] = row.data();
      end_[r] = row.data() + row.size();
      set_head(r);
    }
  }

  /// True while there is another tile; `column` gets its tile column.
  bool next_tile(NodeId& column) const {
    column = *std::min_element(head_.begin(), head_.begin() + rows_);
    return column != none;
  }

  /// fn(r, c) for each entry of the tile at `column`, which next_tile gave; moves past it.
  template <class Fn>
  void consume(NodeId column, Fn&& fn) {
    for (NodeId r = 0; r < rows_; ++r) {
      if (head_[r] != column) continue;
      while (next_[r] != end_[r] && *next_[r] / K == column) fn(r, *next_[r]++ % K);
      set_head(r);
    }
  }

 private:
  static constexpr NodeId none = std::numeric_limits<NodeId>::max();

  void set_head(NodeId r) { head_[r] = next_[r] == end_[r] ? none : *next_[r] / K; }

  NodeId rows_ = 0;
  std::array<NodeId, K> head_{};
  std::array<const NodeId*, K> next_{};
  std::array<const NodeId*, K> end_{};
};

}  // namespace bitgraph
