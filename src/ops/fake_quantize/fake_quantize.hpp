// SPDX-License-Identifier: Apache-2.0
// The kernels of fake quantization. See include/bitgraph/ops/fake_quantize.hpp.
#pragma once

#include <bitgraph/formats/level_view.hpp>
#include <bitgraph/formats/views.hpp>

#include "core/backend.hpp"

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
};

void fake_quantize(const Reference& backend, const FakeQuantizeArgs& args);
void fake_quantize(const Cpu& backend, const FakeQuantizeArgs& args);
void fake_quantize(const Cuda& backend, const FakeQuantizeArgs& args);
void fake_quantize_backward(const Reference& backend, const FakeQuantizeArgs& args);
void fake_quantize_backward(const Cpu& backend, const FakeQuantizeArgs& args);
void fake_quantize_backward(const Cuda& backend, const FakeQuantizeArgs& args);

}  // namespace bitgraph
