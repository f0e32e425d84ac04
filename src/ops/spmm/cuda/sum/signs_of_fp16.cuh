// SPDX-License-Identifier: Apache-2.0
// Signs of sums of floats on a CUDA device, from half the bytes of X, by rows in order of length. Tensor cores add up a
// copy of X in fp16, and the powers of two that bound its rounding, in fp32. A sum further from zero than rounding
// can have taken has the sign of the sum over X; of the few others the warp that has them sums up X itself. Hubs of
// several blocks are summed up from X at once: the longer a row, the more of its sums are near zero.
#pragma once

#include "core/cuda/launch.cuh"
#include "ops/spmm/cuda/block.hpp"
#include "ops/spmm/cuda/epilogue/emit.cuh"
#include "ops/spmm/cuda/schedule/tails.cuh"
#include "ops/spmm/cuda/sum/classes.cuh"
#include "ops/spmm/cuda/sum/fp16.cuh"
#include "ops/spmm/cuda/sum/readers.cuh"

namespace bitgraph::spmm_cuda {

/// A lane's sums, and those of the powers of two at or below the magnitudes: 2^-11 of them is what rounding took at
/// most.
struct Fp16Sums {
  float sum[lane_values];
  float power[lane_values];

  __device__ void clear() {
#pragma unroll
    for (unsigned k = 0; k < lane_values; ++k) sum[k] = power[k] = 0;
  }

  /// For a whole warp: a product with the unit matrix adds four fp16 values of each lane to its own four numbers.
  __device__ void add(const uint4& values, std::uint32_t unit) {
    constexpr std::uint32_t both = half_exponent << 16 | half_exponent;
    add(sum, values.x, values.y, unit);
    add(sum + 4, values.z, values.w, unit);
    add(power, values.x & both, values.y & both, unit);
    add(power + 4, values.z & both, values.w & both, unit);
  }

  __device__ void add(const Fp16Sums& other) {
#pragma unroll
    for (unsigned k = 0; k < lane_values; ++k) {
      sum[k] += other.sum[k];
      power[k] += other.power[k];
    }
  }

  /// The sums of a warp's groups, for each of them.
  __device__ void join_groups_of_warp() {
#pragma unroll
    for (unsigned step = half_group; step < 32; step *= 2) {
#pragma unroll
      for (unsigned k = 0; k < lane_values; ++k) {
        sum[k] += __shfl_xor_sync(full_warp, sum[k], step);
        power[k] += __shfl_xor_sync(full_warp, power[k], step);
      }
    }
  }

  /// The lane's part of the unit matrix, 8 by 8.
  [[nodiscard]] static __device__ std::uint32_t unit_part() {
    constexpr std::uint32_t one = 0x3C00U;
    const unsigned column = threadIdx.x % 32 / 4;
    const unsigned row = threadIdx.x % 4 * 2;
    return column == row ? one : column == row + 1 ? one << 16 : 0;
  }

 private:
  static __device__ void add(float* to, std::uint32_t first, std::uint32_t second, std::uint32_t unit) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
                 : "r"(first), "r"(second), "r"(unit));
  }
};

template <unsigned Count>
__device__ void add_fp16(Fp16Sums& sums, const Fp16Copy& copy, const uint4* own, NodeId column, unsigned source,
                         std::uint32_t unit) {
  uint4 values[Count];
#pragma unroll
  for (unsigned u = 0; u < Count; ++u) {
    const NodeId row = __shfl_sync(full_warp, column, source + u);
    values[u] = __ldg(own + std::size_t{row} * copy.lanes_per_row);
  }
#pragma unroll
  for (unsigned u = 0; u < Count; ++u) sums.add(values[u], unit);
}

/// Sums of `n` neighbours for each group of lanes; a lane has a column of its row ahead, the row of zeros behind the
/// last. For a whole warp.
__device__ inline Fp16Sums sum_of_fp16(const Fp16Copy& copy, unsigned lane_of_row, const NodeId* cols, std::uint32_t n,
                                       NodeId next) {
  const unsigned own = threadIdx.x % half_group;
  const unsigned first_lane = threadIdx.x % 32 - own;
  const std::uint32_t unit = Fp16Sums::unit_part();
  const uint4* const rows = copy.rows + min(lane_of_row, copy.lanes_per_row - 1);
  const std::uint32_t longest = __reduce_max_sync(full_warp, n);
  Fp16Sums sums;
  sums.clear();
#pragma unroll 1
  for (std::uint32_t at = 0; at < longest; at += half_group) {
    const NodeId column = next;
    const std::uint32_t ahead = at + half_group + own;
    next = ahead < n ? __ldg(cols + ahead) : copy.zero_row;
    if (longest - at > half_group / 2) {
      add_fp16<half_group>(sums, copy, rows, column, first_lane, unit);
    } else {
      add_fp16<half_group / 2>(sums, copy, rows, column, first_lane, unit);
    }
  }
  return sums;
}

