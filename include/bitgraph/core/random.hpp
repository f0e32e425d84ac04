// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace bitgraph {

/// Names a stream of random numbers: the seed of the run, and the tensor (or purpose) that the numbers are for.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint32_t tensor = 0;
  std::uint32_t step = 0;  ///< epoch or repetition
  /// Where kernels of a CUDA device find the step (TrainingStep), so that it may change after they were recorded. Null:
  /// it is `step`. The host does not look there.
  const std::uint32_t* step_there = nullptr;
};

/// Four random words of a stream, by position. Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as
/// 1, 2, 3", SC 2011): a pure function of key and position, so threads and order change nothing.
inline std::array<std::uint32_t, 4> random_words(RandomKey key, std::uint64_t position) noexcept {
  std::array<std::uint32_t, 4> counter{static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32),
                                       key.tensor, key.step};
  auto key_low = static_cast<std::uint32_t>(key.seed);
  auto key_high = static_cast<std::uint32_t>(key.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53U} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57U} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key_low, static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key_high,
               static_cast<std::uint32_t>(product0)};
    key_low += 0x9E3779B9U;
    key_high += 0xBB67AE85U;
  }
  return counter;
}

/// 64 random bits: element `index` of the stream.
inline std::uint64_t random_bits(RandomKey key, std::uint64_t index) noexcept {
  const auto words = random_words(key, index >> 1);
  const std::size_t half = (index & 1U) * 2;
  return (std::uint64_t{words[half + 1]} << 32) | words[half];
}

/// Uniform in [0, 1) with 24 random bits: element `index` of the stream.
inline float random_uniform(RandomKey key, std::uint64_t index) noexcept {
  return static_cast<float>(random_words(key, index >> 2)[index & 3U] >> 8) * 0x1.0p-24F;
}

/// Uniform in [0, 1) with 53 random bits.
inline double random_uniform_double(RandomKey key, std::uint64_t index) noexcept {
  return static_cast<double>(random_bits(key, index) >> 11) * 0x1.0p-53;
}

/// Uniform integer in [0, bound), bound > 0 (multiply-shift; the bias is below bound / 2^64).
inline std::uint64_t random_below(RandomKey key, std::uint64_t index, std::uint64_t bound) noexcept {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(random_bits(key, index)) * bound) >> 64);
}

}  // namespace bitgraph
