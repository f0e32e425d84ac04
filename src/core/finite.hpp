// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>

#include "core/threads/parallel.hpp"

#include <atomic>
#include <bit>
#include <cstdint>
#include <span>

namespace bitgraph {

/// True where no value is infinite or NaN. Values on the host; reads them once, in parallel.
[[nodiscard]] inline bool all_finite(std::span<const float> values, const Device& host = {}) {
  constexpr std::size_t grain = std::size_t{1} << 16;
  constexpr std::uint32_t exponent = 0x7F800000U;
  std::atomic<bool> finite{true};
  parallel_ranges(host, values.size(), grain, [&](Range range) {
    std::uint32_t found = 0;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      found |= static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(values[i]) & exponent) == exponent);
    }
    if (found != 0) finite = false;
  });
  return finite;
}

}  // namespace bitgraph
