// SPDX-License-Identifier: Apache-2.0
// Which blocks have which rows of a RowOrder, and the sums of a warp's groups that share a row.
#pragma once

#include <bitgraph/core/kernel.cuh>
#include <bitgraph/formats/views.hpp>

#include "ops/spmm/cuda/plan.hpp"
#include "ops/spmm/cuda/schedule/taken_row.cuh"
#include "ops/spmm/cuda/sum/lane_sums.cuh"

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

/// Rows may be the longer for one group the more entries there are, up to half the square root of their number; half of
/// that where most rows are long. Of even rows that are few each has a warp. A warp has rows up to four times as long,
/// where it has more than one group, and a block four times as long as those; of longer ones each block has a part. All
/// parts have room for twice the entries at most.
inline SumClasses sum_classes(const CsrPatternView& a, const RowOrderView& order, unsigned group) {
  const CudaSumTuning& t = cuda_spmm_tuning().sum;
  const auto root =
      std::clamp(static_cast<unsigned>(std::bit_width(a.num_entries | 1) - 1) / 2, t.least_root, t.most_root);
  const bool long_rows = a.num_entries >= t.long_mean * a.nrows;
  const bool few_even = is_even(a.nrows, a.num_entries, a.longest_row) && a.num_entries <= t.many_entries;
  const unsigned below_root = root < t.few_root ? t.below_root_of_few : t.below_root_of_many;
  const unsigned row = few_even ? t.even_row_power : root - below_root;
  const unsigned warp_row = row - (long_rows ? 1 : 0);
  const unsigned hub = group == 32 ? row + t.warp_powers_of_lone : warp_row + t.warp_powers;
  const unsigned part = hub + t.block_powers;
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
