// SPDX-License-Identifier: Apache-2.0
// The vote on a CUDA device: unscaled sums of rows of bits. A lane counts one word of 32 features, and as many lanes as
// a row of X has words stand side by side, so that a neighbour is one access to memory. Short rows have a set of such
// lanes each; a long row has a warp, whose sets share its neighbours and add up their counters at the end; a hub has a
// block. Eight neighbours a set are on their way at a time.
#pragma once

#include "ops/spmm/cuda_emit.cuh"

namespace bitgraph::spmm_cuda {

constexpr unsigned batch = 8;    ///< neighbours a set of lanes takes at a time
constexpr int short_planes = 6;  ///< counts below csr_long_row
constexpr int long_planes = 10;  ///< counts below csr_hub_row
constexpr int any_planes = 32;
static_assert(long_row == 1U << short_planes && hub_row == 1U << long_planes);

/// Adds neighbours of a row to the lane's counter: Sets sets of Lanes lanes take turns. `n` columns from `cols` on,
/// those from first on, and again `step` further on. `first` and `step` are the same in all the warp.
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
  load_columns(first);
  for (std::uint32_t at = first; at < longest; at += step) {
    std::uint32_t value[batch] = {};
#pragma unroll
    for (unsigned k = 0; k < batch; ++k) {
      if (k == batch / 2 && longest - at <= batch / 2 * Sets) break;  // grids and other sparse graphs
      const NodeId j = __shfl_sync(full_warp, col[k / Lanes], lane - own + k % Lanes * Sets + set);
      if (at + k * Sets + set < limit) value[k] = __ldg(words + j * stride);
    }
    if (at + step < longest) load_columns(at + step);
    counter.add(value);
  }
}

/// Adds the counters of a warp's sets of lanes; every set has the sum. Counts have `planes` bits at most.
template <int Lanes, int Planes>
__device__ void add_sets(BitCounter<Planes>& counter, int planes) {
#pragma unroll
  for (unsigned step = Lanes; step < 32; step *= 2) {
    counter.add_counter(planes, [&](int p) { return __shfl_xor_sync(full_warp, counter.plane[p], step); });
  }
}

template <class Args>
using StageOf = Stage<decltype(Args::out)>;

/// A short row for each set of lanes; no_row for none.
template <int Lanes, class Args>
__device__ void vote_short_rows(const Args& args, NodeId row, unsigned first_word, StageOf<Args>& stage) {
  const unsigned word = first_word + threadIdx.x % Lanes;
  EdgeOffset begin = 0;
  std::uint32_t n = 0;
  if (row != no_row) {
    begin = __ldg(args.a.row_ptr + row);
    n = static_cast<std::uint32_t>(__ldg(args.a.row_ptr + row + 1) - begin);
  }
  BitCounter<short_planes> counter;
  count_neighbors<Lanes, 1>(counter, args.x, word, args.a.col_ind + begin, n, 0, batch);
  const int planes = static_cast<int>(bits_of(__reduce_max_sync(full_warp, n)));
  const Counted counted{word < half_words(args.x) ? row : no_row, word, n};
  if (!emit_votes(args, counter, counted, 32)) emit_own_numbers(args, counter, counted, planes, stage);
}

template <int Lanes, class Args>
__device__ void vote_long_row(const Args& args, NodeId row, unsigned first_word) {
  constexpr unsigned sets = 32 / Lanes;
  const unsigned word = first_word + threadIdx.x % Lanes;
  const EdgeOffset begin = __ldg(args.a.row_ptr + row);
  const auto n = static_cast<std::uint32_t>(__ldg(args.a.row_ptr + row + 1) - begin);
  const int planes = static_cast<int>(bits_of(n));
  BitCounter<long_planes> counter;
  count_neighbors<Lanes, sets>(counter, args.x, word, args.a.col_ind + begin, n, 0, batch * sets);
  add_sets<Lanes>(counter, planes);
  emit(args, counter, Counted{word < half_words(args.x) ? row : no_row, word, n}, Lanes, planes);
}

/// The counters of a hub, one a warp, in shared memory: plane by plane.
template <int Lanes>
struct HubCounts {
  std::uint32_t plane[block_warps][any_planes][Lanes];

  /// Adds to a lane's count of `warp` another, whose plane p is other(p); counts have `planes` bits.
  template <class Other>
  __device__ void add(unsigned warp, unsigned lane, int planes, const Other& other) {
    std::uint32_t carry = 0;
    for (int p = 0; p < planes; ++p) carry = add_bits(plane[warp][p][lane], other(p), carry);
  }
};

