// SPDX-License-Identifier: Apache-2.0
// Scores as floats, for sums in which each neighbour has a scale. 2^23 + n is a float whose last bits are n; a
// subtraction takes 2^23 and half of the bits away, and leaves half a product of signs, a whole number.
#pragma once

#include <cstdint>

namespace bitgraph::spmm_cuda::ordered {

constexpr std::uint32_t two_to_23 = 0x4B000000U;  ///< as a float

/// 2^23 + n.
__device__ inline float whole_float(std::uint32_t n) { return __uint_as_float(two_to_23 | n); }

/// 2^23 + the byte of a word that is so many bytes from the low one.
__device__ inline float whole_float_of_byte(std::uint32_t word, unsigned byte) {
  return __uint_as_float(__byte_perm(word, two_to_23, 0x7650U + byte));
}

/// An output from the sum of scales times halves of products, and that of the scales.
template <class Args>
__device__ float scaled_output(const Args& args, float sum, float scales, unsigned at, float row_scale) {
  float y = 2 * sum;
  if (args.scale != nullptr) y *= __ldg(args.scale + at);
  if (args.bias != nullptr) y += scales * __ldg(args.bias + at);
  return y * row_scale;
}

}  // namespace bitgraph::spmm_cuda::ordered
