// SPDX-License-Identifier: Apache-2.0
// Sums of levels of up to two bits over neighbours on a CUDA device, levels of up to two bits out, by planes of bits:
// see planes.cuh. A lane has 64 columns. As many lanes as a row has parts are a set: it adds up a short row, a warp's
// sets share a longer one, a block's warps share a hub. Rows come longest first.
//
// What a sum becomes depends on its column, and on the row's number of neighbours and scale, which short rows side by
// side mostly have in common. So a block finds the least sum that reaches each level for each number of neighbours that
// its rows have. A row of another scale, and a longer one, has its sums as numbers, one by one.
#include "core/cuda/launch.cuh"
#include "ops/spmm/levels/gather.cuh"
#include "ops/spmm/levels/planes.cuh"
#include "ops/spmm/levels/planes.hpp"
#include "ops/spmm/levels/store.cuh"

#include <algorithm>
#include <bit>

namespace bitgraph {

namespace level_cuda {

namespace {

constexpr unsigned threads = tuning.block_threads, warps = threads / 32;
constexpr unsigned most_levels = 3;  ///< of two bits, but for 0
constexpr int short_planes = 8, long_planes = 10;
static_assert(most_levels * tuning.plane_warp_row < 1U << short_planes, "a sum, and one more, fit");

/// The rows that blocks take, longest first: hubs that have a block, rows that have a warp, rows that a set has.
struct PlaneBlocks {
  NodeId hubs = 0, warp_rows = 0;  ///< where they end in the order
  unsigned end_of_warps = 0;
};

/// Where sums become levels: all that the level of a sum depends on, but for its column and the number of neighbours.
struct RowScales {
  float row_scale = 1;
  OnScale late = {};

  [[nodiscard]] __device__ bool same_as(const RowScales& its) const {
    const auto same = [](float a, float b) { return __float_as_uint(a) == __float_as_uint(b); };
    return same(row_scale, its.row_scale) && same(late.factor, its.late.factor) && same(late.shift, its.late.shift);
  }
};

template <unsigned Lanes, Ends ends>
struct PlaneKernel {
  using End = RowEnd<ends>;
  static constexpr unsigned sets = 32 / Lanes;
  static constexpr unsigned slice = Lanes * part_columns;  ///< columns of a block
  static constexpr unsigned row_words = Lanes * part_words;
  static constexpr unsigned block_rows = threads / Lanes;
  /// Columns of a longer row that a lane ends, as join_rows() leaves them.
  static constexpr unsigned lane_columns = slice / 32;
  static constexpr std::uint32_t warp_round = batch * sets;
  using Short = LanePlanes<short_planes>;
  using Long = LanePlanes<long_planes>;
  static constexpr unsigned lengths = tuning.plane_lengths;

  struct Storage {
    SumPlace place[slice];
    /// Of rows that have `least` neighbours, and one more, and so on.
    alignas(16) std::uint32_t threshold[lengths][row_words][most_levels][short_planes];
    RowScales scales[lengths];
    NodeId owner[lengths];  ///< the row whose thresholds these are, and one; 0: none
    bool falls[lengths];    ///< larger sums have lower levels somewhere
    std::uint32_t least;
    std::uint32_t hub_sums[slice];
  };

  const LevelSpmmArgs& args;
  const PlaneBlocks& blocks;
  Storage& storage;
  const LevelRule rule;
  const PartReader<4> read;
  const std::size_t first_column = std::size_t{blockIdx.y} * slice;

  __device__ PlaneKernel(const LevelSpmmArgs& the_args, const PlaneBlocks& the_blocks, Storage& the_storage)
      : args(the_args),
        blocks(the_blocks),
        storage(the_storage),
        rule(args.epilogue, args.out.levels.bits),
        read(args.x, blockIdx.y * Lanes + threadIdx.x % Lanes) {}

  /// The level of a sum; `column` is one of the block's.
  [[nodiscard]] __device__ int level_of(const End& end, unsigned column, std::uint32_t sum) const {
    const SumPlace& at = storage.place[column];
    const float place = at.template place<true>(static_cast<float>(sum), end.count, end.row_scale);
    if constexpr (ends == Ends::by_rows)
      return LateRow<false>(args.epilogue, end.late).level(rule, place, first_column + column);
    return rule.level(place, at.least);
  }

  /// Behind it the kernels before this one are done, and the block has its columns. For a whole block.
  __device__ void bring_columns() {
    wait_for_previous_kernel();
    for (unsigned c = threadIdx.x; c < slice; c += threads)
      storage.place[c] = SumPlace(args, args.x.ncols, first_column + c);
    __syncthreads();
  }

  [[nodiscard]] static __device__ RowScales scales_of(const End& end) { return {end.row_scale, end.late}; }

