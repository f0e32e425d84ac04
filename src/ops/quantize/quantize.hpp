// SPDX-License-Identifier: Apache-2.0
// The kernels of quantize. See include/bitgraph/ops/quantize.hpp.
#pragma once

#include <bitgraph/formats/level_view.hpp>
#include <bitgraph/formats/views.hpp>

#include "core/devices/backend.hpp"

namespace bitgraph {

struct QuantizeArgs {
  DenseView<const float> x;
  QuantizedView<std::uint8_t> out;
  ScaleExtent extent = ScaleExtent::tensor;
  const float* steps = nullptr;
  const float* offsets = nullptr;  ///< null: 0
  Rounding rounding = Rounding::nearest;
  const float* row_scale = nullptr;  ///< of x, before all else; null: 1
};

void quantize(const Reference& backend, const QuantizeArgs& args);
void quantize(const Cpu& backend, const QuantizeArgs& args);
void quantize(const Cuda& backend, const QuantizeArgs& args);

}  // namespace bitgraph
