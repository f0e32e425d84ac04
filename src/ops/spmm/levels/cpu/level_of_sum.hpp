// SPDX-License-Identifier: Apache-2.0
// What the levels of rows of one length depend on, and the least sums that reach them: what tables of rows of each
// length are made from.
#pragma once

#include "ops/spmm/levels/args.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bitgraph {

/// All that the levels of a row depend on, but for its sums and its length: the bits of floats. Late levels are those
/// of a scale by rows.
struct ScalesOfRow {
  std::uint32_t row_scale = 0, late_step = 0, late_offset = 0;

  [[nodiscard]] static ScalesOfRow of(const LevelSpmmArgs& args, std::size_t row) noexcept {
    const auto bits = [](float number) { return std::bit_cast<std::uint32_t>(number); };
    ScalesOfRow scales{bits(args.row_scale_of(row))};
    const LevelScaleView& late = args.epilogue.late;
    if (args.epilogue.is_late()) scales.late_step = bits(late.step(row)), scales.late_offset = bits(late.offset(row));
    return scales;
  }
  [[nodiscard]] bool operator==(const ScalesOfRow&) const = default;
};

/// The first row of each length below `lengths`; no_row where there is none, or where larger sums may have lower
/// levels. O(nrows).
inline constexpr NodeId no_row = ~NodeId{0};
[[nodiscard]] inline std::vector<NodeId> rows_of_lengths(const LevelSpmmArgs& args, std::size_t lengths) {
  std::vector<NodeId> row_of(lengths, no_row);
  for (NodeId i = args.a.nrows; i-- != 0;) {
    const auto length = static_cast<std::size_t>(args.a.row_ptr[i + 1] - args.a.row_ptr[i]);
    if (length < lengths) row_of[length] = i;
  }
  for (NodeId& i : row_of) {
    if (i == no_row) continue;
    const float row_scale = args.row_scale_of(i);
    if (!(row_scale >= 0) || !std::isfinite(row_scale)) i = no_row;
  }
  return row_of;
}

/// The level of a sum of column `column` of rows of one length and scale.
class LevelOfSum {
 public:
  LevelOfSum(const LevelSpmmArgs& args, std::size_t row, std::size_t length, std::size_t column)
      : epilogue_(args.epilogue), bits_(args.out.levels.bits) {
    const float factor = epilogue_.factor(column), row_scale = args.row_scale_of(row);
    by_step_ = args.x_scale.step(column) * factor * row_scale;
    rest_ = std::fma(args.x_scale.offset(column) * factor, row_scale * static_cast<float>(length),
                     epilogue_.shift(column, factor));
    least_ = epilogue_.least(column, factor);
    begins_ = epilogue_.rounding == Rounding::nearest ? 0.5F : 0.0F;
    if (epilogue_.is_late()) late_ = epilogue_.late_scale(row, column);
  }

  [[nodiscard]] std::uint32_t operator()(std::size_t sum) const {
    const float place = std::fma(by_step_, static_cast<float>(sum), rest_);
    return epilogue_.is_late() ? epilogue_.late_level(late_, place, bits_) : epilogue_.level(place, least_, bits_);
  }

  /// The least sum, from `first` up to `end`, that has level `level` or a higher one; larger sums have no lower level.
  [[nodiscard]] std::size_t least_sum(std::uint32_t level, std::size_t first, std::size_t end) const {
    const float slope = by_step_ * late_.factor;  // levels between a sum and the next one
    const float near = (static_cast<float>(level) - begins_ - late_.place(rest_)) / slope;  // but for rounding
    std::size_t middle = first;
    if (near > static_cast<float>(first) && near < static_cast<float>(end)) middle = static_cast<std::size_t>(near);
    for (std::size_t step = 1; first < end; step *= 2) {
      if ((*this)(middle) >= level) {
        end = middle;
        middle = end - first > 2 * step ? end - step : first + (end - first) / 2;
      } else {
        first = middle + 1;
        middle = end - first > 2 * step ? first + step : first + (end - first) / 2;
      }
    }
    return first;
  }

 private:
  const LevelEpilogue& epilogue_;
  int bits_;
  OnScale late_;
  float by_step_ = 0, rest_ = 0, least_ = 0;
  float begins_ = 0;  ///< how far below a level its places begin
};

}  // namespace bitgraph
