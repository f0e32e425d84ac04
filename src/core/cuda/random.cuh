// SPDX-License-Identifier: Apache-2.0
// The numbers of bitgraph/core/random.hpp, drawn on a CUDA device: the same key and index give the same bits.
#pragma once

#include <bitgraph/core/random.hpp>

#include <cstdint>

namespace bitgraph {

/// 64 random bits: element `index` of the stream.
__device__ inline std::uint64_t cuda_random_bits(RandomKey key, std::uint64_t index) {
  constexpr int rounds = 10;
  const std::uint64_t position = index >> 1U;
  std::uint32_t counter[4] = {static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32U),
                              key.tensor, key.step};
  auto low = static_cast<std::uint32_t>(key.seed);
  auto high = static_cast<std::uint32_t>(key.seed >> 32U);
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53U} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57U} * counter[2];
    counter[0] = static_cast<std::uint32_t>(second >> 32U) ^ counter[1] ^ low;
    counter[1] = static_cast<std::uint32_t>(second);
    counter[2] = static_cast<std::uint32_t>(first >> 32U) ^ counter[3] ^ high;
    counter[3] = static_cast<std::uint32_t>(first);
    low += 0x9E3779B9U;
    high += 0xBB67AE85U;
  }
  const bool upper = (index & 1U) != 0;
  return std::uint64_t{upper ? counter[3] : counter[1]} << 32U | (upper ? counter[2] : counter[0]);
}

}  // namespace bitgraph
