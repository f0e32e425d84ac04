// SPDX-License-Identifier: Apache-2.0
// The pass that a library's product of bytes needs behind it, where the next layer takes levels. Products of this
// library store levels themselves.
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/formats/level_view.hpp>
#include <bitgraph/formats/views.hpp>

#include <cstdint>

namespace bitgraph::cli {

struct RequantizeArgs {
  DenseView<const std::int32_t> sums;
  const float* factors = nullptr;  ///< one a column
  const float* shifts = nullptr;   ///< the same
  QuantizedView<std::uint8_t> out;
};

/// level(i, j) = factors[j] sums(i, j) + shifts[j], rounded to the nearest and brought into the range of `out`. All on
/// one CUDA device, of one shape; levels of up to 8 bits. Puts work on its stream.
void requantize(const Device& device, const RequantizeArgs& args);

}  // namespace bitgraph::cli
