// SPDX-License-Identifier: Apache-2.0
// Floats times signs on tensor cores, exact until they are added up. A float is split into three bfloat16 that have 8
// bits of its significand each and add up to it. A product with 1 or -1 is exact too, so only the float32 sums round.
#pragma once

#include <cstdint>

namespace bitgraph::gemm_cuda {

constexpr std::uint32_t both_signs = 0x80008000U;  ///< the signs of two bfloat16
constexpr std::uint32_t both_ones = 0x3F803F80U;   ///< two bfloat16 of 1

/// sum += x w of 16 rows, 8 outputs and 16 columns: four pairs of bfloat16, two pairs of signs.
__device__ inline void multiply_add(float (&sum)[4], const std::uint32_t (&x)[4], const std::uint32_t (&w)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(w[0]), "r"(w[1]));
}

/// The rest of a float without the first 8 bits of its significand; exact.
__device__ inline float behind_bfloat16(float x) { return x - __uint_as_float(__float_as_uint(x) & 0xFFFF0000U); }

/// The upper 16 bits of two floats, in one word.
__device__ inline std::uint32_t upper_halves(float x, float y) {
  return __byte_perm(__float_as_uint(x), __float_as_uint(y), 0x7632);
}

/// Two consecutive floats of a row, split into three parts, the largest first.
__device__ inline void split(float x, float y, std::uint32_t& first, std::uint32_t& second, std::uint32_t& third) {
  first = upper_halves(x, y);
  x = behind_bfloat16(x);
  y = behind_bfloat16(y);
  second = upper_halves(x, y);
  third = upper_halves(behind_bfloat16(x), behind_bfloat16(y));
}

}  // namespace bitgraph::gemm_cuda
