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

void fake_quantize(const Reference& backend, const FakeQuantizeArgs& args);
void fake_quantize(const Cpu& backend, const FakeQuantizeArgs& args);
void fake_quantize(const Cuda& backend, const FakeQuantizeArgs& args);
void fake_quantize_backward(const Reference& backend, const FakeQuantizeArgs& args);
void fake_quantize_backward(const Cpu& backend, const FakeQuantizeArgs& args);
void fake_quantize_backward(const Cuda& backend, const FakeQuantizeArgs& args);

}  // namespace bitgraph
