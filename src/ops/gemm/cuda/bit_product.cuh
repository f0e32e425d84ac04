// SPDX-License-Identifier: Apache-2.0
// The matrix instruction for bits that all devices from compute capability 8.0 on have. A product is of 16 rows of X
// with 8 outputs, a step 256 columns, four words. Of a warp's 32 threads four in sequence, a quad, have one row of X
// (and the row eight after it) and the words of one output; of the results a thread has those of its rows with two
// neighbouring outputs.
#pragma once

#include <cstdint>

namespace bitgraph::gemm_cuda {

/// A thread's words of two rows eight apart, for one instruction: those of X, or of X and of what counts of X.
struct RowWords {
  std::uint64_t upper;
  std::uint64_t lower;
};

/// sum += x w. Which bits of a row are which does not matter, as long as X and W agree: a thread has 64 in sequence.
__device__ inline void multiply_add(int (&sum)[4], const RowWords& x, std::uint64_t w) {
  asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(static_cast<std::uint32_t>(x.upper)), "r"(static_cast<std::uint32_t>(x.lower)),
        "r"(static_cast<std::uint32_t>(x.upper >> 32)), "r"(static_cast<std::uint32_t>(x.lower >> 32)),
        "r"(static_cast<std::uint32_t>(w)), "r"(static_cast<std::uint32_t>(w >> 32)));
}

}  // namespace bitgraph::gemm_cuda
