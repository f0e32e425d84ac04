// SPDX-License-Identifier: Apache-2.0
// The vote over rows sorted by length (RowOrder). The length of a row is known in advance, and neighbouring threads
// have rows of one length. A lane counts up to four words of 32 features; the lanes that hold one row of X are a set.
// A short row has one set, a longer one several sets, then a warp; a hub has a block. The sets of a row take its
// neighbours in turns and add up their counters. The longest rows come first.
#pragma once

#include "core/cuda/launch.cuh"
#include "ops/spmm/cuda/block.hpp"
#include "ops/spmm/cuda/epilogue/outputs.cuh"
#include "ops/spmm/cuda/plan.hpp"
#include "ops/spmm/cuda/schedule/taken_row.cuh"
#include "ops/spmm/cuda/vote/hub.cuh"
#include "ops/spmm/cuda/vote/neighbors.cuh"

#include <bit>

namespace bitgraph::spmm_cuda {

constexpr unsigned sets_of_row = cuda_spmm_tuning().vote.sets_of_row;
constexpr int most_planes = cuda_spmm_tuning().vote.low_planes;
constexpr int warp_planes = cuda_spmm_tuning().vote.warp_planes;

/// What a kernel is compiled for: see OrderedVoteTuning.
template <bool Many>
struct OrderedShape {
  static constexpr OrderedVoteTuning tuning =
      Many ? cuda_spmm_tuning().vote.ordered_many : cuda_spmm_tuning().vote.ordered_few;
  static constexpr bool words_at_once = tuning.words_at_once;
  static constexpr unsigned threads = tuning.threads;
  static constexpr unsigned blocks = tuning.blocks;
  static constexpr unsigned batch = tuning.batch;
  template <class Out>
  static constexpr int sets_power = is_bits<Out> ? tuning.sets_power_of_bits : tuning.sets_power_of_numbers;
};
struct FewEntries : OrderedShape<false> {};
/// Rows that lie side by side in the order are gone through together: at one time all are at about the same columns,
/// and what one has brought to the first-level cache others find there. The more rows a multiprocessor has the better.
struct ManyEntries : OrderedShape<true> {};

/// Bits of counts of rows that have a set of lanes. Counts take longer to write than votes.
template <class Out>
constexpr int set_planes = is_bits<Out> ? cuda_spmm_tuning().vote.set_planes_of_bits
                                        : cuda_spmm_tuning().vote.set_planes_of_numbers;

/// Which rows, in order by length, have a block, a warp or some sets of lanes, and which blocks those are: the ends of
/// each. What comes behind has a set.
struct RowClasses {
  NodeId hubs, warp_rows, sets_rows;
  unsigned hub_blocks, warp_blocks, sets_blocks;
  unsigned blocks;  ///< of a slice
};

/// Adds the counters of two lanes, which are left with half of the words each: `upper` with the upper ones. Counts have
/// `planes` bits at most, and Most at the very most.
template <int Most, int Words, int Planes>
__device__ auto halved(const Counters<Words, Planes>& all, unsigned step, bool upper, int planes) {
  Counters<Words / 2, std::min(Planes + 1, Most)> half;
#pragma unroll
  for (int w = 0; w < Words / 2; ++w) {
    std::uint32_t carry = 0;
#pragma unroll
    for (int p = 0; p < std::min(Planes + 1, Most); ++p) {
      if (p >= planes) continue;
      std::uint32_t other = 0;
      if (p < Planes) {
        const std::uint32_t low = all.of[w].plane[p % Planes];
        const std::uint32_t high = all.of[w + Words / 2].plane[p % Planes];
        half.of[w].plane[p] = upper ? high : low;
        other = __shfl_xor_sync(full_warp, upper ? low : high, step);
      }
      carry = add_bits(half.of[w].plane[p], other, carry);
    }
  }
  return half;
}

/// Adds the counters of lanes Step, 2 Step ... End / 2 apart.
template <int Most, int Step, int End, int Planes>
__device__ BitCounter<Most> summed(const BitCounter<Planes>& counter, int planes) {
  if constexpr (Step >= End) {
    BitCounter<Most> sum;
#pragma unroll
    for (int p = 0; p < Planes; ++p) sum.plane[p] = counter.plane[p];
    return sum;
  } else {
    BitCounter<std::min(Planes + 1, Most)> sum;
    std::uint32_t carry = 0;
#pragma unroll
    for (int p = 0; p < std::min(Planes + 1, Most); ++p) {
      if (p >= planes) continue;
      std::uint32_t other = 0;
      if (p < Planes) {
        sum.plane[p] = counter.plane[p % Planes];
        other = __shfl_xor_sync(full_warp, counter.plane[p % Planes], Step);
      }
      carry = add_bits(sum.plane[p], other, carry);
    }
    return summed<Most, Step * 2, End>(sum, planes);
  }
}

/// Which word of its set's lane is a lane's when the counters of `Sets` sets have been added up; every word has many
/// lanes.
template <int Lanes, int Words>
__device__ unsigned summed_word(unsigned lane) {
  const unsigned set = lane / Lanes;
  return lane % Lanes * Words + (Words == 4 ? set % 2 * 2 + set / 2 % 2 : set % 2);
}
/// The first lane that has word w.
template <int Lanes, int Words>
__device__ unsigned lane_of_word(unsigned w) {
  const unsigned set = Words == 4 ? w % 2 * 2 + w / 2 % 2 : w % 2;
  return set * Lanes + w / Words;
}

template <int Most, int Lanes, int Sets, int Words, int Planes>
__device__ BitCounter<Most> summed_sets(const Counters<Words, Planes>& counters, int planes) {
  static_assert(Sets >= Words);
  const unsigned set = threadIdx.x % 32 / Lanes;
  const auto half = halved<Most>(counters, Lanes, set % 2 != 0, planes);
  if constexpr (Words == 4) {
    const auto quarter = halved<Most>(half, 2 * Lanes, set / 2 % 2 != 0, planes);
    return summed<Most, 4 * Lanes, Sets * Lanes>(quarter.of[0], planes);
  } else {
    return summed<Most, 2 * Lanes, Sets * Lanes>(half.of[0], planes);
  }
}

/// Where counters become numbers, of each warp: those of all lanes, plane by plane, or as bytes; and those of a hub.
template <class Shape, int Lanes, int Words, class Args>
union OrderedStorage {
  using Out = std::remove_cvref_t<decltype(Args::out)>;
  static constexpr unsigned all_planes = 32U * static_cast<unsigned>(Shape::template sets_power<Out>);
  static constexpr unsigned bytes = Shape::words_at_once ? Words * scratch_words : scratch_words;
  static constexpr unsigned warp_scratch = !is_plain<Out> ? std::max(scratch_words, all_planes)
                                           : is_bits<Out> ? 4
                                                          : bytes;
  HubCounts<Lanes * Words> hub_counts;
  alignas(16) std::uint32_t scratch[Shape::threads / 32][warp_scratch];
};

/// A row for each set of lanes.
template <class Shape, int Lanes, int Words, class Args>
__device__ void vote_set_rows(const Args& args, std::size_t first, unsigned first_word, std::uint32_t* scratch) {
  const TakenRow taken(args, first + threadIdx.x / Lanes, args.a.nrows);
  const unsigned word = first_word + threadIdx.x % Lanes * Words;
  const std::uint32_t longest = __reduce_max_sync(full_warp, taken.n);
  constexpr int planes = set_planes<std::remove_cvref_t<decltype(args.out)>>;
  Counters<Words, planes> counters;
  count_in_turns<1, planes, Shape::batch>(counters, Neighbors<Words>(args.x, word), taken.columns, 0, taken.n, longest,
                                          Shape::batch);
  const Counted counted{word < half_words(args.x) ? taken.row : no_row, word, taken.n};
  emit_counters<Shape::words_at_once>(args, counters, counted, 32, static_cast<int>(bits_of(longest)), scratch);
}

/// A row for some sets, `end` is behind the last.
template <class Shape, int Lanes, int Words, class Args>
__device__ void vote_sets_rows(const Args& args, std::size_t first, std::size_t end, unsigned first_word,
                               std::uint32_t* scratch) {
  constexpr unsigned sets = sets_of_row;
  constexpr int power = Shape::template sets_power<std::remove_cvref_t<decltype(args.out)>>;
  const unsigned lane = threadIdx.x % 32;
  const unsigned set = lane / Lanes % sets;
  const TakenRow taken(args, first + threadIdx.x / (Lanes * sets), end);
  const Neighbors<Words> neighbors(args.x, first_word + lane % Lanes * Words);
  const std::uint32_t longest = __reduce_max_sync(full_warp, taken.n);
  Counters<Words, power - 1> counters;
  count_in_turns<sets, std::min(most_planes, power - 1), Shape::batch>(counters, neighbors, taken.columns, set, taken.n,
                                                                       longest, Shape::batch * sets);
  const auto sum = summed_sets<power, Lanes, sets>(counters, power);
  const unsigned word = first_word + summed_word<Lanes, Words>(lane);
  const bool writes = set < Words && neighbors.exist;
  emit(args, sum, Counted{writes ? taken.row : no_row, word, taken.n}, 32, static_cast<int>(bits_of(longest)), scratch);
}

/// A row for a warp.
template <class Shape, int Lanes, int Words, class Args>
__device__ void vote_warp_row(const Args& args, std::size_t place, std::size_t end, unsigned first_word,
                              std::uint32_t* scratch) {
  using Out = std::remove_cvref_t<decltype(args.out)>;
  constexpr unsigned sets = 32 / Lanes;
  const unsigned lane = threadIdx.x % 32;
  const unsigned set = lane / Lanes;
  const TakenRow taken(args, place, end);
  const Neighbors<Words> neighbors(args.x, first_word + lane % Lanes * Words);
  const int planes = static_cast<int>(bits_of(taken.n));
  Counters<Words, long_planes> counters;
  count_in_turns<sets, most_planes, Shape::batch>(counters, neighbors, taken.columns, set, taken.n, taken.n,
                                                  Shape::batch * sets);
  auto sum = summed_sets<warp_planes, Lanes, sets>(counters, planes);
  if constexpr (is_bits<Out> && is_plain<Out>) {
    const unsigned word = first_word + summed_word<Lanes, Words>(lane);
    emit_votes(args, sum, Counted{set < Words && neighbors.exist ? taken.row : no_row, word, taken.n}, 32);
  } else {
    constexpr unsigned slots = Lanes * Words;
#pragma unroll
    for (int p = 0; p < warp_planes; ++p) {
      if (p >= planes) continue;
      sum.plane[p] = __shfl_sync(full_warp, sum.plane[p], lane_of_word<Lanes, Words>(lane % slots));
    }
    const unsigned word = first_word + lane;
    emit(args, sum, Counted{lane < slots && word < half_words(args.x) ? taken.row : no_row, word, taken.n}, slots,
         planes, scratch);
  }
}

/// A row for the first warps of the block, which take its neighbours in turns, as many at a time as their counters
/// hold.
template <class Shape, int Lanes, int Words, class Args>
__device__ void vote_hub_row(const Args& args, std::size_t place, unsigned first_word,
                             HubCounts<Lanes * Words>& counts) {
  constexpr unsigned sets = 32 / Lanes;
  constexpr unsigned portion = Shape::batch * sets;
  constexpr std::uint32_t step = portion * block_warps;
  constexpr std::uint32_t stretch = ((1U << long_planes) - 1) / Shape::batch * step;
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  const unsigned set = lane / Lanes;
  const TakenRow taken(args, place, args.a.nrows);
  const Neighbors<Words> neighbors(args.x, first_word + lane % Lanes * Words);
  const int planes = static_cast<int>(bits_of(taken.n));
  const std::uint32_t end = warp < block_warps ? taken.n : 0;
  if (warp < block_warps && lane < Lanes * Words) {
    for (int p = 0; p < planes; ++p) counts.plane[warp][p][lane] = 0;
  }
  __syncwarp();
  for (std::uint32_t begin = 0; begin < end; begin += min(stretch, taken.n - begin)) {
    const std::uint32_t n = min(stretch, taken.n - begin);
    Counters<Words, long_planes> counters;
    count_in_turns<sets, most_planes, Shape::batch>(counters, neighbors, taken.columns + begin, warp * portion + set, n,
                                                    n, step);
    const auto sum = summed_sets<warp_planes + 1, Lanes, sets>(counters, warp_planes + 1);
    if (set < Words) {
      const unsigned word = summed_word<Lanes, Words>(lane);
      std::uint32_t carry = 0;
#pragma unroll
      for (int p = 0; p <= warp_planes; ++p) {
        if (p < planes) carry = add_bits(counts.plane[warp][p][word], sum.plane[p], carry);
      }
      for (int p = warp_planes + 1; p < planes; ++p) carry = add_bits(counts.plane[warp][p][word], carry, 0);
    }
  }
  add_warps(counts, planes);
  if (warp != 0) return;
  const unsigned word = first_word + lane;
  emit_hub(args, counts, Counted{word < half_words(args.x) ? taken.row : no_row, word, taken.n}, planes);
}

template <class Shape, int Lanes, int Words, class Args>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    spmm_vote_ordered(const __grid_constant__ Args args, const __grid_constant__ RowClasses classes) {
  __shared__ OrderedStorage<Shape, Lanes, Words, Args> storage;
  trigger_dependent_launch();
  const unsigned slice = blockIdx.x / classes.blocks;
  const unsigned block = blockIdx.x - slice * classes.blocks;
  const unsigned first_word = slice * most_words;
  const unsigned warp = threadIdx.x / 32;
  if (block >= classes.sets_blocks) {
    const std::size_t own = std::size_t{block - classes.sets_blocks} * (Shape::threads / Lanes);
    vote_set_rows<Shape, Lanes, Words>(args, classes.sets_rows + own, first_word, storage.scratch[warp]);
  } else if (block >= classes.warp_blocks) {
    const std::size_t own = std::size_t{block - classes.warp_blocks} * (Shape::threads / (Lanes * sets_of_row));
    vote_sets_rows<Shape, Lanes, Words>(args, classes.warp_rows + own, classes.sets_rows, first_word,
                                        storage.scratch[warp]);
  } else if (block >= classes.hub_blocks) {
    const std::size_t own = std::size_t{block - classes.hub_blocks} * (Shape::threads / 32) + warp;
    vote_warp_row<Shape, Lanes, Words>(args, classes.hubs + own, classes.warp_rows, first_word, storage.scratch[warp]);
  } else {
    vote_hub_row<Shape, Lanes, Words>(args, block, first_word, storage.hub_counts);
  }
}

/// Classes begin at powers of two. The more entries there are, the longer may a few threads take for a row while others
/// do the rest: about half the square root of their number for some sets, what each of the warps has that are there at
/// a time for a warp. A warp has no row that its counters do not hold. Counts take longer to write than votes: all
/// lanes of a warp write a row together.
template <class Shape, int Lanes, class Out>
RowClasses classes_of(const CsrPatternView& a, const RowOrderView& order) {
  constexpr const CudaVoteTuning& t = cuda_spmm_tuning().vote;
  constexpr std::size_t most = warp_planes - std::countr_zero(static_cast<unsigned>(Lanes));
  constexpr EdgeOffset warps_at_once = is_bits<Out> ? t.warps_of_bits : t.warps_of_numbers;
  const auto log2 = [](EdgeOffset n) { return static_cast<std::size_t>(std::bit_width(n | 1) - 1); };
  const std::size_t half_root = log2(a.num_entries) / 2 - 1;
  const bool few = half_root < t.few_root;
  const std::size_t set_row = set_planes<Out> - (few || (is_bits<Out> && Lanes == 1) ? 1U : 0U);
  const std::size_t longer_sets = !is_bits<Out> || Lanes > 1 || half_root >= t.long_root ? 0 : 1;
  const std::size_t warp_row =
      std::clamp<std::size_t>(half_root - longer_sets, t.least_warp_row, Shape::template sets_power<Out>);
  const std::size_t hub = std::clamp<std::size_t>(log2(a.num_entries / warps_at_once) + 1, t.least_hub, most);
  RowClasses classes{order.at_least[hub], order.at_least[warp_row], order.at_least[set_row], 0, 0, 0, 0};
  const auto add = [](unsigned before, NodeId rows, unsigned rows_of_block) {
    return before + (rows + rows_of_block - 1) / rows_of_block;
  };
  constexpr unsigned threads = Shape::threads;
  classes.hub_blocks = classes.hubs;
  classes.warp_blocks = add(classes.hub_blocks, classes.warp_rows - classes.hubs, threads / 32);
  classes.sets_blocks =
      add(classes.warp_blocks, classes.sets_rows - classes.warp_rows, threads / (Lanes * sets_of_row));
  classes.blocks = add(classes.sets_blocks, a.nrows - classes.sets_rows, threads / Lanes);
  return classes;
}

template <class Shape, int Lanes, int Words, class Out>
void start_ordered_of(const Device& device, const SpmmArgs<CsrPatternView, BitsIn, Out>& args, unsigned slices) {
  const RowClasses classes = classes_of<Shape, Lanes, Out>(args.a, args.row_order);
  with_plain(args, [&](const auto& kernel_args) {
    using Args = std::remove_cvref_t<decltype(kernel_args)>;
    static ProgrammaticKernel kernel(spmm_vote_ordered<Shape, Lanes, Words, Args>, "spmm_vote_ordered");
    kernel.launch(device, classes.blocks * slices, Shape::threads, 0, kernel_args, classes);
  });
}

template <int Lanes, int Words, class Out>
void start_ordered(const Device& device, const SpmmArgs<CsrPatternView, BitsIn, Out>& args, unsigned slices,
                   const Plan& plan) {
  if constexpr (Lanes <= 2) {
    if (plan.threads == large_block) return start_ordered_of<ManyEntries, Lanes, Words>(device, args, slices);
  }
  start_ordered_of<FewEntries, Lanes, Words>(device, args, slices);
}

}  // namespace bitgraph::spmm_cuda
