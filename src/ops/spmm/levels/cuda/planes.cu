// SPDX-License-Identifier: Apache-2.0
// Sums of levels of up to two bits over neighbours on a CUDA device, levels of up to two bits out, by planes of bits:
// see planes.cuh. A lane has 64 columns. As many lanes as a row has parts are a set: it adds up a short row, a warp's
// sets share a longer one, a block's warps share a hub. Rows come longest first.
//
// What a sum becomes depends on its column, and on the row's number of neighbours and scale, which short rows of one
// length mostly have in common. So the kernel that makes the planes also finds the least sum that reaches each level,
// for each length. A row of another scale, and a longer one, has its sums as numbers, one by one.
//
// Levels in planes (LevelPacking) are added up as they are, and leave in planes: nothing is made of X but thresholds.
#include "core/cuda/launch.cuh"
#include "ops/spmm/levels/cuda/gather.cuh"
#include "ops/spmm/levels/cuda/planes.cuh"
#include "ops/spmm/levels/cuda/product.cuh"
#include "ops/spmm/levels/cuda/store.cuh"
#include "ops/spmm/levels/planes.hpp"

#include <algorithm>
#include <bit>

namespace bitgraph {

namespace level_cuda {

namespace {

constexpr unsigned threads = tuning.block_threads, warps = threads / 32;
constexpr int long_planes = 10;
constexpr unsigned lengths = plane_lengths;
static_assert(most_levels * lengths < 1U << short_planes, "a sum, and one more, fit");
static_assert(tuning.plane_warp_row <= lengths && tuning.plane_lone_row <= lengths);

/// The rows that blocks take, longest first: hubs that have a block, rows that have a warp, rows that a set has.
struct PlaneBlocks {
  NodeId hubs = 0, warp_rows = 0;  ///< where they end in the order
  unsigned end_of_warps = 0;
};

/// The level of a sum of a column.
template <Ends ends>
[[nodiscard]] __device__ int level_of_sum(const LevelSpmmArgs& args, const LevelRule& rule, const RowEnd<ends>& end,
                                          const SumPlace& at, std::size_t column, std::uint32_t sum) {
  const float place = at.template place<true>(static_cast<float>(sum), end.count, end.row_scale);
  if constexpr (ends == Ends::by_rows) return LateRow<false>(args.epilogue, end.late).level(rule, place, column);
  return rule.level(place, at.least);
}

template <Ends ends>
[[nodiscard]] __device__ RowScales scales_of(const RowEnd<ends>& end, bool rises = true) {
  return {end.row_scale, end.late.factor, end.late.shift, rises ? 1U : 0U};
}

/// A block's longer rows, and what it knows of the product behind its sums.
template <unsigned Lanes>
struct PlaneTile {
  static constexpr unsigned words = Lanes * part_words;  ///< of a plane of a row
  uint4 w[32];  ///< as lanes have it: two words of the lower bits of an output, two of the upper ones
  std::uint32_t lower[warps][words], upper[warps][words];
  NodeId row[warps];
  ProductColumns columns;
};

template <class Packing, unsigned Lanes, Ends ends>
struct PlaneKernel {
  using End = RowEnd<ends>;
  using Args = SumArgs<ends>;
  static constexpr bool multiplies = ends == Ends::product;
  static constexpr unsigned sets = 32 / Lanes;
  static constexpr unsigned slice = Lanes * part_columns;  ///< columns of a block
  static constexpr unsigned block_rows = threads / Lanes;
  /// Columns of a longer row that a lane ends, as join_rows() leaves them.
  static constexpr unsigned lane_columns = slice / 32;
  static constexpr std::uint32_t warp_round = batch * sets;
  using Short = LanePlanes<short_planes>;
  using Long = LanePlanes<long_planes>;

  /// Levels of 32 columns, as planes.
  struct WordOfLevels {
    std::uint32_t lower, upper;
  };

  struct Storage {
    SumPlace place[slice];
    std::uint32_t hub_sums[slice];
    std::conditional_t<multiplies, PlaneTile<Lanes>, NoProduct> tile;
  };

  const Args& args;
  const PlaneBlocks& blocks;
  const Thresholds& thresholds;
  Storage& storage;
  const LevelRule rule;
  const PartReader<4> read;
  const std::size_t first_column = std::size_t{blockIdx.y} * slice;

