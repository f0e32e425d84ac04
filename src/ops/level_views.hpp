// SPDX-License-Identifier: Apache-2.0
// Where products and aggregations of levels go, and what is done to them before, as kernels see it.
#pragma once

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/level_view.hpp>
#include <bitgraph/formats/views.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// One of the four has data.
struct LevelOut {
  DenseView<std::int32_t> sums;
  DenseView<std::int64_t> wide_sums;
  DenseView<float> values;
  const NodeId* value_rows = nullptr;  ///< where each row of values is stored; null: in its own place
  QuantizedView<std::uint8_t> levels;

  [[nodiscard]] std::size_t value_row(std::size_t i) const { return value_rows == nullptr ? i : value_rows[i]; }
};

/// Steps and offsets as kernels read them.
struct LevelScaleView {
  const float* steps = nullptr;    ///< null: 1
  const float* offsets = nullptr;  ///< null: 0
  bool single = true;              ///< the first one is for all rows or columns

  [[nodiscard]] float step(std::size_t n) const { return steps == nullptr ? 1.0F : steps[single ? 0 : n]; }
  [[nodiscard]] float offset(std::size_t n) const { return offsets == nullptr ? 0.0F : offsets[single ? 0 : n]; }
};

/// Where a row lies on the scale of its own: what multiplies its values, and what is added to them then.
struct OutRow {
  float factor = 1;
  float shift = 0;

  /// The least place for levels: that of the value 0 behind a relu, and no less than the first level's. Never -0, which
  /// device code would take for less.
  [[nodiscard]] constexpr float least(bool relu) const { return relu ? std::max(0.0F, shift) : 0.0F; }
};

/// What is done to products and sums before they are stored. Everything that multiplies or shifts a column is divided
/// by the step of the output beforehand, so what a kernel computes is a place on the output's scale: the value itself
/// where values are stored, else the level before it is rounded.
struct LevelEpilogue {
  const float* bias = nullptr;  ///< null: 0
  bool relu = false;
  Rounding rounding = Rounding::nearest;
  LevelScaleView out;       ///< of levels; values have step 1 and offset 0
  LevelScaleView out_rows;  ///< of levels whose scale is by rows; `out` is then as that of values

  /// What multiplies column j.
  [[nodiscard]] float factor(std::size_t j) const { return 1.0F / out.step(j); }
  /// What is added to column j, whose factor is given.
  [[nodiscard]] float shift(std::size_t j, float factor) const {
    return ((bias == nullptr ? 0.0F : bias[j]) - out.offset(j)) * factor;
  }
  /// The least place of column j for levels: that of the value 0 behind a relu, and no less than the first level's.
  [[nodiscard]] float least(std::size_t j, float factor) const {
    return relu ? std::max(0.0F, -out.offset(j) * factor) : 0.0F;
  }

  /// Whether each row of levels has a scale of its own.
  [[nodiscard]] constexpr bool by_rows() const { return out_rows.steps != nullptr; }
  /// Where row i lies on it: its factor goes into what multiplies the row, its shift behind that of each column. Else
  /// nothing changes.
  [[nodiscard]] OutRow row(std::size_t i) const {
    if (!by_rows()) return {};
    const float factor = 1.0F / out_rows.step(i);
    return {factor, -out_rows.offset(i) * factor};
  }
  /// What is added to column j of row i, whose factors are given.
  [[nodiscard]] float shift(std::size_t j, float factor, const OutRow& row) const {
    const float of_column = shift(j, factor);
    return by_rows() ? std::fma(of_column, row.factor, row.shift) : of_column;
  }
  /// The least place for levels there.
  [[nodiscard]] float least(std::size_t j, float factor, const OutRow& row) const {
    return by_rows() ? row.least(relu) : least(j, factor);
  }

  /// What is stored at a place: the definition of right. What is not a number becomes the greatest level; as a value 0
  /// by a relu.
  [[nodiscard]] float value(float place) const { return !relu || place > 0 ? place : 0.0F; }
  [[nodiscard]] std::uint32_t level(float place, float least_place, int bits) const {
    const float most = static_cast<float>((1U << bits) - 1);
    const float within = std::max(place < most ? place : most, std::min(least_place, most));
    return static_cast<std::uint32_t>(rounding == Rounding::nearest ? std::nearbyint(within) : std::floor(within));
  }
};

/// The end of sums of levels over neighbours: LevelSpmmOptions has the formula. Kernels of sparse and of dense graphs
/// share it, and so their results are the same bits.
struct LevelSumEnd {
  LevelScaleView x_scale;
  const float* row_scale = nullptr;  ///< null: 1
  LevelEpilogue epilogue;
  LevelOut out;

  /// Whether sums become values or levels.
  [[nodiscard]] constexpr bool ends() const { return out.values.data != nullptr || out.levels.data != nullptr; }
  [[nodiscard]] float row_scale_of(std::size_t i) const { return row_scale == nullptr ? 1.0F : row_scale[i]; }
};

/// Whether sums of k products of levels of p and q bits, or with q = 0 of k levels, are below 2^limit.
[[nodiscard]] constexpr bool sums_fit(int p, int q, std::size_t k, int limit) noexcept {
  return p + q + static_cast<int>(k < 2 ? 0 : std::bit_width(k - 1)) <= limit;
}

}  // namespace bitgraph
