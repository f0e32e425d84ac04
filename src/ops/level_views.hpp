// SPDX-License-Identifier: Apache-2.0
// Where products and aggregations of levels go, and what is done to them before, as kernels see it.
#pragma once

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/level_view.hpp>
#include <bitgraph/formats/views.hpp>
#include <bitgraph/ops/activation.hpp>

#include "core/tanh.hpp"

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

/// From a value to its place on a scale: what it is multiplied by, and what is added then.
struct OnScale {
  float factor = 1;
  float shift = 0;

  [[nodiscard]] float place(float value) const { return std::fma(value, factor, shift); }
  /// The least place for levels: that of the value 0 behind a relu, and no less than the first level's. Never -0, which
  /// device code would take for less.
  [[nodiscard]] constexpr float least(bool relu) const { return relu ? std::max(0.0F, shift) : 0.0F; }
};

/// What is done to products and sums before they are stored. Everything that multiplies or shifts a column is divided
/// by the step of the output beforehand, so what a kernel computes is a place on the output's scale: the value itself
/// where values are stored, else the level before it is rounded. Levels whose scale is by rows, those behind a tanh,
/// and those with an addend are late: values come first, with the addend and the activation, and then their places.
struct LevelEpilogue {
  const float* bias = nullptr;    ///< null: 0
  DenseView<const float> addend;  ///< what is added to each value of a product; without data: nothing
  Activation activation = Activation::none;
  Rounding rounding = Rounding::nearest;
  LevelScaleView out;         ///< of levels; of values, and of late levels, step 1 and offset 0
  LevelScaleView late;        ///< of late levels; else without steps
  bool late_by_rows = false;  ///< else it is that of the tensor, or by columns

  /// What multiplies column j.
  [[nodiscard]] float factor(std::size_t j) const { return 1.0F / out.step(j); }
  /// What is added to column j, whose factor is given.
  [[nodiscard]] float shift(std::size_t j, float factor) const {
    return ((bias == nullptr ? 0.0F : bias[j]) - out.offset(j)) * factor;
  }
  /// The least place of column j for levels: that of the value 0 behind a relu, and no less than the first level's.
  [[nodiscard]] float least(std::size_t j, float factor) const {
    return rectifies() ? std::max(0.0F, -out.offset(j) * factor) : 0.0F;
  }

  [[nodiscard]] constexpr bool rectifies() const { return activation == Activation::relu; }
  [[nodiscard]] constexpr bool is_late() const { return late.steps != nullptr; }
  [[nodiscard]] constexpr bool adds() const { return addend.data != nullptr; }
  /// Whether kernels need the code for late levels, addends and tanh: most outputs do without.
  [[nodiscard]] constexpr bool is_rare() const { return is_late() || adds() || activation == Activation::tanh; }
  /// The scale of a late level.
  [[nodiscard]] OnScale late_scale(std::size_t i, std::size_t j) const {
    const std::size_t n = late_by_rows ? i : j;
    const float factor = 1.0F / late.step(n);
    return {factor, -late.offset(n) * factor};
  }

  /// What is stored at a place: the definition of right. What is not a number becomes the greatest level; as a value 0
  /// by a relu.
  [[nodiscard]] float value(float place) const {
    if (activation == Activation::tanh) return tanh_of(place);
    return !rectifies() || place > 0 ? place : 0.0F;
  }
  [[nodiscard]] std::uint32_t level(float place, float least_place, int bits) const {
    const float most = static_cast<float>((1U << bits) - 1);
    const float within = std::max(place < most ? place : most, std::min(least_place, most));
    return static_cast<std::uint32_t>(rounding == Rounding::nearest ? std::nearbyint(within) : std::floor(within));
  }
  [[nodiscard]] std::uint32_t late_level(const OnScale& scale, float value, int bits) const {
    if (activation == Activation::tanh) value = tanh_of(value);
    return level(scale.place(value), scale.least(rectifies()), bits);
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