  __device__ PlaneKernel(const Args& the_args, const PlaneBlocks& the_blocks, const Thresholds& the_thresholds,
                         Storage& the_storage)
      : args(the_args),
        blocks(the_blocks),
        thresholds(the_thresholds),
        storage(the_storage),
        rule(args.epilogue, args.out.levels.bits),
        read(args.x, blockIdx.y * Lanes + threadIdx.x % Lanes) {}

  /// The level of a sum; `column` is one of the block's.
  [[nodiscard]] __device__ int level_of(const End& end, unsigned column, std::uint32_t sum) const {
    return level_of_sum<ends>(args, rule, end, storage.place[column], first_column + column, sum);
  }

  /// Behind it the kernels before this one are done, and the block has its columns. For a whole block.
  __device__ void bring_columns() {
    wait_for_previous_kernel();
    for (unsigned c = threadIdx.x; c < slice; c += threads)
      storage.place[c] = SumPlace(args, args.x.ncols, first_column + c);
    bring_product();
    __syncthreads();
  }

  /// For a whole block, before a barrier.
  __device__ void bring_product() {
    if constexpr (multiplies) {
      auto& tile = storage.tile;
      if (threadIdx.x < 32) tile.w[threadIdx.x] = __ldg(thresholds.w + threadIdx.x);
      if (threadIdx.x < warps) tile.row[threadIdx.x] = no_row;
      tile.columns.fill(args, 32);
    }
  }

  /// Of eight rows, a lane has four words of one: `levels` as a short row leaves them.
  __device__ void multiply(NodeId row, const WordOfLevels (&levels)[part_words]) const {
    if constexpr (multiplies) {
      constexpr std::uint32_t ones = ~0U;
      const std::uint32_t x[4] = {levels[0].lower, levels[0].upper, levels[1].lower, levels[1].upper};
      const uint4 w = storage.tile.w[threadIdx.x % 32];
      std::int32_t by_lower[4] = {}, by_upper[4] = {}, of_levels[4] = {};
      mma::multiply_bits(by_lower, x, w.x, w.y);
      mma::multiply_bits(by_upper, x, w.z, w.w);
      mma::multiply_bits(of_levels, x, ones, ones);
      const auto sum = [&](unsigned n) {
        return by_lower[n] + 2 * (by_lower[n + 2] + by_upper[n]) + 4 * by_upper[n + 2];
      };
      const ProductEnd end{args, storage.tile.columns};
      end.store(row, sum(0), sum(1), of_levels[0] + 2 * of_levels[2]);
    }
  }

  /// Longer rows of a block, behind a barrier: a row a quad. By one warp.
  __device__ void multiply_longer() const {
    if constexpr (multiplies) {
      __syncthreads();
      if (threadIdx.x >= 32) return;
      const unsigned row = threadIdx.x / 4, first = threadIdx.x % 4 * part_words;
      WordOfLevels levels[part_words];
#pragma unroll
      for (unsigned w = 0; w < part_words; ++w)
        levels[w] = {storage.tile.lower[row][first + w], storage.tile.upper[row][first + w]};
      multiply(storage.tile.row[row], levels);
    }
  }

  /// A short row for each set, or none.
  __device__ void take_short_row(const TakenRow& taken) {
    Short sums;
    add_neighbors<Lanes, 1>(sums, read, taken.columns, taken.n, 0, batch, [&] {
      wait_for_previous_kernel();
      bring_product();
    });
    if constexpr (multiplies) __syncthreads();
    const std::size_t column = first_column + threadIdx.x % Lanes * part_columns;
    const bool exists = taken.row != no_row && column < args.x.ncols;
    if (!multiplies && !exists) return;
    WordOfLevels levels[part_words] = {};
    if (exists) {
      const End end(args, taken);
      const RowScales scales = scales_of(end);
#pragma unroll
      for (unsigned w = 0; w < part_words; ++w) {
        const auto word = static_cast<unsigned>(column / 32) + w;
        const bool known = thresholds.scales[thresholds.index(taken.n, word)].same_as(scales);
        levels[w] = known ? levels_by_thresholds(sums.of[w], thresholds.of(taken.n, word))
                          : levels_by_numbers(sums.of[w], end, column + w * 32);
      }
    }
    multiplies ? multiply(taken.row, levels) : store_short(taken.row, column, levels);
  }