  /// The least sum of a column that has level `level` or a higher one; behind the greatest sum, where none has.
  [[nodiscard]] __device__ std::uint32_t threshold_of(const End& end, unsigned column, std::uint32_t neighbors,
                                                      int level) const {
    const SumPlace& at = storage.place[column];
    const std::uint32_t end_of_sums = most_levels * neighbors + 1;
    float place = static_cast<float>(level) - (rule.nearest ? 0.5F : 0.0F);
    if constexpr (ends == Ends::by_rows) place = (place - end.late.shift) / end.late.factor;
    const float near = (place - at.by_offset * end.count - at.shift) / (at.by_step * end.row_scale);
    std::uint32_t sum = !(near > 0)                              ? 0
                        : near < static_cast<float>(end_of_sums) ? static_cast<std::uint32_t>(near)
                                                                 : end_of_sums;
    while (sum < end_of_sums && level_of(end, column, sum) < level) ++sum;
    while (sum > 0 && level_of(end, column, sum - 1) >= level) --sum;
    return sum;
  }

  /// The thresholds of each number of neighbours that the block's short rows have. For a whole block.
  __device__ void bring_thresholds(const TakenRow& taken, bool is_last) {
    wait_for_previous_kernel();
    for (unsigned c = threadIdx.x; c < slice; c += threads)
      storage.place[c] = SumPlace(args, args.x.ncols, first_column + c);
    if (threadIdx.x < lengths) storage.owner[threadIdx.x] = 0, storage.falls[threadIdx.x] = false;
    if (is_last) storage.least = taken.n;
    __syncthreads();
    const unsigned alike = __match_any_sync(full_warp, taken.n);
    const std::uint32_t more = taken.n - storage.least;
    if (taken.row != no_row && more < lengths && threadIdx.x % 32 == __ffs(static_cast<int>(alike)) - 1)
      atomicMax(storage.owner + more, taken.row + 1);
    __syncthreads();
    for (unsigned task = threadIdx.x / 32; task < lengths * row_words; task += warps)
      find_thresholds(task / row_words, task % row_words);
    __syncthreads();
  }

  /// Of 32 columns, by a warp.
  __device__ void find_thresholds(unsigned more, unsigned word) {
    if (storage.owner[more] == 0) return;
    const unsigned lane = threadIdx.x % 32, column = word * 32 + column_of_bit(lane);
    TakenRow row;
    row.row = storage.owner[more] - 1;
    row.n = storage.least + more;
    const End end(args, row);
    const bool exists = first_column + column < args.x.ncols;
    if (exists && (storage.place[column].by_step * end.row_scale < 0 || end.late.factor < 0))
      storage.falls[more] = true;
    std::uint32_t kept = 0;
#pragma unroll
    for (unsigned k = 0; k < most_levels; ++k) {
      const std::uint32_t threshold = threshold_of(end, column, row.n, static_cast<int>(k) + 1);
#pragma unroll
      for (int p = 0; p < short_planes; ++p) {
        const unsigned bits = __ballot_sync(full_warp, (threshold >> p & 1U) != 0);
        if (lane == k * short_planes + static_cast<unsigned>(p)) kept = bits;
      }
    }
    if (lane < most_levels * short_planes)
      storage.threshold[more][word][lane / short_planes][lane % short_planes] = kept;
    if (word == 0 && lane == 0) storage.scales[more] = scales_of(end);
  }

  /// A short row for each set, or none.
  __device__ void take_short_row(std::size_t place) {
    const TakenRow taken(args, place, args.a.nrows);
    const std::size_t last = min(blocks.warp_rows + std::size_t{blockIdx.x - blocks.end_of_warps + 1} * block_rows,
                                 std::size_t{args.a.nrows}) -
                             1;
    Short sums;
    add_neighbors<Lanes, 1>(sums, read, taken.columns, taken.n, 0, batch,
                            [&] { bring_thresholds(taken, place == last && threadIdx.x % Lanes == 0); });
    const unsigned part = threadIdx.x % Lanes;
    if (taken.row == no_row || first_column + part * part_columns >= args.x.ncols) return;
    const End end(args, taken);
    const std::uint32_t more = taken.n - storage.least;
    const bool known = more < lengths && !storage.falls[more] && storage.scales[more].same_as(scales_of(end));
    auto* const to =
        reinterpret_cast<uint4*>(args.out.levels.row(taken.row) + (first_column + part * part_columns) / 2);
#pragma unroll
    for (unsigned w = 0; w < part_words; ++w)
      to[w] = known ? levels_by_thresholds(sums.of[w], storage.threshold[more][part * part_words + w])
                    : levels_by_numbers(sums.of[w], end, (part * part_words + w) * 32);
  }

