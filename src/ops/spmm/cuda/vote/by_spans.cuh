// SPDX-License-Identifier: Apache-2.0
// The vote on a CUDA device: unscaled sums of rows of bits. A lane counts one word of 32 features. A set has as many
// lanes as a row of X has words, so reading a neighbor is one access to memory. A set counts a short row. A warp counts
// a long row: its sets share the neighbors and add up their counters at the end. A block counts a hub. A set loads
// eight neighbors before it counts them.
#pragma once

#include "ops/spmm/cuda/block.hpp"
#include "ops/spmm/cuda/epilogue/outputs.cuh"
#include "ops/spmm/cuda/plan.hpp"
#include "ops/spmm/cuda/schedule/rows.cuh"
#include "ops/spmm/cuda/vote/hub.cuh"
#include "ops/spmm/cuda/vote/neighbors.cuh"

#include <algorithm>
#include <type_traits>

namespace bitgraph::spmm_cuda {

static_assert(hub_row == 1U << long_planes);

/// Adds neighbors of a row to the lane's counter. `Sets` sets of `Lanes` lanes share the row, whose `n` columns begin
/// at `cols`. They read a portion of 8 * Sets columns from `first` on, then the portion `step` columns further on, and
/// so on up to `n`. `first` and `step` are the same in the whole warp.
template <int Lanes, int Sets, int Planes>
__device__ void count_neighbors(BitCounter<Planes>& counter, const BitsIn& x, unsigned word, const NodeId* cols,
                                std::uint32_t n, std::uint32_t first, std::uint32_t step) {
  constexpr unsigned group = Lanes * Sets;
  constexpr unsigned portion = batch * Sets;
  constexpr unsigned loads = (portion + group - 1) / group;
  const unsigned lane = threadIdx.x % 32;
  const unsigned own = lane % group;
  const unsigned set = own / Lanes;
  const std::uint32_t longest = group == 32 ? n : __reduce_max_sync(full_warp, n);
  const std::size_t stride = half_words(x);
  const std::uint32_t* const words = reinterpret_cast<const std::uint32_t*>(x.words) + word;
  const std::uint32_t limit = word < stride ? n : 0;
  NodeId col[loads];
  const auto load_columns = [&](std::uint32_t at) {
#pragma unroll
    for (unsigned m = 0; m < loads; ++m) {
      const std::uint32_t i = at + m * group + own;
      col[m] = i < n && m * group + own < portion ? __ldg(cols + i) : 0;
    }
  };
  const auto fetch = [&](std::uint32_t(&value)[batch], std::uint32_t at) {
#pragma unroll
    for (unsigned k = 0; k < batch; ++k) {
      value[k] = 0;
      if (k >= batch / 2 && longest - at <= batch / 2 * Sets)
        continue;  // half a batch is enough: grids and other sparse graphs
      const NodeId j = __shfl_sync(full_warp, col[k / Lanes], lane - own + k % Lanes * Sets + set);
      if (at + k * Sets + set < limit) value[k] = __ldg(words + j * stride);
    }
  };
  load_columns(first);
#pragma unroll 1
  for (std::uint32_t at = first; at < longest; at += step) {
    std::uint32_t value[batch];
    fetch(value, at);
    if (at + step < longest) load_columns(at + step);
    counter.add(value);
  }
}

/// Counts one short row for each set of lanes; `row` is no_row for a set without one.
template <int Lanes, class Args>
__device__ void vote_short_rows(const Args& args, NodeId row, EdgeOffset begin, std::uint32_t n, unsigned first_word,
                                std::uint32_t* scratch) {
  const unsigned word = first_word + threadIdx.x % Lanes;
  BitCounter<short_planes> counter;
  count_neighbors<Lanes, 1>(counter, args.x, word, args.a.col_ind + begin, n, 0, batch);
  const int planes = static_cast<int>(bits_of(__reduce_max_sync(full_warp, n)));
  emit(args, counter, Counted{word < half_words(args.x) ? row : no_row, word, n}, 32, planes, scratch);
}

template <int Lanes, class Args>
__device__ void vote_long_row(const Args& args, NodeId row, unsigned first_word, std::uint32_t* scratch) {
  constexpr unsigned sets = 32 / Lanes;
  const unsigned word = first_word + threadIdx.x % Lanes;
  const EdgeOffset begin = __ldg(args.a.row_ptr + row);
  const auto n = static_cast<std::uint32_t>(__ldg(args.a.row_ptr + row + 1) - begin);
  const int planes = static_cast<int>(bits_of(n));
  BitCounter<long_planes> counter;
  count_neighbors<Lanes, sets>(counter, args.x, word, args.a.col_ind + begin, n, 0, batch * sets);
  add_sets<Lanes>(counter, planes);
  emit(args, counter, Counted{word < half_words(args.x) ? row : no_row, word, n}, Lanes, planes, scratch);
}

/// Counts a hub. The block's warps take portions of the row in turns. A warp adds its counter to the sums in shared
/// memory before it could overflow.
template <int Lanes, class Args>
__device__ void vote_hub(const Args& args, NodeId row, unsigned first_word, HubCounts<Lanes>& counts) {
  constexpr unsigned sets = 32 / Lanes;
  constexpr unsigned portion = batch * sets;
  constexpr std::uint32_t stretch = (hub_row - 1) / portion * portion * block_warps;
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  const unsigned word = first_word + lane % Lanes;
  const NodeId* const cols = args.a.col_ind + __ldg(args.a.row_ptr + row);
  const auto n = static_cast<std::uint32_t>(row_length(args.a, row));
  const int planes = static_cast<int>(bits_of(n));
  if (lane < Lanes) {
    for (int p = 0; p < planes; ++p) counts.plane[warp][p][lane] = 0;
  }
  for (std::uint32_t begin = 0; begin < n; begin += min(stretch, n - begin)) {
    BitCounter<long_planes> counter;
    count_neighbors<Lanes, sets>(counter, args.x, word, cols + begin, min(stretch, n - begin), warp * portion,
                                 block_warps * portion);
    add_sets<Lanes>(counter, long_planes);
    if (lane < Lanes) {
      std::uint32_t carry = 0;
#pragma unroll
      for (int p = 0; p < long_planes; ++p) carry = add_bits(counts.plane[warp][p][lane], counter.plane[p], carry);
      for (int p = long_planes; p < planes; ++p) carry = add_bits(counts.plane[warp][p][lane], carry, 0);
    }
  }
  add_warps(counts, planes);
  if (warp == 0) emit_hub(args, counts, Counted{word < half_words(args.x) ? row : no_row, word, n}, planes);
  __syncthreads();  // the next hub, or row, uses the same storage
}

/// Shared memory in which bit counters become numbers: of a hub first, of each warp's rows afterwards.
template <int Lanes>
union VoteStorage {
  HubCounts<Lanes> hub_counts;
  alignas(16) std::uint32_t scratch[block_warps][std::max<unsigned>(long_planes * Lanes, scratch_words)];
};

template <int Lanes, class Args>
__global__ void __launch_bounds__(block_threads, cuda_spmm_tuning().vote.blocks)
    spmm_vote(const __grid_constant__ Args args, unsigned parts) {
  __shared__ BlockRows rows;
  __shared__ ShortRows sorted;
  __shared__ VoteStorage<Lanes> storage;
  constexpr unsigned warp_rows = 32 / Lanes;
  const unsigned warp = threadIdx.x / 32;
  const Share share(parts);
  const unsigned first_word = blockIdx.y * most_words;
  find_rows(rows, args.a, share);
  sort_short_rows(sorted, rows, args.a, share);
  for (unsigned n = 0; n < rows.num_hubs; ++n) {
    vote_hub<Lanes>(args, rows.hubs[n], first_word, storage.hub_counts);
  }
  for (unsigned task = take(rows); task < rows.num_long; task = take(rows)) {
    vote_long_row<Lanes>(args, rows.long_rows[task], first_word, storage.scratch[warp]);
  }
  for (unsigned first = warp * warp_rows; first < sorted.size; first += block_warps * warp_rows) {
    const unsigned place = first + threadIdx.x % 32 / Lanes;
    const NodeId row = place < sorted.size ? rows.first + sorted.row[place] : no_row;
    const EdgeOffset begin = row == no_row ? 0 : __ldg(args.a.row_ptr + row);
    const EdgeOffset end = row == no_row ? 0 : __ldg(args.a.row_ptr + row + 1);
    vote_short_rows<Lanes>(args, row, begin, static_cast<std::uint32_t>(end - begin), first_word,
                           storage.scratch[warp]);
  }
}

/// The vote for graphs of few rows and entries, which does not sort rows by length first. A warp takes `warp_rows`
/// consecutive rows. A set of lanes counts a row shorter than `longer`; the whole warp counts a longer one. The block
/// counts its hubs at the end.
template <int Lanes, class Args>
__global__ void __launch_bounds__(block_threads, cuda_spmm_tuning().vote.blocks)
    spmm_vote_direct(const __grid_constant__ Args args, unsigned warp_rows, EdgeOffset longer) {
  __shared__ NodeId hubs[block_warps * 32 / Lanes];
  __shared__ unsigned num_hubs;
  __shared__ VoteStorage<Lanes> storage;
  if (threadIdx.x == 0) num_hubs = 0;
  __syncthreads();
  const unsigned first_word = blockIdx.y * most_words;
  const unsigned lane = threadIdx.x % 32;
  std::uint32_t* const scratch = storage.scratch[threadIdx.x / 32];
  const std::size_t first = (std::size_t{blockIdx.x} * block_warps + threadIdx.x / 32) * warp_rows;
  const std::size_t place = first + lane / Lanes;
  const bool exists = lane / Lanes < warp_rows && place < args.a.nrows;
  const EdgeOffset begin = exists ? __ldg(args.a.row_ptr + place) : 0;
  const EdgeOffset n = exists ? __ldg(args.a.row_ptr + place + 1) - begin : 0;
  if (exists && n >= hub_row && lane % Lanes == 0) hubs[atomicAdd(&num_hubs, 1U)] = static_cast<NodeId>(place);
  std::uint32_t others = __ballot_sync(full_warp, n >= longer && n < hub_row && lane % Lanes == 0);
  if (__any_sync(full_warp, exists && n < longer)) {
    const bool mine = exists && n < longer;
    vote_short_rows<Lanes>(args, mine ? static_cast<NodeId>(place) : no_row, begin,
                           mine ? static_cast<std::uint32_t>(n) : 0, first_word, scratch);
  }
#pragma unroll 1
  for (; others != 0; others &= others - 1) {
    const auto row = static_cast<NodeId>(first + (__ffs(static_cast<int>(others)) - 1) / Lanes);
    vote_long_row<Lanes>(args, row, first_word, scratch);
  }
  __syncthreads();
#pragma unroll 1
  for (unsigned hub = 0; hub < num_hubs; ++hub) vote_hub<Lanes>(args, hubs[hub], first_word, storage.hub_counts);
}

/// The number of rows that a warp takes, one for each set of lanes. It is smaller in small graphs, so that every
/// multiprocessor has warps.
template <int Lanes>
unsigned rows_of_warp(const CsrPatternView& a) {
  unsigned rows = 32 / Lanes;
  while (rows > 1 && a.nrows < rows * cuda_spmm_tuning().vote.vote_warps) rows /= 2;
  return rows;
}

template <int Lanes, class Out>
void start_spans(const Device& device, const SpmmArgs<CsrPatternView, BitsIn, Out>& args, unsigned slices) {
  const Blocks blocks(args.a);
  with_plain(args, [&](const auto& kernel_args) {
    spmm_vote<Lanes><<<dim3(blocks.count, slices), block_threads, 0, stream_of(device)>>>(kernel_args, blocks.parts);
  });
  cuda_check_launch("spmm_vote");
}

template <int Lanes, class Out>
void start_direct(const Device& device, const SpmmArgs<CsrPatternView, BitsIn, Out>& args, unsigned slices) {
  const unsigned warp_rows = rows_of_warp<Lanes>(args.a);
  const CudaVoteTuning& t = cuda_spmm_tuning().vote;
  const EdgeOffset longer = warp_rows == 32 / Lanes ? long_row : warp_rows == 1 ? t.lone_longer : t.shared_longer;
  const unsigned blocks = blocks_for(args.a.nrows, block_warps * warp_rows);
  with_plain(args, [&](const auto& kernel_args) {
    spmm_vote_direct<Lanes>
        <<<dim3(blocks, slices), block_threads, 0, stream_of(device)>>>(kernel_args, warp_rows, longer);
  });
  cuda_check_launch("spmm_vote_direct");
}

}  // namespace bitgraph::spmm_cuda
