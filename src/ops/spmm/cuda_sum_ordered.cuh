// SPDX-License-Identifier: Apache-2.0
// Sums over rows in order by length (RowOrder) on a CUDA device: short rows have a group of lanes each, and
// neighbouring groups rows of one length; longer ones a warp, hubs a block. The longest rows come first. Who shares a
// row adds up a run of its entries, and the runs are added in their order.
#pragma once

#include "ops/spmm/cuda_sum.cuh"
#include "ops/spmm/few_features.hpp"

#include <algorithm>
#include <bit>

namespace bitgraph::spmm_cuda {

/// Which rows, in order by length, have a block and which a warp, and which blocks those are: the ends of each.
struct SumClasses {
  NodeId hubs, warp_rows;
  unsigned warp_blocks, blocks;
};

template <unsigned Group, class Args>
__global__ void __launch_bounds__(block_threads)
    spmm_sum_ordered(const __grid_constant__ Args args, const __grid_constant__ SumClasses classes) {
  using Out = std::remove_cvref_t<decltype(args.out)>;
  constexpr unsigned chunks = ReaderOfArgs<Args>::chunks;
  constexpr unsigned groups = block_threads / Group;
  constexpr unsigned groups_of_warp = 32 / Group;
  __shared__ FrameOf<Group, chunks, Out> frame;
  __shared__ float4 partial[chunks][block_threads];
  let_next_begin();
  if constexpr (is_framed<Out>) {
    wait_for_previous();
    frame.fill(args.epilogue, args.out.ncols);
    __syncthreads();
  }
  const std::size_t first = first_feature<Group, chunks>();
  const unsigned group = threadIdx.x / Group;
  if (blockIdx.x >= classes.warp_blocks) {
    const std::size_t place = classes.warp_rows + std::size_t{blockIdx.x - classes.warp_blocks} * groups + group;
    const TakenRow taken(args, place, args.a.nrows);
    emit_row<Group>(args, taken.row, first, sum_of_columns<Group>(args, taken.columns, taken.n, first), frame);
  } else if (blockIdx.x >= classes.hubs) {
    const std::size_t place = classes.hubs + std::size_t{blockIdx.x - classes.hubs} * block_warps + threadIdx.x / 32;
    TakenRow taken(args, place, classes.warp_rows);
    taken.keep_run(group % groups_of_warp, groups_of_warp);
    LaneSums<chunks> sum = sum_of_columns<Group>(args, taken.columns, taken.n, first);
#pragma unroll
    for (unsigned step = Group; step < 32; step *= 2) {
#pragma unroll
      for (unsigned c = 0; c < chunks; ++c) {
        const auto other = [&](float value) { return __shfl_xor_sync(full_warp, value, step); };
        add(sum.of[c], {other(sum.of[c].x), other(sum.of[c].y), other(sum.of[c].z), other(sum.of[c].w)});
      }
    }
    emit_row<Group>(args, group % groups_of_warp == 0 ? taken.row : no_row, first, sum, frame);
  } else {
    TakenRow taken(args, blockIdx.x, classes.hubs);
    taken.keep_run(group, groups);
    const LaneSums<chunks> part = sum_of_columns<Group>(args, taken.columns, taken.n, first);
#pragma unroll
    for (unsigned c = 0; c < chunks; ++c) partial[c][threadIdx.x] = part.of[c];
    __syncthreads();
    if (group != 0) return;
    LaneSums<chunks> sum;
    for (unsigned g = 0; g < groups; ++g) {
#pragma unroll
      for (unsigned c = 0; c < chunks; ++c) add(sum.of[c], partial[c][g * Group + threadIdx.x]);
    }
    emit_row<Group>(args, taken.row, first, sum, frame);
  }
}

/// Rows may be the longer for one group the more entries there are, about an eighth of the square root of their number;
/// half of that where most rows are long.
inline SumClasses sum_classes(const CsrPatternView& a, const RowOrderView& order, unsigned group) {
  const std::size_t half_root = static_cast<std::size_t>(std::bit_width(a.num_entries | 1) - 1) / 2;
  const bool long_rows = a.num_entries >= EdgeOffset{48} * a.nrows;
  const std::size_t warp_row = std::clamp<std::size_t>(half_root, 7, 11) - (long_rows ? 4 : 3);
  const std::size_t hub = warp_row + 2;
  SumClasses classes{order.at_least[hub], order.at_least[warp_row], 0, 0};
  classes.warp_blocks = classes.hubs + blocks_for(classes.warp_rows - classes.hubs, block_warps);
  classes.blocks = classes.warp_blocks + blocks_for(std::size_t{a.nrows - classes.warp_rows} * group, block_threads);
  return classes;
}

/// Whether rows in order are quicker than equal spans of rows and entries: of up to 64 features, where there is an
/// order, and neither are most rows very long nor has a hub's block more to do than the others have time for.
inline bool sum_in_order(const CsrPatternView& a, const RowOrderView& order, std::size_t features) {
  constexpr EdgeOffset most_entries_a_row = 128;
  constexpr EdgeOffset short_hub = 1024;
  constexpr EdgeOffset entries_a_hub_entry = 85;
  return order.row != nullptr && features <= few_features && a.num_entries < most_entries_a_row * a.nrows &&
         a.longest_row <= std::max(short_hub, a.num_entries / entries_a_hub_entry);
}

}  // namespace bitgraph::spmm_cuda