  __device__ void store_short(NodeId taken, std::size_t column, const WordOfLevels (&levels)[part_words]) const {
    std::uint8_t* const row = args.out.levels.row(taken);
    if constexpr (Packing::packed) {
      static_assert(part_words == 2);
      *reinterpret_cast<uint4*>(row + column / part_columns * sizeof(uint4)) = {levels[0].lower, levels[1].lower,
                                                                                levels[0].upper, levels[1].upper};
    } else {
      auto* const to = reinterpret_cast<uint4*>(row + column / 2);
#pragma unroll
      for (unsigned w = 0; w < part_words; ++w) {
        const auto nibbles_of = [&](unsigned j) { return levels_of_planes(levels[w].lower, levels[w].upper, j); };
        to[w] = {nibbles_of(0), nibbles_of(1), nibbles_of(2), nibbles_of(3)};
      }
    }
  }

  [[nodiscard]] static __device__ WordOfLevels levels_by_thresholds(const SlicedSums<short_planes>& sums,
                                                                    const WordThresholds& its) {
    std::uint32_t reaches[most_levels];
#pragma unroll
    for (unsigned k = 0; k < most_levels; ++k) {
      std::uint32_t plane[short_planes];
      its.load(plane, k);
      reaches[k] = ~0U;
#pragma unroll
      for (int p = 0; p < short_planes; ++p)
        reaches[k] = (sums.plane[p] & ~plane[p]) | (~(sums.plane[p] ^ plane[p]) & reaches[k]);
    }
    return {(reaches[0] & ~reaches[1]) | reaches[2], reaches[1]};
  }

  /// Of 32 columns from `first` on. Rare.
  [[nodiscard]] __device__ WordOfLevels levels_by_numbers(const SlicedSums<short_planes>& sums, const End& end,
                                                          std::size_t first) const {
    WordOfLevels levels = {};
#pragma unroll 1
    for (unsigned bit = 0; bit < 32; ++bit) {
      const unsigned c = Packing::column_of_bit(bit);
      const SumPlace at(args, args.x.ncols, first + c);
      const auto level =
          static_cast<std::uint32_t>(level_of_sum<ends>(args, rule, end, at, first + c, sums.sum_at(bit)));
      levels.lower |= (level & 1U) << bit;
      levels.upper |= level >> 1 << bit;
    }
    return levels;
  }

  /// The first column of the block's that a lane ends of a longer row, behind join_rows().
  [[nodiscard]] static __device__ unsigned first_ended() {
    const unsigned lane = threadIdx.x % 32;
    return (lane % Lanes * part_words + word_of_lane<Lanes>()) * 32 + lane / (Lanes * part_words) * lane_columns;
  }

  /// Writes `lane_columns` levels of a row, level_at(n), of each lane of a warp.
  template <class LevelAt>
  __device__ void write(NodeId row, unsigned first, const LevelAt& level_at) {
    if constexpr (Packing::packed) return write_planes(row, first, level_at);
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

  /// The same in planes. Lanes that have columns of one word put it together.
  template <class LevelAt>
  __device__ void write_planes(NodeId row, unsigned first, const LevelAt& level_at) {
    const bool exists = first_column + first < args.x.ncols;
    WordOfLevels levels = {};
#pragma unroll
    for (unsigned n = 0; n < lane_columns; ++n) {
      const std::uint32_t level = exists ? static_cast<std::uint32_t>(level_at(n)) : 0;
      levels.lower |= (level & 1U) << (first % 32 + n);
      levels.upper |= level >> 1 << (first % 32 + n);
    }
#pragma unroll
    for (unsigned apart = part_words * Lanes; apart < 32; apart *= 2) {
      levels.lower |= __shfl_xor_sync(full_warp, levels.lower, apart);
      levels.upper |= __shfl_xor_sync(full_warp, levels.upper, apart);
    }
    if constexpr (multiplies) {
      if (first % 32 != 0) return;
      const unsigned place = threadIdx.x / 32;
      storage.tile.lower[place][first / 32] = levels.lower;
      storage.tile.upper[place][first / 32] = levels.upper;
      if (first == 0) storage.tile.row[place] = row;
      return;
    }
    if (first % 32 != 0 || !exists) return;
    const std::size_t column = first_column + first;
    auto* const to =
        reinterpret_cast<std::uint32_t*>(args.out.levels.row(row) + column / part_columns * sizeof(uint4)) +
        column % part_columns / 32;
    to[0] = levels.lower;
    to[part_words] = levels.upper;
  }

  /// A row that the sets of a warp share.
  __device__ void take_warp_row(const TakenRow& taken) {
    Long sums;
    add_neighbors<Lanes, sets>(sums, read, taken.columns, taken.n, 0, warp_round, [&] { bring_columns(); });
    const auto joined = join_rows<Lanes>(sums);
    if (taken.row == no_row) return;
    const End end(args, taken);
    const unsigned first = first_ended();
    write(taken.row, first, [&](unsigned n) {
      return level_of(end, first + n, joined.sum_at(Packing::bit_of_column((first + n) % 32)));
    });
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
        atomicAdd(storage.hub_sums + first + n, joined.sum_at(Packing::bit_of_column((first + n) % 32)));
    }
    __syncthreads();
    if (threadIdx.x >= 32) return;
    const End end(args, taken);
    write(taken.row, first, [&](unsigned n) { return level_of(end, first + n, storage.hub_sums[first + n]); });
  }