/// The warps' counts of a hub, half of them onto the other half, and so on; the first warp's are those of the row.
template <int Lanes>
__device__ void add_warps(HubCounts<Lanes>& counts, int planes) {
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  for (unsigned half = block_warps / 2; half != 0; half /= 2) {
    __syncthreads();
    if (warp < half && lane < Lanes) {
      counts.add(warp, lane, planes, [&](int p) { return counts.plane[warp + half][p][lane]; });
    }
  }
  __syncthreads();
}

template <int Lanes, class Args>
__device__ void emit_hub(const Args& args, const HubCounts<Lanes>& counts, const Counted& counted, int planes) {
  if constexpr (is_bits<decltype(args.out)>) {
    if (is_identity(args.epilogue)) {
      if (threadIdx.x % 32 >= Lanes || counted.row == no_row) return;
      const std::uint32_t threshold = counted.n / 2 + counted.n % 2;
      std::uint32_t votes = ~0U;
      for (int p = 0; p < planes; ++p) {
        votes = compare_plane(votes, counts.plane[0][p][threadIdx.x % 32], (threshold >> p) & 1U);
      }
      *half_word(args.out, counted.row, counted.word) = votes & feature_mask(args.x.ncols, counted.word);
      return;
    }
  }
  emit_numbers<any_planes>(
      args, [&](int p, unsigned slot) { return counts.plane[0][p][slot]; }, counted, Lanes, planes);
}

/// The block's warps take portions of the row in turns, and add up as many as their counters hold.
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
  __syncthreads();  // before the storage serves again
}

template <int Lanes, class Args>
__global__ void __launch_bounds__(block_threads, 5) spmm_vote(Args args, unsigned parts) {
  __shared__ BlockRows rows;
  __shared__ ShortRows sorted;
  __shared__ union {  // hubs come first
    HubCounts<Lanes> hub_counts;
    StageOf<Args> stages[block_warps];
  } storage;
  constexpr unsigned warp_rows = 32 / Lanes;
  const Share share(parts);
  const unsigned first_word = blockIdx.y * 32;
  find_rows(rows, args.a, share);
  sort_short_rows(sorted, rows, args.a, share);
  for (unsigned n = 0; n < rows.num_hubs; ++n) {
    vote_hub<Lanes>(args, rows.hubs[n], first_word, storage.hub_counts);
  }
  for (unsigned task = take(rows); task < rows.num_long; task = take(rows)) {
    vote_long_row<Lanes>(args, rows.long_rows[task], first_word);
  }
  for (unsigned first = threadIdx.x / 32 * warp_rows; first < sorted.size; first += block_warps * warp_rows) {
    const unsigned place = first + threadIdx.x % 32 / Lanes;
    const NodeId row = place < sorted.size ? rows.first + sorted.row[place] : no_row;
    vote_short_rows<Lanes>(args, row, first_word, storage.stages[threadIdx.x / 32]);
  }
}

/// The same where no row is long.
template <int Lanes, class Args>
__global__ void __launch_bounds__(block_threads) spmm_vote_short(Args args) {
  __shared__ StageOf<Args> stages[block_warps];
  const std::size_t place = (std::size_t{blockIdx.x} * block_threads + threadIdx.x) / Lanes;
  const NodeId row = place < args.a.nrows ? static_cast<NodeId>(place) : no_row;
  vote_short_rows<Lanes>(args, row, blockIdx.y * 32, stages[threadIdx.x / 32]);
}

template <int Lanes, class Out>
void launch_vote(const Device& device, const SpmmArgs<CsrPatternView, BitsIn, Out>& args, unsigned slices) {
  if (args.a.longest_row < long_row) {
    const dim3 grid(blocks_for(std::size_t{args.a.nrows} * Lanes, block_threads), slices);
    spmm_vote_short<Lanes><<<grid, block_threads, 0, stream_of(device)>>>(args);
  } else {
    const Blocks blocks(args.a);
    spmm_vote<Lanes><<<dim3(blocks.count, slices), block_threads, 0, stream_of(device)>>>(args, blocks.parts);
  }
  cuda_check_launch("spmm_vote");
}

/// Lanes by the words of a row of X: wider ones are cut into slices of 1,024 features.
template <class Out>
void launch_vote(const Device& device, const SpmmArgs<CsrPatternView, BitsIn, Out>& args) {
  const auto words = static_cast<unsigned>(2 * args.x.words_per_row);
  if (words <= 2) return launch_vote<2>(device, args, 1);
  if (words <= 4) return launch_vote<4>(device, args, 1);
  if (words <= 8) return launch_vote<8>(device, args, 1);
  if (words <= 16) return launch_vote<16>(device, args, 1);
  launch_vote<32>(device, args, (words + 31) / 32);
}

}  // namespace bitgraph::spmm_cuda