  [[nodiscard]] static __device__ uint4 levels_by_thresholds(
      const SlicedSums<short_planes>& sums, const std::uint32_t (&threshold)[most_levels][short_planes]) {
    std::uint32_t reaches[most_levels];
#pragma unroll
    for (unsigned k = 0; k < most_levels; ++k) {
      reaches[k] = ~0U;
#pragma unroll
      for (int p = 0; p < short_planes; ++p) {
        const std::uint32_t its = threshold[k][p];
        reaches[k] = (sums.plane[p] & ~its) | (~(sums.plane[p] ^ its) & reaches[k]);
      }
    }
    const std::uint32_t lower = (reaches[0] & ~reaches[1]) | reaches[2], upper = reaches[1];
    return {levels_of_planes(lower, upper, 0), levels_of_planes(lower, upper, 1), levels_of_planes(lower, upper, 2),
            levels_of_planes(lower, upper, 3)};
  }

  /// Of 32 columns from `column` on. Rare.
  [[nodiscard]] __device__ uint4 levels_by_numbers(const SlicedSums<short_planes>& sums, const End& end,
                                                   unsigned column) const {
    uint4 words = {};
#pragma unroll 1
    for (unsigned bit = 0; bit < 32; ++bit) {
      const unsigned c = column_of_bit(bit);
      const auto level = static_cast<std::uint32_t>(level_of(end, column + c, sums.sum_at(bit))) << c % nibbles * 4;
      (c < 8 ? words.x : c < 16 ? words.y : c < 24 ? words.z : words.w) |= level;
    }
    return words;
  }

  /// The first column of the block's that a lane ends of a longer row, behind join_rows().
  [[nodiscard]] static __device__ unsigned first_ended() {
    const unsigned lane = threadIdx.x % 32;
    return (lane % Lanes * part_words + word_of_lane<Lanes>()) * 32 + lane / (Lanes * part_words) * lane_columns;
  }

  /// Writes `lane_columns` levels of a row, level_at(n).
  template <class LevelAt>
  __device__ void write(NodeId row, unsigned first, const LevelAt& level_at) const {
    if (first_column + first >= args.x.ncols) return;
    std::uint32_t word = 0;
#pragma unroll
    for (unsigned n = 0; n < lane_columns; ++n) word |= static_cast<std::uint32_t>(level_at(n)) << 4 * n;
    std::uint8_t* const to = args.out.levels.row(row) + (first_column + first) / 2;
    if constexpr (lane_columns == 2) {
      *to = static_cast<std::uint8_t>(word);
    } else if constexpr (lane_columns == 4) {
      *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(word);
    } else {
      *reinterpret_cast<std::uint32_t*>(to) = word;
    }
  }

  /// A row that the sets of a warp share.
  __device__ void take_warp_row(const TakenRow& taken) {
    Long sums;
    add_neighbors<Lanes, sets>(sums, read, taken.columns, taken.n, 0, warp_round, [&] { bring_columns(); });
    const auto joined = join_rows<Lanes>(sums);
    if (taken.row == no_row) return;
    const End end(args, taken);
    const unsigned first = first_ended();
    write(taken.row, first,
          [&](unsigned n) { return level_of(end, first + n, joined.sum_at(bit_of_column((first + n) % 32))); });
  }

  /// A row that a block has. Its warps take portions in turns, and add their sums to the block's before planes
  /// overflow.
  __device__ void take_hub(const TakenRow& taken) {
    constexpr std::uint32_t stretch = Long::most_neighbors / batch * warp_round * warps;
    for (unsigned c = threadIdx.x; c < slice; c += threads) storage.hub_sums[c] = 0;
    bring_columns();
    const unsigned first = first_ended();
    for (std::uint32_t at = 0; at < taken.n; at += min(stretch, taken.n - at)) {
      Long sums;
      add_neighbors<Lanes, sets>(sums, read, taken.columns + at, min(stretch, taken.n - at),
                                 threadIdx.x / 32 * warp_round, warps * warp_round, [] {});
      const auto joined = join_rows<Lanes>(sums);
#pragma unroll
      for (unsigned n = 0; n < lane_columns; ++n)
        atomicAdd(storage.hub_sums + first + n, joined.sum_at(bit_of_column((first + n) % 32)));
    }
    __syncthreads();
    if (threadIdx.x >= 32) return;
    const End end(args, taken);
    write(taken.row, first, [&](unsigned n) { return level_of(end, first + n, storage.hub_sums[first + n]); });
  }

