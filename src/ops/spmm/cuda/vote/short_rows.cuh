// SPDX-License-Identifier: Apache-2.0
// The vote over short rows: each set of lanes has one row. For a binary output a lane counts up to four words, which
// saves instructions. For numbers a lane counts one word, because writing them takes most of the instructions.
#pragma once

#include "ops/spmm/cuda/block.hpp"
#include "ops/spmm/cuda/vote/neighbors.cuh"

namespace bitgraph::spmm_cuda {

/// Where no row is long: a row for each set of lanes, `warp_rows` of them a warp.
template <int Lanes, int Words, class Args>
__global__ void __launch_bounds__(block_threads)
    spmm_vote_short(const __grid_constant__ Args args, unsigned warp_rows, unsigned blocks) {
  __shared__ alignas(16) std::uint32_t scratch[block_warps][scratch_words];
  trigger_dependent_launch();
  const unsigned slice = blockIdx.x / blocks;
  const unsigned block = blockIdx.x - slice * blocks;
  const unsigned set = threadIdx.x % 32 / Lanes;
  const std::size_t place = (std::size_t{block} * block_warps + threadIdx.x / 32) * warp_rows + set;
  const unsigned word = slice * most_words + threadIdx.x % Lanes * Words;
  const bool exists = set < warp_rows && place < args.a.nrows;
  const EdgeOffset begin = exists ? __ldg(args.a.row_ptr + place) : 0;
  const auto n = exists ? static_cast<std::uint32_t>(__ldg(args.a.row_ptr + place + 1) - begin) : 0U;
  const unsigned longest = __reduce_max_sync(full_warp, n);
  Counters<Words, short_planes> counters;
  count_in_turns<1, short_planes, Vote<Words>::batch>(counters, Neighbors<Words>(args.x, word), args.a.col_ind + begin,
                                                      0, n, longest, Vote<Words>::batch);
  const Counted counted{exists && word < half_words(args.x) ? static_cast<NodeId>(place) : no_row, word, n};
  emit_counters<false>(args, counters, counted, warp_rows * Lanes, static_cast<int>(bits_of(longest)),
                       scratch[threadIdx.x / 32]);
}

}  // namespace bitgraph::spmm_cuda
