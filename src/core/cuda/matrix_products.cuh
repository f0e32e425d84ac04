// SPDX-License-Identifier: Apache-2.0
// The matrix instructions of bytes and of bits that all devices from compute capability 8.0 on have: 16 rows of X by 8
// outputs. Of a warp's 32 threads four in sequence, a quad, have one row of X, the row eight after it and the words of
// one output; of the sums a thread has those of its rows with two neighbouring outputs, 2 q and 2 q + 1.
#pragma once

#include <cstdint>

namespace bitgraph::mma {

/// sum += x w, 32 columns of bytes without signs. `x`: columns 4 q .. 4 q + 3 of both rows, then the same 16 behind.
__device__ inline void multiply_bytes(std::int32_t (&sum)[4], const std::uint32_t (&x)[4], std::uint32_t w_first,
                                      std::uint32_t w_second) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(w_first), "r"(w_second));
}

/// The same of 256 columns of bits, a word of them where that has four bytes.
__device__ inline void multiply_bits(std::int32_t (&sum)[4], const std::uint32_t (&x)[4], std::uint32_t w_first,
                                     std::uint32_t w_second) {
  asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(w_first), "r"(w_second));
}

}  // namespace bitgraph::mma
