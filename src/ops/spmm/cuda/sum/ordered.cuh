// SPDX-License-Identifier: Apache-2.0
// Sums over rows sorted by length (RowOrder) on a CUDA device. A short row has a group of lanes, and neighbouring
// groups have rows of one length. A longer row has a warp; a hub has one block or several. The longest rows come
// first. Threads that share a row each add up a run of its entries, and the runs are added in their order.
#pragma once

#include "core/cuda/launch.cuh"
#include "ops/spmm/cuda/block.hpp"
#include "ops/spmm/cuda/epilogue/emit.cuh"
#include "ops/spmm/cuda/schedule/tails.cuh"
#include "ops/spmm/cuda/sum/classes.cuh"
#include "ops/spmm/cuda/sum/readers.cuh"

#include <algorithm>
#include <bit>

namespace bitgraph::spmm_cuda {

/// The sums of a block's groups, in their order; for the first of them.
template <unsigned Group, unsigned Chunks>
__device__ LaneSums<Chunks> join_groups(const float4 (&partial)[Chunks][block_threads]) {
  LaneSums<Chunks> sum;
#pragma unroll 4
  for (unsigned at = threadIdx.x; at < block_threads; at += Group) {
#pragma unroll
    for (unsigned c = 0; c < Chunks; ++c) add(sum.of[c], partial[c][at]);
  }
  return sum;
}

/// The sums of a hub from those of a block's groups, and of its blocks. False for those that do not have them.
template <unsigned Group, unsigned Chunks>
__device__ bool join_hub(LaneSums<Chunks>& sum, float4 (&partial)[Chunks][block_threads], const SumClasses& classes,
                         const Tails& tails) {
#pragma unroll
  for (unsigned c = 0; c < Chunks; ++c) partial[c][threadIdx.x] = sum.of[c];
  __syncthreads();
  if (threadIdx.x >= Group) return false;
  sum = join_groups<Group>(partial);
  const HubPart hub(classes, blockIdx.x);
  if (hub.part + 1 != hub.parts) {
    tails.template leave<Group>(sum);
    return false;
  }
  if (hub.parts > 1) {
    LaneSums<Chunks> all = tails.template take<Group, Chunks>(blockIdx.x - hub.part);
    add(all, sum);
    sum = all;
  }
  return true;
}

/// A block's rows, or its part of one.
template <unsigned Group, class Args>
__device__ void sum_ordered(const Args& args, const SumClasses& classes, const Tails& tails) {
  using Out = std::remove_cvref_t<decltype(args.out)>;
  using Reader = ReaderOfArgs<Args>;
  __shared__ FrameOf<Group, Reader::chunks, Out> frame;
  __shared__ float4 partial[Reader::chunks][block_threads];
  const TakenRow taken = take_row<Group>(args, classes);
  SummedRow<Group, Args> summed(args, taken, frame);
  bool writes = true;
  if (blockIdx.x < classes.hub_blocks) {
    writes = join_hub<Group>(summed.sum, partial, classes, tails);
  } else if (blockIdx.x < classes.warp_blocks) {
    join_groups_of_warp<Group>(summed.sum);
    writes = threadIdx.x % 32 < Group;
  }
  summed.emit(args, writes ? taken.row : no_row, frame);
}

template <unsigned Group, class Args>
__global__ void __launch_bounds__(block_threads, row_blocks<ReaderOfArgs<Args>>)
    spmm_sum_ordered(const __grid_constant__ Args args, const __grid_constant__ SumClasses classes, Tails tails) {
  trigger_dependent_launch();
  sum_ordered<Group>(args, classes, tails);
}

}  // namespace bitgraph::spmm_cuda
