// SPDX-License-Identifier: Apache-2.0
// A copy of X in fp16 (IEEE binary16). A sum gathers half the bytes from it.
#pragma once

#include "core/cuda/launch.cuh"
#include "ops/spmm/cuda/block.hpp"
#include "ops/spmm/cuda/epilogue/emit.cuh"
#include "ops/spmm/spmm.hpp"

#include <cuda_fp16.h>

#include <algorithm>
#include <atomic>
#include <bit>

namespace bitgraph::spmm_cuda {

constexpr unsigned lane_values = 8;  ///< features of a lane
constexpr unsigned half_group = 8;   ///< lanes of a row of X, 64 features of it
constexpr std::uint32_t half_exponent = 0x7C00U;
constexpr std::uint32_t least_half = 0x0400U;  ///< 2^-14, below it an fp16 value has fewer bits

/// A copy of X, times its weights, in fp16, each times the same power of two, and with a row of zeros behind the
/// last.
struct Fp16Copy {
  uint4* rows;
  unsigned lanes_per_row;
  NodeId zero_row;
  std::uint32_t* inexact;  ///< `call` where some feature was rounded
  std::uint32_t call;
};

/// One of `block_threads` features spread over X, times its weight.
__device__ inline float sample(const FloatIn& x, const float* weights) {
  const auto row = static_cast<std::size_t>(std::uint64_t{threadIdx.x} * x.nrows / block_threads);
  const float weight = weights == nullptr ? 1.0F : __ldg(weights + row);
  return weight * __ldg(x.data + row * x.stride + threadIdx.x % x.ncols);
}

/// The power of two that takes the greatest of the samples of a block's threads to 2^6 .. 2^7: that is 2^9 below the
/// greatest half and 2^20 above the least.
__device__ inline float scale_for_fp16(float sample) {
  __shared__ std::uint32_t greatest_of[block_warps];
  const std::uint32_t greatest = __reduce_max_sync(full_warp, __float_as_uint(fabsf(sample)));
  if (threadIdx.x % 32 == 0) greatest_of[threadIdx.x / 32] = greatest;
  __syncthreads();
  const int exponent = static_cast<int>(__reduce_max_sync(full_warp, greatest_of[threadIdx.x % block_warps]) >> 23);
  constexpr int bias = 127;
  constexpr int not_finite = 255;
  if (exponent == 0 || exponent == not_finite) return 1;
  return __uint_as_float(static_cast<std::uint32_t>(min(bias + 6 - (exponent - bias), not_finite - 1)) << 23);
}

/// Two features in fp16, and whether rounding changed them.
__device__ inline __half2 to_fp16(float a, float b, bool& inexact) {
  const __half2 rounded = __floats2half2_rn(a, b);
  const float2 back = __half22float2(rounded);
  inexact = inexact || !(back.x == a) || !(back.y == b);
  return rounded;
}

/// The least half, of its sign, for a feature that is not zero and has become less: zero is for zero alone.
__device__ inline std::uint32_t keep_tiny(std::uint32_t half, float feature, bool& inexact) {
  if ((half & half_exponent) != 0 || feature == 0) return half;
  inexact = true;
  return least_half | (feature < 0 ? 0x8000U : 0U);
}

/// Eight features of a lane in fp16.
__device__ inline uint4 to_fp16(const float (&feature)[lane_values], float scale, bool& inexact) {
  constexpr unsigned pairs = lane_values / 2;
  __half2 rounded[pairs];
#pragma unroll
  for (unsigned p = 0; p < pairs; ++p) {
    rounded[p] = to_fp16(scale * feature[2 * p], scale * feature[2 * p + 1], inexact);
  }
  const __half2 least =
      __hmin2(__hmin2(__habs2(rounded[0]), __habs2(rounded[1])), __hmin2(__habs2(rounded[2]), __habs2(rounded[3])));
  std::uint32_t bits[pairs];
#pragma unroll
  for (unsigned p = 0; p < pairs; ++p) bits[p] = reinterpret_cast<const std::uint32_t&>(rounded[p]);
  if (!__hbge2(least, __half2half2(__ushort_as_half(least_half)))) {
#pragma unroll
    for (unsigned p = 0; p < pairs; ++p) {
      bits[p] = keep_tiny(bits[p] & 0xFFFFU, feature[2 * p], inexact) |
                keep_tiny(bits[p] >> 16, feature[2 * p + 1], inexact) << 16;
    }
  }
  return {bits[0], bits[1], bits[2], bits[3]};
}

/// Rows of X times their weights, by 2^log2_lanes lanes a row, `Rounds` rows a lane.
template <unsigned Rounds>
__global__ void __launch_bounds__(block_threads)
    spmm_fill_fp16(const __grid_constant__ FloatIn x, const float* weights, Fp16Copy copy, unsigned log2_lanes) {
  trigger_dependent_launch();
  const unsigned rows_of_block = block_threads >> log2_lanes;
  const std::size_t first_row = std::size_t{blockIdx.x} * rows_of_block * Rounds + (threadIdx.x >> log2_lanes);
  const unsigned lane = (blockIdx.y << log2_lanes) + (threadIdx.x & ((1U << log2_lanes) - 1));
  const std::size_t first = std::size_t{lane} * lane_values;
  wait_for_previous_kernel();
  float feature[Rounds][lane_values];
#pragma unroll
  for (unsigned k = 0; k < Rounds; ++k) {
    const std::size_t row = first_row + k * rows_of_block;
    const auto* const from = reinterpret_cast<const float4*>(x.data + row * x.stride + first);
    float4 four[2] = {};
    float weight = 1;
    if (row < x.nrows) {
      if (first < x.ncols) four[0] = __ldcs(from);
      if (first + own_features < x.ncols) four[1] = __ldcs(from + 1);
      if (weights != nullptr) weight = __ldg(weights + row);
    }
#pragma unroll
    for (unsigned h = 0; h < 2; ++h) {
      feature[k][4 * h] = weight * four[h].x;
      feature[k][4 * h + 1] = weight * four[h].y;
      feature[k][4 * h + 2] = weight * four[h].z;
      feature[k][4 * h + 3] = weight * four[h].w;
    }
  }
  const float scale = scale_for_fp16(sample(x, weights));
  bool inexact = false;
#pragma unroll
  for (unsigned k = 0; k < Rounds; ++k) {
    const std::size_t row = first_row + k * rows_of_block;
    if (row > x.nrows || lane >= copy.lanes_per_row) continue;
    if (first + lane_values > x.ncols) {
#pragma unroll
      for (unsigned f = 0; f < lane_values; ++f) feature[k][f] = first + f < x.ncols ? feature[k][f] : 0;
    }
    copy.rows[row * copy.lanes_per_row + lane] = to_fp16(feature[k], scale, inexact);
  }
  if (__syncthreads_or(inexact ? 1 : 0) != 0 && threadIdx.x == 0) *copy.inexact = copy.call;
}

/// `from` bytes behind the beginning of the device's workspace. X is in fours.
inline Fp16Copy copy_as_fp16(const Device& device, const FloatIn& x, const float* weights, std::size_t from) {
  // What tells this copy from earlier ones; where a recorded call is repeated, X may count as rounded once it was.
  static std::atomic<std::uint32_t> calls{0};
  constexpr unsigned rounds = cuda_spmm_tuning().sum.fp16_copy_rows;
  const auto lanes = static_cast<unsigned>((x.ncols + lane_values - 1) / lane_values);
  const std::size_t bytes = (x.nrows + 1) * lanes * sizeof(uint4);
  auto* const to = static_cast<std::byte*>(device.workspace(from + bytes + sizeof(std::uint32_t))) + from;
  const Fp16Copy copy{reinterpret_cast<uint4*>(to), lanes, static_cast<NodeId>(x.nrows),
                      reinterpret_cast<std::uint32_t*>(to + bytes), ++calls};
  const auto log2_lanes = std::min(static_cast<unsigned>(std::bit_width(lanes - 1)), 5U);
  const dim3 grid(blocks_for((x.nrows + 1) << log2_lanes, block_threads * rounds), ((lanes - 1) >> log2_lanes) + 1);
  static ProgrammaticKernel kernel(spmm_fill_fp16<rounds>, "spmm_fill_fp16");
  kernel.launch(device, grid, block_threads, 0, x, weights, copy, log2_lanes);
  return copy;
}

}  // namespace bitgraph::spmm_cuda
