// SPDX-License-Identifier: Apache-2.0
// Rows of a graph by falling length, on a CUDA device: neighbours' rows counted or added up by as many threads as a row
// is long. Threads that follow one another have rows of one length: short ones a set of lanes each, as many as a row of
// X has words of 16 bytes; longer ones four sets, then a warp, then a block.
#pragma once

#include "ops/cuda_vote_counters.cuh"
#include "ops/fused_vote/fused_vote.hpp"

#include "core/cuda/launch.cuh"

#include <algorithm>

namespace bitgraph::spmm_cuda {

namespace ordered {

constexpr NodeId no_row = ~NodeId{0};
constexpr unsigned group_sets = 4;
constexpr int short_planes = 6;  ///< counts of a set of lanes that has a short row
constexpr int part_planes = 7;   ///< of one of four
constexpr int group_planes = 8;  ///< of four of them
constexpr int lane_planes = 10;  ///< counts of a set of lanes of a long row
constexpr int row_planes = 17;
static_assert(fused_short <= 1U << short_planes && fused_group <= 1U << group_planes);

/// What blocks do: the first ones have a hub each, then come those whose warps have a row, and so on.
struct Blocks {
  unsigned hubs, warps, groups, all;  ///< ends

  Blocks(const FusedOrder& order, NodeId nrows, unsigned threads, unsigned lanes) {
    const auto more = [](unsigned before, NodeId rows, unsigned in_block) {
      return before + (rows + in_block - 1) / in_block;
    };
    hubs = order.hubs;
    warps = more(hubs, order.warps - order.hubs, threads / 32);
    groups = more(warps, order.groups - order.warps, threads / (lanes * group_sets));
    all = more(groups, nrows - order.groups, threads / lanes);
  }
};

/// A row and its entries; no_row has none.
struct Row {
  NodeId row = no_row;
  std::uint32_t n = 0;
  const NodeId* columns = nullptr;

  /// The row at a place of the order, below `end`.
  __device__ Row(const CsrPatternView& a, const FusedOrder& order, std::size_t place, NodeId end) {
    if (place >= end) return;
    row = order.rows == nullptr ? static_cast<NodeId>(place) : __ldg(order.rows + place);
    const EdgeOffset begin = __ldg(a.row_ptr + row);
    n = static_cast<std::uint32_t>(__ldg(a.row_ptr + row + 1) - begin);
    columns = a.col_ind + begin;
  }
};

/// A lane's part of a row of X: two or four words.
template <unsigned Words>
struct Part;
template <>
struct Part<2> {
  using Values = uint2;
  __device__ static std::uint32_t word(const Values& v, unsigned w) { return w == 0 ? v.x : v.y; }
  __device__ static Values of(const std::uint32_t (&w)[2]) { return {w[0], w[1]}; }
};
template <>
struct Part<4> {
  using Values = uint4;
  __device__ static std::uint32_t word(const Values& v, unsigned w) {
    return w == 0 ? v.x : w == 1 ? v.y : w == 2 ? v.z : v.w;
  }
  __device__ static Values of(const std::uint32_t (&w)[4]) { return {w[0], w[1], w[2], w[3]}; }
};

/// Reads a lane's part of a neighbour's row of X, which begins at `part` in the first row.
template <unsigned Words>
struct PartReader {
  using Values = typename Part<Words>::Values;
  const std::uint32_t* part;
  std::size_t stride;  ///< words from one row to the next

  __device__ Values operator()(NodeId j) const { return __ldg(reinterpret_cast<const Values*>(part + j * stride)); }
};

/// Calls use(values) with what is read of Batch neighbours of a row at a time, zeros for those that are not there:
/// neighbours first + k Sets, and again `step` further on. The next columns come while the values are used. `longest`
/// is the warp's largest n. Once a kernel: it waits for the kernel before this one.
template <unsigned Sets, unsigned Batch, class Reader, class Use>
__device__ void for_neighbors(const Reader& read, const Row& row, unsigned first, unsigned longest, unsigned step,
                              const Use& use) {
  using Values = typename Reader::Values;
  NodeId column[Batch];
  const auto load = [&](unsigned at) {
#pragma unroll
    for (unsigned k = 0; k < Batch; ++k) {
      const unsigned e = at + first + k * Sets;
      if (e < row.n) column[k] = __ldg(row.columns + e);
    }
  };
  load(0);
  wait_for_previous_kernel();
#pragma unroll 1
  for (unsigned at = 0; at < longest; at += step) {
    Values values[Batch];
#pragma unroll
    for (unsigned k = 0; k < Batch; ++k) {
      values[k] = Values{};
      if (Sets == 1 && k >= 4 && longest - at <= 4) continue;
      if (at + first + k * Sets < row.n) values[k] = read(column[k]);
    }
    if (at + step < longest) load(at + step);
    use(values);
  }
}

/// Bit-sliced counts of a lane's words.
template <unsigned Words, int Planes>
struct Counts {
  BitCounter<Planes> of[Words];

