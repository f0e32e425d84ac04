// SPDX-License-Identifier: Apache-2.0
// What the kernels of the binary gemm on a CUDA device share: mma m16n8k256 of bits. Their `and` is native from sm_80
// on, while `xor` is taken apart from sm_90 on and an eighth as fast, so
//     popcount(x xor w) = popcount(x) + popcount(w) - 2 popcount(x and w).
// A product is of 16 rows of X with 8 outputs, a step 256 columns, four words. Of a warp's 32 threads four in sequence,
// a quad, have one row of X (and the row eight after it) and the words of one output; of the results a thread has
// those of its rows with two neighbouring outputs.
#pragma once

#include <bitgraph/core/kernel.cuh>

#include "core/cuda/cooperative.cuh"
#include "ops/gemm/cuda/plan.hpp"
#include "ops/gemm/gemm.hpp"

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

/// One number of each row, summed over the four threads that have its words.
template <class T>
__device__ T add_quad(T value) {
  value += __shfl_xor_sync(full_warp, value, 1);
  return value + __shfl_xor_sync(full_warp, value, 2);
}

/// What an output's sum goes through; of what is missing, numbers that change nothing.
struct OutputScale {
  float scale;
  float bias;

  __device__ OutputScale(float times, float plus) : scale(times), bias(plus) {}
  template <class Args>
  __device__ OutputScale(const Args& args, std::size_t f)
      : scale(args.col_scale == nullptr ? 1.0F : __ldg(args.col_scale + f)),
        bias(args.bias == nullptr ? -0.0F : __ldg(args.bias + f)) {}
};

/// Kernels of their own, by shape; `args.keep` must be null, and neither side of the output 0.
template <class Args>
void multiply_short_rows(const Device& device, const Args& args, const Plan& chosen);
/// The warps of a block share a row's words: for few rows, however long.
template <class Args>
void multiply_few_rows(const Device& device, const Args& args);

}  // namespace bitgraph::gemm_cuda
