// SPDX-License-Identifier: Apache-2.0
// Sums of levels on a CUDA device as a lane has them: of its part of rows of X, two sums of 16 bits in a word.
//
// Logic is half as fast as arithmetic there, so fields of a word are not taken out one by one. A word is added as it
// is, which adds up all of its fields, and so are its upper fields; what is left of the first sum, less the second one
// where it was, are the lower fields. Additions go past 32 bits and come back: what is left is exact where it fits.
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

/// Adds a word to a sum of all bytes and, by twos, to one of the odd ones.
__device__ inline void add_bytes(std::uint32_t& all, std::uint32_t& odd, std::uint32_t word) {
  all += word;
  odd += __byte_perm(word, 0, 0x4341);
}

/// Eight sums of 16 bits, two in a word, in the order in which words of `Bits` bits have them.
template <unsigned Bits>
struct PackedSums {
  static constexpr unsigned count = 8;
  std::uint32_t pair[4];

  /// Known when it is compiled, like all that follows from it.
  [[nodiscard]] static constexpr unsigned pair_of(unsigned n) {
    return Bits == 8 ? n / 4 * 2 + n % 2 : 2 * (n % 2) + n / 2 % 2;
  }
  [[nodiscard]] static constexpr bool upper(unsigned n) { return n / (Bits == 8 ? 2 : 4) % 2 != 0; }

  [[nodiscard]] __device__ std::uint32_t sum(unsigned n) const {
    return pair[pair_of(n)] >> (upper(n) ? 16 : 0) & 0xFFFFU;
  }
  /// As a float: the lowest bits of one that begins with 2^23.
  [[nodiscard]] __device__ float number(unsigned n) const {
    std::uint32_t begin = 0x4B00;
    asm("" : "+r"(begin));  // the compiler would keep the selector in a register instead, and make it anew each time
    return __uint_as_float(__byte_perm(pair[pair_of(n)], begin, upper(n) ? 0x5432 : 0x5410)) - 8388608.0F;
  }
};

/// Sums of a lane's levels, which have `Bits` bits: 4 or 8.
template <unsigned Bits, unsigned Words>
struct LaneLevels {
  static constexpr unsigned words = Words;
  static constexpr unsigned features = Words * 32 / Bits;
  static constexpr unsigned units = features / PackedSums<Bits>::count;
  static constexpr unsigned pairs = features / 2;
  static constexpr unsigned pairs_a_word = pairs / Words;
  static constexpr std::uint32_t most_neighbors = 65535 / ((1U << Bits) - 1);  ///< whose sum 16 bits hold

  std::uint32_t pair[pairs] = {};  ///< of all bytes, of the odd ones, until separate()

  /// Parts of up to 16 neighbours. `few`: levels of 4 bits have 2 of them at most, and four fit together.
  template <unsigned Count>
  __device__ void add(const Part<Words> (&parts)[Count], bool few, bool = false) {
    static_assert(Count <= 17 && Count % 4 == 0, "sums of nibbles are bytes until they are added");
    if constexpr (Bits == 8) {
#pragma unroll
      for (unsigned w = 0; w < Words; ++w) {
#pragma unroll
        for (unsigned k = 0; k < Count; ++k) add_bytes(pair[2 * w], pair[2 * w + 1], word_of(parts[k], w));
      }
    } else if (few) {
      add_nibbles<Count / 4>([&](unsigned n, unsigned w) {
        return word_of(parts[4 * n], w) + word_of(parts[4 * n + 1], w) + word_of(parts[4 * n + 2], w) +
               word_of(parts[4 * n + 3], w);
      });
    } else {
      add_nibbles<Count>([&](unsigned n, unsigned w) { return word_of(parts[n], w); });
    }
  }

  /// Behind the last neighbour: pairs become sums of even bytes, and of odd ones.
  __device__ void separate() {
#pragma unroll
    for (unsigned n = 0; n < pairs; n += 2) pair[n] -= pair[n + 1] << 8;
  }

  /// Features 8 `unit` .. 8 `unit` + 7 of the part.
  [[nodiscard]] __device__ PackedSums<Bits> unit(unsigned unit) const {
    return {{pair[4 * unit], pair[4 * unit + 1], pair[4 * unit + 2], pair[4 * unit + 3]}};
  }
  /// The sum of feature `f` of the part. Known when it is compiled.
  [[nodiscard]] __device__ std::uint32_t of(unsigned f) const { return unit(f / 8).sum(f % 8); }

 private:
  /// Adds words of nibbles: word_of_place(n, w) is the n-th one at place w of the part.
  template <unsigned Count, class WordOf>
  __device__ void add_nibbles(const WordOf& word_of_place) {
#pragma unroll
    for (unsigned w = 0; w < Words; ++w) {
      std::uint32_t all = 0, high = 0;
#pragma unroll
      for (unsigned n = 0; n < Count; ++n) {
        const std::uint32_t word = word_of_place(n, w);
        all += word;
        high += word >> 4 & 0x0F0F0F0FU;
      }
      add_bytes(pair[4 * w], pair[4 * w + 1], all - (high << 4));
      add_bytes(pair[4 * w + 2], pair[4 * w + 3], high);
    }
  }
};

}  // namespace bitgraph::level_cuda