  template <class Values, unsigned Batch>
  __device__ void add(const Values (&values)[Batch]) {
#pragma unroll
    for (unsigned w = 0; w < Words; ++w) {
      std::uint32_t words[Batch];
#pragma unroll
      for (unsigned k = 0; k < Batch; ++k) words[k] = Part<Words>::word(values[k], w);
      of[w].add(words);
    }
  }
};

/// The counts of one word.
template <int Planes>
struct WordCount {
  BitCounter<Planes> counter;
  unsigned word;  ///< of a lane's part
};

/// The counts of `Sets` sets of `Lanes` lanes together: each lane has one word of its part in the end, sets a multiple
/// of Words apart the same one. Sums have `planes` bits at most.
template <unsigned Lanes, unsigned Sets, int To, unsigned Words, int Planes>
__device__ WordCount<To> join(const Counts<Words, Planes>& counts, int planes) {
  static_assert(Sets >= Words && To > Planes);
  const unsigned set = threadIdx.x % 32 / Lanes;
  BitCounter<To> half[2];
  if constexpr (Words == 4) {
    const bool odd = set % 2 != 0;
#pragma unroll
    for (unsigned w = 0; w < 2; ++w) {
      std::uint32_t carry = 0;
#pragma unroll
      for (int p = 0; p <= Planes; ++p) {
        if (p >= planes) break;
        std::uint32_t keep = 0;
        std::uint32_t other = 0;
        if (p < Planes) {
          const std::uint32_t low = counts.of[w].plane[p < Planes ? p : 0];
          const std::uint32_t high = counts.of[w + 2].plane[p < Planes ? p : 0];
          keep = odd ? high : low;
          other = __shfl_xor_sync(full_warp, odd ? low : high, Lanes);
        }
        carry = add_bits(keep, other, carry);
        half[w].plane[p] = keep;
      }
    }
  } else {
#pragma unroll
    for (int p = 0; p < Planes; ++p) {
      half[0].plane[p] = counts.of[0].plane[p];
      half[1].plane[p] = counts.of[1].plane[p];
    }
  }
  constexpr unsigned step = Words / 2 * Lanes;
  const bool odd = set / (Words / 2) % 2 != 0;
  WordCount<To> sum{{}, Words == 4 ? set % 2 * 2 + set / 2 % 2 : set % 2};
  std::uint32_t carry = 0;
#pragma unroll
  for (int p = 0; p < std::min(Planes + 2, To); ++p) {
    if (p >= planes) break;
    std::uint32_t keep = odd ? half[1].plane[p] : half[0].plane[p];
    const std::uint32_t other = __shfl_xor_sync(full_warp, odd ? half[0].plane[p] : half[1].plane[p], step);
    carry = add_bits(keep, other, carry);
    sum.counter.plane[p] = keep;
  }
#pragma unroll
  for (unsigned s = Words; s < Sets; s *= 2) {
    sum.counter.add_counter(planes, [&](int p) { return __shfl_xor_sync(full_warp, sum.counter.plane[p], s * Lanes); });
  }
  return sum;
}

__device__ inline int bits_of(std::uint32_t n) { return 32 - __clz(static_cast<int>(n)); }

/// How rows of bits are counted: Lanes lanes with Words words each have a row of X, blocks Threads threads.
template <unsigned LanesOfRow, unsigned WordsOfLane, unsigned BlockThreads, unsigned BatchSize>
struct Shape {
  static constexpr unsigned lanes = LanesOfRow;
  static constexpr unsigned words = WordsOfLane;
  static constexpr unsigned threads = BlockThreads;
  static constexpr unsigned batch = BatchSize;
  static constexpr unsigned row_words = lanes * words;
};

/// Counts of a hub's words, of each warp.
template <class S>
struct HubScratch {
  std::uint32_t plane[S::threads / 32][row_planes][S::row_words];
};

/// Goes through the block's rows. The sink gets
///   short_row(row, counts): a set of lanes has a row, each its part of the counts; where Sink::short_rows
///   group(row, count): four sets do, and each lane has the count of one word, `word` of the row
///   long_row(row, count): a warp; lanes row_words apart have the same
/// for whole warps; rows may be no_row.
template <class S, class Sink>
__device__ void count_rows(const CsrPatternView& a, const FusedOrder& order, const Blocks& blocks,
                           const std::uint32_t* x, std::size_t stride, HubScratch<S>& scratch, Sink& sink) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const unsigned set = lane / S::lanes;
  const PartReader<S::words> read{x + lane % S::lanes * S::words, stride};
  const unsigned first_word = lane % S::lanes * S::words;
  if (blockIdx.x >= blocks.groups) {
    if constexpr (Sink::short_rows) {
      const std::size_t place =
          order.groups + (std::size_t{blockIdx.x - blocks.groups} * S::threads + threadIdx.x) / S::lanes;
      const Row row(a, order, place, a.nrows);
      Counts<S::words, short_planes> counts;
      for_neighbors<1, S::batch>(read, row, 0, __reduce_max_sync(full_warp, row.n), S::batch,
                                 [&](const auto& values) { counts.add(values); });
      sink.short_row(row, counts);
    }
  } else if (blockIdx.x >= blocks.warps) {
    const std::size_t place =
        order.warps + (std::size_t{blockIdx.x - blocks.warps} * S::threads + threadIdx.x) / (S::lanes * group_sets);
    const Row row(a, order, place, order.groups);
    Counts<S::words, part_planes> counts;
    for_neighbors<group_sets, S::batch>(read, row, set % group_sets, __reduce_max_sync(full_warp, row.n),
                                        S::batch * group_sets, [&](const auto& values) { counts.add(values); });
    auto count = join<S::lanes, group_sets, group_planes>(counts, group_planes);
    count.word += first_word;
    sink.group(row, count);
  } else {
    constexpr unsigned sets = 32 / S::lanes;
    const bool is_hub = blockIdx.x < blocks.hubs;
    const unsigned ways = is_hub ? S::threads / 32 : 1;
    const std::size_t place =
        is_hub ? blockIdx.x : order.hubs + std::size_t{blockIdx.x - blocks.hubs} * (S::threads / 32) + warp;
    const Row row(a, order, place, is_hub ? order.hubs : order.warps);
    Counts<S::words, lane_planes> counts;
    for_neighbors<sets, S::batch>(read, row, (is_hub ? warp : 0) * S::batch * sets + set, row.n, S::batch * sets * ways,
                                  [&](const auto& values) { counts.add(values); });
    const int planes = bits_of(row.n);
    auto count = join<S::lanes, sets, row_planes>(counts, planes);
    count.word += first_word;
    if (is_hub) {
      if (lane < S::row_words) {
#pragma unroll
        for (int p = 0; p < row_planes; ++p) scratch.plane[warp][p][count.word] = count.counter.plane[p];
      }
      __syncthreads();
      if (warp != 0) return;
      count.word = lane % S::row_words;
      count.counter = {};
#pragma unroll 1
      for (unsigned w = 0; w < S::threads / 32; ++w) {
        count.counter.add_counter(planes, [&](int p) { return scratch.plane[w][p][count.word]; });
      }
    }
    sink.long_row(row, count);
  }
}

/// fn(Shape) for the shape that was chosen: blocks are large, or have so many threads.
template <unsigned Threads, class Fn>
void with_shape(const fused_cuda::Plan& chosen, const Fn& fn) {
  const auto of_width = [&](auto lanes, auto part) {
    if constexpr (lanes() < 4) {
      if (chosen.threads == fused_cuda::large_block) return fn(Shape<lanes(), part(), fused_cuda::large_block, 4>());
    }
    fn(Shape<lanes(), part(), Threads, 8>());
  };
  const auto number = [](auto n) { return n; };
  using One = std::integral_constant<unsigned, 1>;
  using Two = std::integral_constant<unsigned, 2>;
  using Four = std::integral_constant<unsigned, 4>;
  if (chosen.words == 2) return of_width(number(One()), number(Two()));
  if (chosen.lanes == 1) return of_width(number(One()), number(Four()));
  if (chosen.lanes == 2) return of_width(number(Two()), number(Four()));
  of_width(number(Four()), number(Four()));
}

}  // namespace ordered

}  // namespace bitgraph::spmm_cuda
