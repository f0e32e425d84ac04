// SPDX-License-Identifier: Apache-2.0
// What the kernels of the binary gemm on a CUDA device share. Their `and` is native from sm_80 on, while `xor` is taken
// apart from sm_90 on and an eighth as fast, so
//     popcount(x xor w) = popcount(x) + popcount(w) - 2 popcount(x and w).
#pragma once

#include <bitgraph/core/kernel.cuh>

#include "core/cuda/cooperative.cuh"
#include "ops/gemm/cuda/bit_product.cuh"
#include "ops/gemm/cuda/plan.hpp"
#include "ops/gemm/gemm.hpp"

#include <cstdint>

namespace bitgraph::gemm_cuda {

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