  __device__ void run() {
    const unsigned block = blockIdx.x;
    if (block < blocks.hubs) return take_hub(TakenRow(args, std::size_t{block}, blocks.hubs));
    if (block < blocks.end_of_warps) {
      const std::size_t place = blocks.hubs + std::size_t{block - blocks.hubs} * warps + threadIdx.x / 32;
      return take_warp_row(TakenRow(args, place, blocks.warp_rows));
    }
    const std::size_t first = blocks.warp_rows + std::size_t{block - blocks.end_of_warps} * block_rows;
    take_short_row(first + threadIdx.x / Lanes);
  }
};

/// `args.x` are planes as the kernel before has made them.
template <unsigned Lanes, Ends ends>
__global__ void __launch_bounds__(threads, tuning.plane_blocks)
    level_spmm_planes(const __grid_constant__ LevelSpmmArgs args, const __grid_constant__ PlaneBlocks blocks) {
  trigger_dependent_launch();
  __shared__ typename PlaneKernel<Lanes, ends>::Storage storage;
  PlaneKernel<Lanes, ends>(args, blocks, storage).run();
}

/// A thread has 64 columns of a row.
__global__ void __launch_bounds__(threads)
    planes_of_levels(QuantizedView<> x, uint4* planes, unsigned parts, std::size_t items) {
  trigger_dependent_launch();
  wait_for_previous_kernel();
  const std::size_t item = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (item >= items) return;
  const auto* const from = reinterpret_cast<const uint4*>(x.row(item / parts)) + item % parts * part_words;
  std::uint32_t lower[part_words], upper[part_words];
#pragma unroll
  for (unsigned w = 0; w < part_words; ++w) {
    const uint4 levels = __ldg(from + w);
    const std::uint32_t words[4] = {levels.x, levels.y, levels.z, levels.w};
    lower[w] = plane_of_levels<0>(words);
    upper[w] = plane_of_levels<1>(words);
  }
  planes[item] = {lower[0], lower[1], upper[0], upper[1]};
}

template <unsigned Lanes, Ends ends>
void launch_rows(const Device& device, const LevelSpmmArgs& args, unsigned slices) {
  using Made = PlaneKernel<Lanes, ends>;
  // at_least ends at rows of 2^14 entries.
  const auto rows_from = [&](EdgeOffset entries) {
    const auto power = static_cast<std::size_t>(std::bit_width(entries - 1));
    return args.row_order.at_least[std::min(power, args.row_order.at_least.size() - 1)];
  };
  constexpr EdgeOffset least_rounds = 4, most_rounds = std::bit_floor(Made::Long::most_neighbors / batch);
  PlaneBlocks blocks;
  // What a warp, and then a block, takes for its row grows with the time that all rows take.
  const EdgeOffset gathered = args.a.num_entries * args.x.row_bytes;
  const EdgeOffset rounds = std::clamp(gathered / tuning.plane_round_bytes, least_rounds, most_rounds);
  blocks.hubs = rows_from(std::bit_floor(rounds) * Made::warp_round);
  blocks.warp_rows = std::max(blocks.hubs, rows_from(Lanes == 1 ? tuning.plane_lone_row : tuning.plane_warp_row));
  blocks.end_of_warps = blocks.hubs + (blocks.warp_rows - blocks.hubs + warps - 1) / warps;
  const NodeId others = args.a.nrows - blocks.warp_rows;
  const unsigned count = blocks.end_of_warps + (others + Made::block_rows - 1) / Made::block_rows;
  static ProgrammaticKernel kernel(level_spmm_planes<Lanes, ends>, "level_spmm_planes");
  kernel.launch(device, dim3(count, slices), threads, 0, args, blocks);
}

template <Ends ends>
void launch_lanes(const Device& device, const LevelSpmmArgs& args) {
  constexpr unsigned most_lanes = 4;
  const auto parts = static_cast<unsigned>(args.x.ncols / part_columns);
  if (parts == 1) return launch_rows<1, ends>(device, args, 1);
  if (parts == 2) return launch_rows<2, ends>(device, args, 1);
  launch_rows<most_lanes, ends>(device, args, (parts + most_lanes - 1) / most_lanes);
}

}  // namespace

}  // namespace level_cuda

void level_spmm_by_planes(const Device& device, const LevelSpmmArgs& args) {
  using namespace level_cuda;
  const auto parts = static_cast<unsigned>(args.x.ncols / part_columns);
  const std::size_t items = std::size_t{args.x.nrows} * parts;
  static ProgrammaticKernel kernel(planes_of_levels, "planes_of_levels");
  kernel.launch(device, dim3(blocks_for(items, threads)), threads, 0, args.x,
                reinterpret_cast<uint4*>(args.planes.data()), parts, items);
  LevelSpmmArgs of_planes = args;
  of_planes.x.data = reinterpret_cast<const std::uint8_t*>(args.planes.data());
  of_planes.x.row_bytes = std::size_t{parts} * sizeof(uint4);
  args.epilogue.is_late() ? launch_lanes<Ends::by_rows>(device, of_planes)
                          : launch_lanes<Ends::plain>(device, of_planes);
}

}  // namespace bitgraph