  __device__ void run() {
    const unsigned block = blockIdx.x;
    if (block < blocks.hubs) {
      take_hub(TakenRow(args, std::size_t{block}, blocks.hubs));
      return multiply_longer();
    }
    if (block < blocks.end_of_warps) {
      const std::size_t place = blocks.hubs + std::size_t{block - blocks.hubs} * warps + threadIdx.x / 32;
      take_warp_row(TakenRow(args, place, blocks.warp_rows));
      return multiply_longer();
    }
    const std::size_t first = blocks.warp_rows + std::size_t{block - blocks.end_of_warps} * block_rows;
    take_short_row(TakenRow(args, first + threadIdx.x / Lanes, args.a.nrows));
  }
};

/// `args.x` are planes, as they came or as the kernel before has made them.
template <class Packing, unsigned Lanes, Ends ends>
__global__ void __launch_bounds__(threads, tuning.plane_blocks)
    level_spmm_planes(const __grid_constant__ SumArgs<ends> args, const __grid_constant__ PlaneBlocks blocks,
                      const __grid_constant__ Thresholds thresholds) {
  trigger_dependent_launch();
  __shared__ typename PlaneKernel<Packing, Lanes, ends>::Storage storage;
  PlaneKernel<Packing, Lanes, ends>(args, blocks, thresholds, storage).run();
}

/// Thresholds of rows of one length in 32 columns, by a warp.
template <Ends ends>
struct FindThresholds {
  const LevelSpmmArgs& args;
  const LevelRule rule;
  const RowEnd<ends> end;
  const std::uint32_t neighbors;
  const std::size_t column;
  const SumPlace at;

  __device__ FindThresholds(const LevelSpmmArgs& of, const TakenRow& row, std::size_t its_column)
      : args(of),
        rule(of.epilogue, of.out.levels.bits),
        end(of, row),
        neighbors(row.n),
        column(its_column),
        at(of, of.x.ncols, its_column) {}

  /// Whether larger sums have lower levels.
  [[nodiscard]] __device__ bool falls() const { return at.by_step * end.row_scale < 0 || end.late.factor < 0; }

