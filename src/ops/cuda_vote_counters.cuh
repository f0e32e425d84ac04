// SPDX-License-Identifier: Apache-2.0
// Bit-sliced counters of a thread: 32 counts side by side, bit p of all of them in plane p. Adders are chains of
// exclusive ors and majorities, one LOP3 each.
#pragma once

#include <cstdint>

namespace bitgraph::spmm_cuda {

__device__ inline std::uint32_t majority(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return (a & b) | (c & (a | b));
}

/// a becomes the sum's low bit; the carry is returned.
__device__ inline std::uint32_t add_bits(std::uint32_t& a, std::uint32_t b, std::uint32_t c) {
  const std::uint32_t carry = majority(a, b, c);
  a = a ^ b ^ c;
  return carry;
}

/// One plane of the comparison of counts with a threshold, from the lowest bit up; `result` begins as all ones.
__device__ inline std::uint32_t compare_plane(std::uint32_t result, std::uint32_t plane, std::uint32_t threshold_bit) {
  const std::uint32_t bit = 0U - threshold_bit;
  return (plane & result) | (~bit & (plane | result));
}

/// Counts below 2^Planes.
template <int Planes>
struct BitCounter {
  std::uint32_t plane[Planes] = {};

  /// Eight words, each bit of weight 2^First, to three planes from First on by carry-save adders (Harley and Seal);
  /// what they carry is returned.
  template <int First = 0>
  __device__ std::uint32_t add_low(const std::uint32_t (&word)[8]) {
    const std::uint32_t first_pair = add_bits(plane[First], word[0], word[1]);
    const std::uint32_t second_pair = add_bits(plane[First], word[2], word[3]);
    const std::uint32_t first_four = add_bits(plane[First + 1], first_pair, second_pair);
    const std::uint32_t third_pair = add_bits(plane[First], word[4], word[5]);
    const std::uint32_t fourth_pair = add_bits(plane[First], word[6], word[7]);
    const std::uint32_t second_four = add_bits(plane[First + 1], third_pair, fourth_pair);
    return add_bits(plane[First + 2], first_four, second_four);
  }

  /// Four words, to two planes.
  template <int First = 0>
  __device__ std::uint32_t add_low(const std::uint32_t (&word)[4]) {
    const std::uint32_t first_pair = add_bits(plane[First], word[0], word[1]);
    const std::uint32_t second_pair = add_bits(plane[First], word[2], word[3]);
    return add_bits(plane[First + 1], first_pair, second_pair);
  }

  /// A carry to the planes First .. End - 1; theirs is returned.
  template <int First, int End>
  __device__ std::uint32_t add_carry(std::uint32_t carry) {
#pragma unroll
    for (int p = First; p < End; ++p) {
      const std::uint32_t next = plane[p] & carry;
      plane[p] ^= carry;
      carry = next;
    }
    return carry;
  }

  __device__ void add(const std::uint32_t (&word)[8]) { static_cast<void>(add_carry<3, Planes>(add_low(word))); }
  __device__ void add(const std::uint32_t (&word)[4]) { static_cast<void>(add_carry<2, Planes>(add_low(word))); }

  /// Adds another counter plane by plane; `other(p)` is its plane p. Counts have `planes` bits at most. Returns what
  /// the last of those planes carries.
  template <class Other>
  __device__ std::uint32_t add_counter(int planes, const Other& other) {
    std::uint32_t carry = 0;
#pragma unroll
    for (int p = 0; p < Planes; ++p) {
      if (p >= planes) break;
      carry = add_bits(plane[p], other(p), carry);
    }
    return carry;
  }

  /// Which counts are at least `threshold`.
  __device__ std::uint32_t at_least(std::uint32_t threshold) const {
    std::uint32_t result = ~0U;
#pragma unroll
    for (int p = 0; p < Planes; ++p) result = compare_plane(result, plane[p], (threshold >> p) & 1U);
    return result;
  }
};

/// Of words that lie side by side.
template <int Words, int Planes>
struct Counters {
  BitCounter<Planes> of[Words];
};

}  // namespace bitgraph::spmm_cuda
