// SPDX-License-Identifier: Apache-2.0
// Finding the non-empty tiles of a tile row: the columns that its rows touch are marked in a bitmap, a window of the
// matrix at a time, so that memory is a few kilobytes however wide the matrix.
#pragma once

#include <bitgraph/formats/bit_tile_matrix.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// A set of numbers below Size, with a summary bit for every word of 64: going through it in order, and clearing it,
/// costs what it holds, not Size.
template <std::size_t Size>
class MarkSet {
 public:
  /// Adds c; true where it is new.
  bool add(std::size_t c) noexcept {
    std::uint64_t& word = words_[c / 64];
    const std::uint64_t bit = std::uint64_t{1} << (c % 64);
    if ((word & bit) != 0) return false;
    word |= bit;
    summary_[c / 4096] |= std::uint64_t{1} << (c / 64 % 64);
    return true;
  }

  [[nodiscard]] std::uint64_t word(std::size_t w) const noexcept { return words_[w]; }

  /// fn(w) for every word that holds a mark, in order.
  template <class Fn>
  void for_each_word(Fn&& fn) const {
    for (std::size_t s = 0; s < summary_.size(); ++s) {
      for (std::uint64_t left = summary_[s]; left != 0; left &= left - 1) {
        fn(s * 64 + static_cast<std::size_t>(std::countr_zero(left)));
      }
    }
  }

  void clear() noexcept {
    for_each_word([this](std::size_t w) { words_[w] = 0; });
    summary_.fill(0);
  }

 private:
  std::array<std::uint64_t, Size / 64> words_{};
  std::array<std::uint64_t, (Size + 4095) / 4096> summary_{};
};

/// Up to Rows neighbouring rows of a pattern, walked in step through windows of Width columns. Windows without entries
/// are passed over.
template <NodeId Rows, std::size_t Width>
class RowWindows {
 public:
  RowWindows(const CsrPatternView& a, NodeId first_row) : rows_(std::min<NodeId>(Rows, a.nrows - first_row)) {
    for (NodeId r = 0; r < rows_; ++r) {
      const auto row = a.row(first_row + r);
      begin_[r] = stop_[r] = row.data();
      end_[r] = row.data() + row.size();
    }
    whole_ = a.ncols <= Width;
  }

  [[nodiscard]] NodeId rows() const noexcept { return rows_; }

  /// The window's first column: a multiple of 4096.
  [[nodiscard]] NodeId first_column() const noexcept { return first_column_; }

  /// Goes to the next window that has entries; false after the last.
  bool next() noexcept {
    begin_ = stop_;
    std::size_t least = none;
    for (NodeId r = 0; r < rows_; ++r) {
      if (begin_[r] != end_[r]) least = std::min<std::size_t>(least, *begin_[r]);
    }
    if (least == none) return false;
    first_column_ = whole_ ? 0 : static_cast<NodeId>(least / 4096 * 4096);
    return true;
  }

  /// fn(column - first_column()) for the entries of row r in the window.
  template <class Fn>
  void for_each(NodeId r, Fn&& fn) {
    const NodeId* p = begin_[r];
    if (whole_) {
      for (; p != end_[r]; ++p) fn(*p);
    } else {
      for (; p != end_[r] && *p - first_column_ < Width; ++p) fn(*p - first_column_);
    }
    stop_[r] = p;
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  NodeId rows_;
  NodeId first_column_ = 0;
  bool whole_ = false;
  std::array<const NodeId*, Rows> begin_{};
  std::array<const NodeId*, Rows> stop_{};
  std::array<const NodeId*, Rows> end_{};
};

/// The tiles of side K of one tile row after the other.
template <int K>
class TileRowMarks {
 public:
  /// Number of non-empty tiles of a tile row. O(entries).
  EdgeOffset count(const CsrPatternView& a, NodeId tile_row) {
    EdgeOffset tiles = 0;
    for (Windows windows(a, tile_row * K); windows.next(); marks_.clear()) tiles += mark(windows);
    return tiles;
  }

  /// tile(column) for each non-empty tile, in order of column, then entry(t, r, c) for each entry of the matrix: bit
  /// (r, c) of the tile that was number t to be named, window by window. O(entries).
  template <class Tile, class Entry>
  void visit(const CsrPatternView& a, NodeId tile_row, Tile&& tile, Entry&& entry) {
    std::uint32_t before = 0;
    for (Windows windows(a, tile_row * K); windows.next(); marks_.clear()) {
      mark(windows);
      const NodeId first_tile = windows.first_column() / K;
      marks_.for_each_word([&](std::size_t w) {
        before_[w] = before;
        for (std::uint64_t left = marks_.word(w); left != 0; left &= left - 1, ++before) {
          tile(first_tile + static_cast<NodeId>(w * 64) + static_cast<NodeId>(std::countr_zero(left)));
        }
      });
      for (NodeId r = 0; r < windows.rows(); ++r) {
        std::size_t at = none;
        std::uint32_t t = 0;
        windows.for_each(r, [&](NodeId j) {
          if (at != j / K) {
            at = j / K;
            t = number_of(at);
          }
          entry(t, r, j % K);
        });
      }
    }
  }

 private:
  static constexpr std::size_t tiles_a_window = std::size_t{1} << 16;
  static constexpr std::size_t none = ~std::size_t{0};
  using Windows = RowWindows<K, tiles_a_window * K>;

  /// Marks the tiles of the window and returns how many they are.
  EdgeOffset mark(Windows& windows) {
    EdgeOffset tiles = 0;
    for (NodeId r = 0; r < windows.rows(); ++r) {
      std::size_t at = none;
      windows.for_each(r, [&](NodeId j) {
        if (at == j / K) return;
        at = j / K;
        tiles += marks_.add(at) ? 1U : 0U;
      });
    }
    return tiles;
  }

  [[nodiscard]] std::uint32_t number_of(std::size_t c) const noexcept {
    const std::uint64_t lower = marks_.word(c / 64) & ((std::uint64_t{1} << (c % 64)) - 1);
    return before_[c / 64] + static_cast<std::uint32_t>(std::popcount(lower));
  }

  MarkSet<tiles_a_window> marks_;
  std::array<std::uint32_t, tiles_a_window / 64> before_;
};

}  // namespace bitgraph
