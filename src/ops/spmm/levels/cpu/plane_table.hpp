// SPDX-License-Identifier: Apache-2.0
// What the host knows of rows of each length, for sums of levels in planes: the least sum that reaches each level, bit
// by bit. A level of two bits is how many of three thresholds its sum reaches.
#pragma once

#include "ops/spmm/levels/args.hpp"
#include "ops/spmm/levels/cpu/level_of_sum.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// Bits of counts of so many neighbours.
[[nodiscard]] constexpr std::size_t count_bits_of(std::size_t length) noexcept {
  return std::max<std::size_t>(2, static_cast<std::size_t>(std::bit_width(length)));
}
/// Bits of sums of so many levels, and of a greater number.
[[nodiscard]] constexpr std::size_t sum_bits_of(std::size_t length) noexcept { return count_bits_of(length) + 2; }

/// LevelSpmmOptions::planes of an X in planes, on the host. Rows of one length have sum_bits_of() planes of thresholds,
/// the lowest bits first. A plane has two parts, each as wide as a row of X. Where a row of levels has words of lower
/// bits, the first part has bits of the least sum of level 1, and the second part those of level 3; where it has words
/// of upper bits, both have those of level 2. All bits are turned over: to compare is to add, and to keep the carry.
class PlaneTable {
 public:
  static constexpr std::size_t lengths = 256;  ///< 0 to 255
  static constexpr std::size_t piece_words = plane_piece_bytes / sizeof(std::uint64_t);

  /// Rows of a length that have these scales.
  struct Rows {
    ScalesOfRow scales;
    std::uint32_t first = 0;  ///< word of the table where their thresholds begin; 0: they have none
  };

  /// Words for rows of so many pieces.
  [[nodiscard]] static constexpr std::size_t words(std::size_t pieces) noexcept {
    std::size_t planes = 0;
    for (std::size_t d = 0; d < lengths; ++d) planes += sum_bits_of(d);
    return rows_words + planes * 2 * piece_words * pieces;
  }

  explicit PlaneTable(const LevelSpmmArgs& args)
      : row_words_(args.x.row_bytes / sizeof(std::uint64_t)), words_(args.planes.data()) {}

  [[nodiscard]] Rows* rows() const noexcept { return reinterpret_cast<Rows*>(words_); }
  /// Plane p of Rows::first is 2 row_words() p behind; its second part row_words() behind the first.
  [[nodiscard]] std::uint64_t* words() const noexcept { return words_; }
  [[nodiscard]] std::size_t row_words() const noexcept { return row_words_; }

  /// Rows::first of each length.
  [[nodiscard]] std::array<std::uint32_t, lengths> places() const noexcept {
    std::array<std::uint32_t, lengths> place{};
    std::size_t next = rows_words;
    for (std::size_t d = 0; d < lengths; ++d) {
      place[d] = static_cast<std::uint32_t>(next);
      next += sum_bits_of(d) * 2 * row_words_;
    }
    return place;
  }

 private:
  static constexpr std::size_t rows_words = lengths * sizeof(Rows) / sizeof(std::uint64_t);

  std::size_t row_words_;
  std::uint64_t* words_;
};

/// Looks up rows of a table.
class KnownRows {
 public:
  explicit KnownRows(const LevelSpmmArgs& args)
      : args_(args), rows_(PlaneTable(args).rows()), row_scale_(args.row_scale), is_late_(args.epilogue.is_late()) {}

  /// Those of row i. Null where the table has none for its length and scales.
  [[nodiscard]] const PlaneTable::Rows* of(std::size_t i, std::size_t length) const noexcept {
    if (length >= PlaneTable::lengths) return nullptr;
    const PlaneTable::Rows& its = rows_[length];
    const auto scale = std::bit_cast<std::uint32_t>(row_scale_ == nullptr ? 1.0F : row_scale_[i]);
    if (its.first == 0 || its.scales.row_scale != scale) return nullptr;
    return !is_late_ || its.scales == ScalesOfRow::of(args_, i) ? &its : nullptr;
  }

 private:
  const LevelSpmmArgs& args_;
  const PlaneTable::Rows* rows_;
  const float* row_scale_;
  bool is_late_;
};

}  // namespace bitgraph
