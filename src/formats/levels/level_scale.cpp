// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/formats/level_scale.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace bitgraph {

LevelScale without_zero_offsets(LevelScale scale) {
  const bool zero = std::all_of(scale.offsets.begin(), scale.offsets.end(), [](float offset) { return offset == 0; });
  if (zero) scale.offsets = Buffer<float>(0, scale.steps.device());
  return scale;
}

std::size_t num_scales(ScaleExtent extent, std::size_t nrows, std::size_t ncols) noexcept {
  switch (extent) {
    case ScaleExtent::none: return 0;
    case ScaleExtent::tensor: return 1;
    case ScaleExtent::row: return nrows;
    case ScaleExtent::column: break;
  }
  return ncols;
}

void require_valid(const LevelScale& scale, std::size_t nrows, std::size_t ncols) {
  const std::size_t expected = num_scales(scale.extent, nrows, ncols);
  if (scale.steps.size() != expected || (scale.has_offsets() && scale.offsets.size() != expected)) {
    fail(ErrorCode::usage,
         fmt::format("{} steps and {} offsets, expected {}", scale.steps.size(), scale.offsets.size(), expected));
  }
  require_same_place("a scale", "the steps", scale.steps.device(), "the offsets",
                     scale.has_offsets() ? scale.offsets.device() : scale.steps.device());
  const Buffer<float> steps = scale.steps.to(Device{}), offsets = scale.offsets.to(Device{});
  for (std::size_t s = 0; s < expected; ++s) {
    if (!(steps[s] > 0) || !std::isfinite(steps[s]))
      fail(ErrorCode::bad_input, fmt::format("step {} is {}, expected a positive number", s, steps[s]));
    if (scale.has_offsets() && !std::isfinite(offsets[s]))
      fail(ErrorCode::bad_input, fmt::format("offset {} is {}, expected a finite number", s, offsets[s]));
  }
}

}  // namespace bitgraph
