// SPDX-License-Identifier: Apache-2.0
// The numbers of bitgraph/core/random.hpp, drawn on a CUDA device: the same key and index give the same bits.
#pragma once

#include <bitgraph/core/random.hpp>

#include <cstdint>

namespace bitgraph {

/// Four random words of a stream, by position: random_words(). The step is `key.step`, whatever step_there is.
__device__ inline uint4 cuda_random_words(const RandomKey& key, std::uint64_t position) {
  uint4 counter{static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32U), key.tensor,
                key.step};
  auto low = static_cast<std::uint32_t>(key.seed);
  auto high = static_cast<std::uint32_t>(key.seed >> 32U);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53U} * counter.x;
    const std::uint64_t second = std::uint64_t{0xCD9E8D57U} * counter.z;
    counter = {static_cast<std::uint32_t>(second >> 32U) ^ counter.y ^ low, static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32U) ^ counter.w ^ high, static_cast<std::uint32_t>(first)};
    low += 0x9E3779B9U;
    high += 0xBB67AE85U;
  }
  return counter;
}

/// 64 random bits: element `index` of the stream.
__device__ inline std::uint64_t cuda_random_bits(RandomKey key, std::uint64_t index) {
  const uint4 words = cuda_random_words(key, index >> 1U);
  const bool upper = (index & 1U) != 0;
  return std::uint64_t{upper ? words.w : words.y} << 32U | (upper ? words.z : words.x);
}

}  // namespace bitgraph