/// The sum of a feature of X over a row that `Team` lanes have; for each lane. For a whole warp.
template <unsigned Team, class Args>
__device__ float sum_of_floats(const Args& args, const TakenRow& taken, std::size_t feature) {
  constexpr unsigned batch = Team == 32 ? cuda_spmm_tuning().sum.open_batch_of_warp : cuda_spmm_tuning().sum.open_batch;
  const float* const at = args.x.data + feature;
  float sum = 0;
#pragma unroll 1
  for (std::uint32_t begin = threadIdx.x % Team; begin < taken.n; begin += batch * Team) {
    NodeId column[batch];
    float value[batch];
#pragma unroll
    for (unsigned u = 0; u < batch; ++u) column[u] = __ldg(taken.columns + min(begin + u * Team, taken.n - 1));
#pragma unroll
    for (unsigned u = 0; u < batch; ++u) value[u] = __ldg(at + column[u] * args.x.stride);
    if (args.col_scale != nullptr) {
#pragma unroll
      for (unsigned u = 0; u < batch; ++u) value[u] *= __ldg(args.col_scale + column[u]);
    }
#pragma unroll
    for (unsigned u = 0; u < batch; ++u) {
      if (begin + u * Team < taken.n) sum += value[u];
    }
  }
  __syncwarp();
#pragma unroll
  for (unsigned step = 1; step < Team; step *= 2) sum += __shfl_xor_sync(full_warp, sum, step);
  return sum;
}

constexpr std::uint32_t joins = 2 + block_warps;  ///< additions of sums at most, behind those of a group

/// The signs of a lane's eight features, and which of them may be other ones: a bit each.
struct Fp16Signs {
  std::uint32_t signs = 0;
  std::uint32_t open = 0;
  std::size_t first;  ///< feature

  /// Of a row of n entries, added up in runs of up to `chain`.
  __device__ Fp16Signs(const Fp16Sums& sums, const Fp16Copy& copy, std::uint32_t n, std::uint32_t chain,
                       std::size_t ncols)
      : first((std::size_t{blockIdx.y} * half_group + threadIdx.x % half_group) * lane_values) {
    // Tensor cores may cut what they add and the sum: less than 1.5 2^-23 of a sum of magnitudes each time.
    const float of_power = 0x1.01p-11F + 0x1.8p-22F * static_cast<float>(chain + joins);
    const float of_row = 0x1.01p-14F * static_cast<float>(n);
#pragma unroll
    for (unsigned k = 0; k < lane_values; ++k) {
      if (sums.sum[k] >= 0) signs |= 1U << k;
      const bool is_decided = fabsf(sums.sum[k]) > of_power * sums.power[k] + of_row || sums.power[k] == 0;
      if (!is_decided) open |= 1U << k;
    }
    if (n == 0 || __ldg(copy.inexact) != copy.call) open = 0;
    open &= exist(ncols);
  }

  /// Those that there are.
  [[nodiscard]] __device__ std::uint32_t exist(std::size_t ncols) const {
    return feature_mask(ncols, static_cast<unsigned>(first / 32)) >> first % 32 & 0xFFU;
  }

  [[nodiscard]] __device__ unsigned first_open() const {
    return static_cast<unsigned>(__ffs(static_cast<int>(open))) - 1;
  }
  __device__ void decide(unsigned k, float sum) {
    open &= ~(1U << k);
    signs = (signs & ~(1U << k)) | (sum >= 0 ? 1U : 0U) << k;
  }

  /// A byte a lane; no_row for none.
  template <class Args>
  __device__ void write(const Args& args, NodeId row) const {
    const std::size_t byte = first / lane_values;
    if (row == no_row || byte >= args.out.words_per_row * sizeof(std::uint64_t)) return;
    reinterpret_cast<std::uint8_t*>(args.out.words + std::size_t{row} * args.out.words_per_row)[byte] =
        static_cast<std::uint8_t>(signs & exist(args.out.ncols));
  }
};

/// Sums up X for the open signs of rows that have at most `longest` entries. Of short rows each group does so for its
/// first one, then for the next; of longer ones the warp. For a whole warp.
template <class Args>
__device__ void decide_open(const Args& args, Fp16Signs& of, NodeId row, std::uint32_t longest) {
  constexpr std::uint32_t short_row = cuda_spmm_tuning().sum.fp16_short_row;
  const unsigned lane = threadIdx.x % 32;
  const unsigned own = lane % half_group;
  for (std::uint32_t left = __ballot_sync(full_warp, of.open != 0); left != 0;
       left = __ballot_sync(full_warp, of.open != 0)) {
    const bool by_groups = longest <= short_row;
    const std::uint32_t of_team = by_groups ? left >> (lane - own) & ((1U << half_group) - 1) : left;
    const unsigned source =
        (by_groups ? lane - own : 0) + static_cast<unsigned>(max(__ffs(static_cast<int>(of_team)), 1)) - 1;
    const unsigned k = __shfl_sync(full_warp, of.first_open(), source);
    const NodeId its_row = __shfl_sync(full_warp, row, source);
    const std::size_t feature = __shfl_sync(full_warp, of.first, source) + k;
    const TakenRow taken(args, of_team == 0 ? no_row : its_row);
    const float sum =
        by_groups ? sum_of_floats<half_group>(args, taken, feature) : sum_of_floats<32>(args, taken, feature);
    if (of_team != 0 && lane == source) of.decide(k, sum);
  }
}

