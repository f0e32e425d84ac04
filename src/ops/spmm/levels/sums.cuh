// SPDX-License-Identifier: Apache-2.0
// Sums of levels on a CUDA device as a lane has them: of its part of rows of X, two sums of 16 bits in a word.
#pragma once

#include <cstdint>
#include <type_traits>

namespace bitgraph::level_cuda {

/// A lane's part of a row of X: two or four words of 32 bits, in one load.
template <unsigned Words>
using Part = std::conditional_t<Words == 2, uint2, uint4>;

__device__ inline std::uint32_t word_of(const uint2& part, unsigned w) { return w == 0 ? part.x : part.y; }
__device__ inline std::uint32_t word_of(const uint4& part, unsigned w) {
  return w == 0 ? part.x : w == 1 ? part.y : w == 2 ? part.z : part.w;
}

constexpr std::uint32_t even_bytes = 0x00FF00FFU;
constexpr std::uint32_t low_nibbles = 0x0F0F0F0FU;

/// The even and the odd bytes of a word, added to two sums each.
__device__ inline void add_bytes(std::uint32_t& even, std::uint32_t& odd, std::uint32_t word) {
  even += word & even_bytes;
  odd += word >> 8 & even_bytes;
}

/// Sums of a lane's levels, which have `Bits` bits: 4 or 8.
template <unsigned Bits, unsigned Words>
struct LaneLevels {
  static constexpr unsigned features = Words * 32 / Bits;
  static constexpr unsigned pairs = features / 2;
  static constexpr unsigned pairs_a_word = pairs / Words;
  static constexpr std::uint32_t most_neighbors = 65535 / ((1U << Bits) - 1);  ///< whose sum 16 bits hold

  std::uint32_t pair[pairs] = {};

  /// Parts of up to 16 neighbours.
  template <unsigned Count>
  __device__ void add(const Part<Words> (&parts)[Count]) {
    static_assert(Count <= 17, "sums of nibbles are bytes until they are added");
#pragma unroll
    for (unsigned w = 0; w < Words; ++w) {
      std::uint32_t* const to = pair + w * pairs_a_word;
      if constexpr (Bits == 8) {
#pragma unroll
        for (unsigned k = 0; k < Count; ++k) add_bytes(to[0], to[1], word_of(parts[k], w));
      } else {
        std::uint32_t low = 0, high = 0;
#pragma unroll
        for (unsigned k = 0; k < Count; ++k) {
          const std::uint32_t word = word_of(parts[k], w);
          low += word & low_nibbles;
          high += word >> 4 & low_nibbles;
        }
        add_bytes(to[0], to[1], low);
        add_bytes(to[2], to[3], high);
      }
    }
  }

  /// The sum of feature `f` of the part. Known when it is compiled, like all that follows from it.
  [[nodiscard]] __device__ std::uint32_t of(unsigned f) const {
    constexpr unsigned a_word = 32 / Bits;
    const unsigned in_word = f % a_word;
    const unsigned byte = Bits == 8 ? in_word : in_word / 2;
    const unsigned half = Bits == 8 ? 0 : in_word % 2;
    return pair[f / a_word * pairs_a_word + 2 * half + byte % 2] >> (16 * (byte / 2)) & 0xFFFFU;
  }
};

}  // namespace bitgraph::level_cuda
