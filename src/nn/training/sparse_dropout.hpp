// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/random.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace bitgraph::nn {

/// Dropout of a sparse matrix's entries: out[e] = 0 where random_uniform(key, e) < rate, else values[e] / (1 - rate).
inline void drop_entries(std::span<float> out, std::span<const float> values, float rate, RandomKey key) {
  const float scale = 1 / (1 - rate);
  for (std::size_t begin = 0; begin < values.size(); begin += 4) {
    const auto words = random_words(key, begin / 4);  // random_uniform() of four entries
    const std::size_t count = std::min<std::size_t>(4, values.size() - begin);
    for (std::size_t n = 0; n < count; ++n) {
      const float uniform = static_cast<float>(words[n] >> 8) * 0x1.0p-24F;
      out[begin + n] = uniform < rate ? 0.0F : values[begin + n] * scale;
    }
  }
}

}  // namespace bitgraph::nn
