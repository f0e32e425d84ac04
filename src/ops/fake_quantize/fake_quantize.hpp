// SPDX-License-Identifier: Apache-2.0
// The kernels of fake quantization. See include/bitgraph/ops/fake_quantize.hpp.
#pragma once

#include <bitgraph/formats/level_view.hpp>
#include <bitgraph/formats/views.hpp>

#include "core/devices/backend.hpp"

namespace bitgraph {

struct FakeQuantizeArgs {
  DenseView<float> out;  ///< or the gradient
  DenseView<const float> x;
  ScaleExtent extent = ScaleExtent::tensor;
  float most = 255;
  const float* steps = nullptr;
  const float* offsets = nullptr;
  const float* row_scale = nullptr;  ///< null: ones

  /// Which step and offset an element has.
  [[nodiscard]] constexpr std::size_t scale_of(std::size_t i, std::size_t j) const noexcept {
    if (extent == ScaleExtent::row) return i;
    return extent == ScaleExtent::column ? j : 0;
  }
  [[nodiscard]] float factor(std::size_t i) const noexcept { return row_scale == nullptr ? 1.0F : row_scale[i]; }
  /// Where an element lies among the levels.
  [[nodiscard]] float place(std::size_t i, std::size_t j) const noexcept {
    const std::size_t s = scale_of(i, j);
    return (x(i, j) * factor(i) - offsets[s]) / steps[s];
  }
};

/// What an element adds to the gradients of a learned scale, less the element's own gradient: of a step's logarithm,
/// and of the first level's place.
struct ScaleSlopes {
  double of_step = 0;
  double of_place = 0;
};

/// `place` is the element's, `first` the first level's: offset / step. One step makes an element that is clipped as
/// much larger as its level is far from zero; others by what rounding adds to them.
[[nodiscard]] constexpr ScaleSlopes slopes_of(float place, float nearest, float most, float step, float offset,
                                              float factor) noexcept {
  const double unit = static_cast<double>(step) / static_cast<double>(factor);
  const double first = static_cast<double>(offset) / static_cast<double>(step);
  if (!(place >= 0)) return {unit * first, unit};
  if (place > most) return {unit * (first + static_cast<double>(most)), unit};
  return {unit * (static_cast<double>(nearest) - static_cast<double>(place)), 0};
}

/// The gradient of a learned scale: `count` sums for the steps' logarithms, and behind them as many for the places.
struct LearnedScaleArgs {
  float* sums;
  std::size_t count;
  DenseView<const float> gradient;
  FakeQuantizeArgs at;  ///< without an output
};

void learned_scale(const Reference& backend, DenseView<float> scale, DenseView<const float> learned);
void learned_scale(const Cpu& backend, DenseView<float> scale, DenseView<const float> learned);
void learned_scale(const Cuda& backend, DenseView<float> scale, DenseView<const float> learned);
void learned_scale_backward(const Reference& backend, const LearnedScaleArgs& args);
void learned_scale_backward(const Cpu& backend, const LearnedScaleArgs& args);
void learned_scale_backward(const Cuda& backend, const LearnedScaleArgs& args);

void fake_quantize(const Reference& backend, const FakeQuantizeArgs& args);
void fake_quantize(const Cpu& backend, const FakeQuantizeArgs& args);
void fake_quantize(const Cuda& backend, const FakeQuantizeArgs& args);
void fake_quantize_backward(const Reference& backend, const FakeQuantizeArgs& args);
void fake_quantize_backward(const Cpu& backend, const FakeQuantizeArgs& args);
void fake_quantize_backward(const Cuda& backend, const FakeQuantizeArgs& args);

}  // namespace bitgraph
