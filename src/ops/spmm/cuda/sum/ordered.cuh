// SPDX-License-Identifier: Apache-2.0
// Sums over rows sorted by length (RowOrder) on a CUDA device. A short row has a group of lanes, and neighbouring
// groups have rows of one length. A longer row has a warp; a hub has one block or several. The longest rows come
// first. Threads that share a row each add up a run of its entries, and the runs are added in their order.
#pragma once

#include "ops/spmm/cuda/plan.hpp"
#include "ops/spmm/cuda/schedule/tails.cuh"

#include <algorithm>
#include <bit>

namespace bitgraph::spmm_cuda {

/// Which rows, in order by length, are hubs and which have a warp, and which blocks those are: the ends of each. A hub
/// has some blocks, the more the longer it may be.
struct SumClasses {
  static constexpr unsigned hub_classes = 10;

  NodeId hubs, warp_rows;
  unsigned hub_blocks, warp_blocks, blocks;
  unsigned part_blocks;                 ///< of hubs that have several, the first ones
  NodeId first_hub[hub_classes];        ///< of a class, the longest rows first
  unsigned end_block[hub_classes];      ///< behind the last of a class
  std::uint32_t parts_of[hub_classes];  ///< blocks of a hub
};

/// The part of a hub that a block has.
struct HubPart {
  NodeId place;
  std::uint32_t part, parts;

  __device__ HubPart(const SumClasses& classes, unsigned block) {
    unsigned c = 0;
    unsigned begin = 0;
    while (block >= classes.end_block[c]) begin = classes.end_block[c++];
    parts = classes.parts_of[c];
    place = classes.first_hub[c] + (block - begin) / parts;
    part = (block - begin) % parts;
  }
};

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

/// The sums of a warp's groups, for each of them.
template <unsigned Group, unsigned Chunks>
__device__ void join_groups_of_warp(LaneSums<Chunks>& sum) {
#pragma unroll
  for (unsigned step = Group; step < 32; step *= 2) {
#pragma unroll
    for (unsigned c = 0; c < Chunks; ++c) {
      const auto other = [&](float value) { return __shfl_xor_sync(full_warp, value, step); };
      add(sum.of[c], {other(sum.of[c].x), other(sum.of[c].y), other(sum.of[c].z), other(sum.of[c].w)});
    }
  }
}

/// A row, or a run of its entries, for each group of lanes.
template <unsigned Group, class Args>
__device__ TakenRow take_row(const Args& args, const SumClasses& classes) {
  constexpr unsigned groups = block_threads / Group;
  constexpr unsigned groups_of_warp = 32 / Group;
  const unsigned block = blockIdx.x;
  const unsigned group = threadIdx.x / Group;
  if (block >= classes.warp_blocks) {
    const std::size_t place = std::size_t{block - classes.warp_blocks} * groups + group;
    return {args, classes.warp_rows + place, args.a.nrows};
  }
  if (block >= classes.hub_blocks) {
    const std::size_t place = std::size_t{block - classes.hub_blocks} * block_warps + threadIdx.x / 32;
    TakenRow taken(args, classes.hubs + place, classes.warp_rows);
    taken.keep_run(group % groups_of_warp, groups_of_warp);
    return taken;
  }
  const HubPart hub(classes, block);
  TakenRow taken(args, hub.place, classes.hubs);
  taken.keep_run(hub.part * groups + group, hub.parts * groups);
  return taken;
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

/// Rows may be the longer for one group the more entries there are, up to half the square root of their number; half of
/// that where most rows are long. Of even rows that are few each has a warp. A warp has rows up to four times as long,
/// where it has more than one group, and a block four times as long as those; of longer ones each block has a part. All
/// parts have room for twice the entries at most.
inline SumClasses sum_classes(const CsrPatternView& a, const RowOrderView& order, unsigned group) {
  const auto half_root = std::clamp(static_cast<unsigned>(std::bit_width(a.num_entries | 1) - 1) / 2, 7U, 12U);
  const bool long_rows = a.num_entries >= EdgeOffset{48} * a.nrows;
  const bool few_even =
      is_even(a.nrows, a.num_entries, a.longest_row) && a.num_entries <= cuda_spmm_tuning().many_entries;
  const unsigned row = few_even ? 4 : half_root - (half_root < 10 ? 3 : 2);
  const unsigned warp_row = row - (long_rows ? 1 : 0);
  const unsigned hub = group == 32 ? row + 1 : warp_row + 2;
  const unsigned part = hub + 2;
  constexpr auto longest_power = static_cast<unsigned>(std::tuple_size_v<decltype(order.at_least)> - 1);
  static_assert(longest_power < 5 + SumClasses::hub_classes, "the shortest hubs have a class");
  SumClasses classes{order.at_least[hub], order.at_least[warp_row], 0, 0, 0, 0, {}, {}, {}};
  NodeId begin = 0;
  for (unsigned c = 0; c < SumClasses::hub_classes; ++c) {
    const unsigned power = std::max(longest_power - c, hub);
    const NodeId end = order.at_least[power];
    EdgeOffset parts = (((EdgeOffset{2} << power) - 1) >> part) + 1;
    if (c == 0 && end != 0) {
      parts = std::clamp((a.longest_row >> part) + 1, parts, std::max(parts, ((2 * a.num_entries) >> part) / end));
    }
    classes.first_hub[c] = begin;
    classes.parts_of[c] = static_cast<std::uint32_t>(parts);
    classes.hub_blocks += (end - begin) * classes.parts_of[c];
    classes.end_block[c] = classes.hub_blocks;
    if (parts > 1) classes.part_blocks = classes.hub_blocks;
    begin = end;
  }
  classes.warp_blocks = classes.hub_blocks + blocks_for(classes.warp_rows - classes.hubs, block_warps);
  classes.blocks = classes.warp_blocks + blocks_for(std::size_t{a.nrows - classes.warp_rows} * group, block_threads);
  return classes;
}

}  // namespace bitgraph::spmm_cuda
