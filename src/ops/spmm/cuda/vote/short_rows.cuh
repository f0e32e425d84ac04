// SPDX-License-Identifier: Apache-2.0
// The vote over short rows: each set of lanes has one row. For a binary output a lane counts up to four words, which
// saves instructions. For numbers a lane counts one word, because writing them takes most of the instructions.
#pragma once

#include "ops/spmm/cuda/vote/neighbors.cuh"

namespace bitgraph::spmm_cuda {

template <int Words, int Planes, class Args>
__device__ void store_votes(const Args& args, const Counters<Words, Planes>& counters, const Counted& counted) {
  if (counted.row == no_row) return;
  std::uint32_t votes[Words];
#pragma unroll
  for (int w = 0; w < Words; ++w) {
    votes[w] = counters.of[w].at_least(counted.n / 2 + counted.n % 2) & feature_mask(args.x.ncols, counted.word + w);
  }
  Vote<Words>::store(half_word(args.out, counted.row, counted.word), votes);
}

/// Writes what the lanes have counted: lanes with no_row have nothing. `scratch` is of the warp, for one word of each
/// or, `AtOnce`, for all.
template <bool AtOnce, int Words, int Planes, class Args>
__device__ void emit_counters(const Args& args, const Counters<Words, Planes>& counters, Counted counted,
                              unsigned slots, int planes, std::uint32_t* scratch) {
  using Out = std::remove_cvref_t<decltype(args.out)>;
  if constexpr (is_bits<Out> && is_plain<Out>) {
    store_votes(args, counters, counted);
  } else if constexpr (is_plain<Out> && AtOnce) {
    emit_plain_bytes(args, counters, counted, slots, scratch);
  } else {
    if constexpr (is_bits<Out>) {
      if (args.epilogue.is_identity()) return store_votes(args, counters, counted);
    }
#pragma unroll
    for (int w = 0; w < Words; ++w) {
      emit(args, counters.of[w], Counted{counted.row, counted.word + w, counted.n}, slots, planes, scratch);
    }
  }
}

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