  /// The least sum that has level `level` or a higher one; behind the greatest sum, where none has.
  [[nodiscard]] __device__ std::uint32_t least_sum(int level) const {
    const auto reaches = [&](std::uint32_t sum) {
      return level_of_sum<ends>(args, rule, end, at, column, sum) >= level;
    };
    const std::uint32_t end_of_sums = most_levels * neighbors + 1;
    float place = static_cast<float>(level) - (rule.nearest ? 0.5F : 0.0F);
    if constexpr (ends == Ends::by_rows) place = (place - end.late.shift) / end.late.factor;
    const float near = (place - at.by_offset * end.count - at.shift) / (at.by_step * end.row_scale);
    std::uint32_t sum = !(near > 0)                              ? 0
                        : near < static_cast<float>(end_of_sums) ? static_cast<std::uint32_t>(near)
                                                                 : end_of_sums;
    while (sum < end_of_sums && !reaches(sum)) ++sum;
    while (sum > 0 && reaches(sum - 1)) --sum;
    return sum;
  }
};

/// How many rows have d entries or more, for each length and the next one.
struct Lengths {
  NodeId at_least[lengths + 1];
};

/// Of rows of `length` entries, in columns 32 `word` .. 32 `word` + 31, by a warp.
template <class Packing, Ends ends>
__device__ void find_thresholds(const LevelSpmmArgs& args, const Lengths& rows, const Thresholds& to, unsigned length,
                                unsigned word) {
  const NodeId first = rows.at_least[length + 1];
  if (first == rows.at_least[length]) return;
  const unsigned lane = threadIdx.x % 32;
  const FindThresholds<ends> found(args, TakenRow(args, std::size_t{first}, args.a.nrows),
                                   std::size_t{word} * 32 + Packing::column_of_bit(lane));
  std::uint32_t kept = 0;
#pragma unroll
  for (unsigned k = 0; k < most_levels; ++k) {
    const std::uint32_t threshold = found.least_sum(static_cast<int>(k) + 1);
#pragma unroll
    for (int p = 0; p < short_planes; ++p) {
      const unsigned bits = __ballot_sync(full_warp, (threshold >> p & 1U) != 0);
      if (lane == k * short_planes + static_cast<unsigned>(p)) kept = bits;
    }
  }
  if (lane < plane_threshold_words) to.of(length, word).words[lane] = kept;
  const bool falls = __any_sync(full_warp, found.falls());
  if (lane == 0) to.scales[to.index(length, word)] = scales_of(found.end, !falls);
}

/// Word `word` of both planes of an output's row of W, by a warp, where the lanes that multiply it have it.
__device__ void find_planes_of_w(const SumProductArgs& args, uint4* to, unsigned output, unsigned word) {
  const unsigned lane = threadIdx.x % 32, column = word * 32 + lane;
  const bool exists = output < args.outputs && column < args.x.ncols;
  const unsigned level = exists ? __ldg(args.w_rows + output * args.w_row_bytes + column) : 0;
  const unsigned lower = __ballot_sync(full_warp, (level & 1U) != 0), upper = __ballot_sync(full_warp, level >> 1 != 0);
  auto* const own = reinterpret_cast<std::uint32_t*>(to + output * 4 + word / part_words);
  if (lane == 0) own[word % part_words] = lower, own[part_words + word % part_words] = upper;
}

/// Planes of X, unless it comes in planes, 64 columns of a row a thread; behind these blocks, thresholds, a word of a
/// length a warp, and words of W.
template <class Packing, Ends ends>
__global__ void __launch_bounds__(threads)
    planes_of_levels(const __grid_constant__ SumArgs<ends> args, const __grid_constant__ Lengths rows,
                     const __grid_constant__ Thresholds thresholds, uint4* planes, unsigned plane_blocks) {
  trigger_dependent_launch();
  wait_for_previous_kernel();
  const auto parts = static_cast<unsigned>(args.x.ncols / part_columns);
  if (blockIdx.x >= plane_blocks) {
    const unsigned task = (blockIdx.x - plane_blocks) * warps + threadIdx.x / 32, words = parts * part_words;
    if (task < lengths * words) find_thresholds<Packing, ends>(args, rows, thresholds, task / words, task % words);
    if constexpr (ends == Ends::product) {
      const unsigned of_w = task - lengths * words, row_words = sum_product_columns / 32;
      if (task >= lengths * words && of_w < outputs * row_words)
        find_planes_of_w(args, thresholds.w, of_w / row_words, of_w % row_words);
    }
    return;
  }
  const std::size_t item = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (item >= args.x.nrows * parts) return;
  const auto* const from = reinterpret_cast<const uint4*>(args.x.row(item / parts)) + item % parts * part_words;
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

template <class Packing, unsigned Lanes, Ends ends>
void launch_rows(const Device& device, const SumArgs<ends>& args, const Thresholds& thresholds, unsigned slices) {
  using Made = PlaneKernel<Packing, Lanes, ends>;
  const auto rows_from = [&](EdgeOffset entries) { return rows_of_at_least(args.row_order, entries); };
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
  static ProgrammaticKernel kernel(level_spmm_planes<Packing, Lanes, ends>, "level_spmm_planes",
                                   FirstLevelCache::large);
  kernel.launch(device, dim3(count, slices), threads, 0, args, blocks, thresholds);
}

/// The memory of a call, by what lies there: planes that are made of X, then thresholds.
template <class Packing>
struct Memory {
  unsigned parts;
  std::size_t items;  ///< planes that are made
  uint4* planes;
  Thresholds thresholds;

  explicit Memory(const LevelSpmmArgs& args)
      : parts(static_cast<unsigned>(args.x.ncols / part_columns)),
        items(Packing::packed ? 0 : args.x.nrows * parts),
        planes(reinterpret_cast<uint4*>(args.planes.data())) {
    thresholds.row_words = parts * part_words;
    thresholds.scales = reinterpret_cast<RowScales*>(planes + items);
    thresholds.words = reinterpret_cast<std::uint32_t*>(thresholds.scales + lengths * thresholds.row_words);
    thresholds.w = reinterpret_cast<uint4*>(thresholds.words +
                                            std::size_t{lengths} * thresholds.row_words * plane_threshold_words);
  }
};

/// Planes of X, where there are none, and thresholds.
template <class Packing, Ends ends>
void prepare(const Device& device, const SumArgs<ends>& args) {
  const Memory<Packing> memory(args);
  Lengths rows;
  std::ranges::copy(args.rows_of_few, rows.at_least);
  const unsigned plane_blocks = Packing::packed ? 0 : blocks_for(memory.items, threads);
  const unsigned of_w = ends == Ends::product ? outputs * sum_product_columns / 32 : 0;
  const unsigned words = lengths * memory.thresholds.row_words + of_w;
  static ProgrammaticKernel kernel(planes_of_levels<Packing, ends>, "planes_of_levels");
  kernel.launch(device, dim3(plane_blocks + blocks_for(words, warps)), threads, 0, args, rows, memory.thresholds,
                memory.planes, plane_blocks);
}

template <class Packing, Ends ends>
void add(const Device& device, const LevelSpmmArgs& args) {
  constexpr unsigned most_lanes = 4;
  const Memory<Packing> memory(args);
  LevelSpmmArgs of_planes = args;
  if constexpr (!Packing::packed) of_planes.x.data = reinterpret_cast<const std::uint8_t*>(memory.planes);
  of_planes.x.row_bytes = std::size_t{memory.parts} * sizeof(uint4);
  if (memory.parts == 1) return launch_rows<Packing, 1, ends>(device, of_planes, memory.thresholds, 1);
  if (memory.parts == 2) return launch_rows<Packing, 2, ends>(device, of_planes, memory.thresholds, 1);
  launch_rows<Packing, most_lanes, ends>(device, of_planes, memory.thresholds,
                                         (memory.parts + most_lanes - 1) / most_lanes);
}

/// Calls fn.operator()<Packing, ends>() as the arguments say.
template <class Fn>
void dispatch(const LevelSpmmArgs& args, const Fn& fn) {
  const auto with_ends = [&]<Ends ends>() {
    args.x.in_planes() ? fn.template operator()<InPlanes, ends>() : fn.template operator()<FromNibbles, ends>();
  };
  args.epilogue.is_late() ? with_ends.template operator()<Ends::by_rows>()
                          : with_ends.template operator()<Ends::plain>();
}

void prepare_product(const Device& device, const SumProductArgs& args) {
  prepare<InPlanes, Ends::product>(device, args);
}
void add_product(const Device& device, const SumProductArgs& args) {
  SumProductArgs of_planes = args;
  const Memory<InPlanes> memory(args);
  of_planes.x.row_bytes = std::size_t{memory.parts} * sizeof(uint4);
  launch_rows<InPlanes, 4, Ends::product>(device, of_planes, memory.thresholds, 1);
}

}  // namespace

}  // namespace level_cuda

void sum_product_planes(const Device& device, const SumProductArgs& args) {
  if (!args.prepared) level_cuda::prepare_product(device, args);
  level_cuda::add_product(device, args);
}

void sum_product_prepare(const Cuda& backend, const SumProductArgs& args) {
  level_cuda::prepare_product(backend.device, args);
}

void level_spmm_by_planes(const Device& device, const LevelSpmmArgs& args) {
  using namespace level_cuda;
  dispatch(args, [&]<class Packing, Ends ends>() {
    if (!args.prepared) prepare<Packing, ends>(device, args);
    add<Packing, ends>(device, args);
  });
}

void level_spmm_prepare(const Cuda& backend, const LevelSpmmArgs& args) {
  using namespace level_cuda;
  dispatch(args, [&]<class Packing, Ends ends>() { prepare<Packing, ends>(backend.device, args); });
}

}  // namespace bitgraph
