// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// Transposes a K x K block of bits held in the low K bits of K words, by exchanging ever smaller sub-blocks: O(K log
/// K).
template <std::size_t K>
void transpose_bits(std::array<std::uint64_t, K>& rows) noexcept {
  std::uint64_t mask = ~std::uint64_t{0} >> (64 - K / 2);
  for (std::size_t half = K / 2; half != 0; half /= 2, mask ^= mask << half) {
    for (std::size_t r = 0; r < K; r = ((r | half) + 1) & ~half) {
      const std::uint64_t swapped = ((rows[r] >> half) ^ rows[r + half]) & mask;
      rows[r] ^= swapped << half;
      rows[r + half] ^= swapped;
    }
  }
}

}  // namespace bitgraph