/// A hub that a block has by itself.
template <class Args>
__device__ void signs_of_hub(const Args& args, const Fp16Copy& copy, const TakenRow& hub) {
  __shared__ Fp16Sums of_warp[block_warps][half_group];
  __shared__ float again[block_warps];
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  const unsigned own = threadIdx.x % half_group;
  TakenRow run = hub;
  run.keep_run(threadIdx.x / half_group, block_threads / half_group);
  const NodeId column = own < run.n ? __ldg(run.columns + own) : copy.zero_row;
  wait_for_previous_kernel();
  Fp16Sums sums = sum_of_fp16(copy, blockIdx.y * half_group + own, run.columns, run.n, column);
  sums.join_groups_of_warp();
  if (lane < half_group) of_warp[warp][own] = sums;
  __syncthreads();
  sums = of_warp[0][own];
#pragma unroll 1
  for (unsigned w = 1; w < block_warps; ++w) sums.add(of_warp[w][own]);
  Fp16Signs of(sums, copy, hub.n, run.n, args.out.ncols);
  run = hub;
  run.keep_run(warp, block_warps);
  for (std::uint32_t left = __ballot_sync(full_warp, of.open != 0 && lane < half_group); left != 0;
       left = __ballot_sync(full_warp, of.open != 0 && lane < half_group)) {
    const unsigned source = static_cast<unsigned>(__ffs(static_cast<int>(left))) - 1;
    const unsigned k = __shfl_sync(full_warp, of.first_open(), source);
    const float sum = sum_of_floats<32>(args, run, __shfl_sync(full_warp, of.first, source) + k);
    __syncthreads();
    if (lane == 0) again[warp] = sum;
    __syncthreads();
    float all = 0;
#pragma unroll
    for (const float part : again) all += part;
    if (own == source) of.decide(k, all);
  }
  of.write(args, threadIdx.x < half_group ? hub.row : no_row);
}

/// Args are those of spmm_sum_ordered, as which hubs of several blocks go; `classes` are made for half_group lanes.
template <class Args>
__global__ void __launch_bounds__(block_threads, cuda_spmm_tuning().sum.fp16_blocks)
    spmm_signs_of_fp16(const __grid_constant__ Args args, const __grid_constant__ Fp16Copy copy,
                       const __grid_constant__ SumClasses classes, Tails tails) {
  trigger_dependent_launch();
  if (blockIdx.x < classes.hub_blocks) {
    const HubPart hub(classes, blockIdx.x);
    if (hub.parts > 1) return sum_ordered<2 * half_group>(args, classes, tails);
    return signs_of_hub(args, copy, TakenRow(args, hub.place, classes.hubs));
  }
  const TakenRow taken = take_row<half_group>(args, classes);
  const unsigned own = threadIdx.x % half_group;
  const NodeId column = own < taken.n ? __ldg(taken.columns + own) : copy.zero_row;
  wait_for_previous_kernel();
  Fp16Sums sums = sum_of_fp16(copy, blockIdx.y * half_group + own, taken.columns, taken.n, column);
  std::uint32_t n = taken.n;
  bool writes = true;
  if (blockIdx.x < classes.warp_blocks) {
    sums.join_groups_of_warp();
    n = __reduce_add_sync(full_warp, own == 0 ? n : 0);
    writes = threadIdx.x % 32 < half_group;
  }
  Fp16Signs of(sums, copy, n, taken.n, args.out.ncols);
  const NodeId row = writes ? taken.row : no_row;
  if (row == no_row) of.open = 0;
  decide_open(args, of, row, __reduce_max_sync(full_warp, n));
  of.write(args, row);
}

/// X is read in fours as well.
template <class Out>
void start_signs_of_fp16(const Device& device, const SpmmArgs<CsrPatternView, FloatIn, Out>& args) {
  constexpr unsigned group = 2 * half_group;
  const SpmmArgs<CsrPatternView, AlignedFloats, Plain<Out>> plain{
      args.a,        in_fours(args.x.data, args.x.stride, args.x.ncols), Plain<Out>(args.out), args.col_scale, {},
      args.row_order};
  const unsigned slices = num_slices<group>(args.out);
  const SumClasses classes = sum_classes(args.a, args.row_order, half_group);
  const std::size_t tail_bytes = Tails::bytes<group, 1>(classes.part_blocks, slices);
  const Fp16Copy copy = copy_as_fp16(device, args.x, args.col_scale, tail_bytes);
  static ProgrammaticKernel kernel(spmm_signs_of_fp16<std::remove_cvref_t<decltype(plain)>>, "spmm_signs_of_fp16");
  kernel.launch(device, dim3(classes.blocks, slices), block_threads, 0, plain, copy, classes,
                Tails::in_workspace(device, tail_bytes, classes.part_blocks, slices));
}

}  // namespace bitgraph::spmm_cuda
