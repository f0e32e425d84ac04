// SPDX-License-Identifier: Apache-2.0
// Sums of levels of up to two bits over neighbours on a CUDA device, levels of up to two bits out, by planes of bits:
// see planes.cuh. A lane has 64 columns. As many lanes as a row has parts are a set: it adds up a short row, a warp's
// sets share a longer one, a block's warps share a hub. Rows come longest first.
//
// What a sum becomes depends on its column, and on the row's number of neighbours and scale, which short rows of one
// length mostly have in common. So the least sum that reaches each level is there for each length
// (plane_thresholds.cu). A row of another scale, and a longer one, has its sums as numbers, one by one.
#include "core/cuda/launch.cuh"
#include "ops/spmm/levels/cuda/planes.cuh"
#include "ops/spmm/levels/cuda/product.cuh"

#include <algorithm>
#include <bit>

namespace bitgraph {

namespace level_cuda {

namespace {

constexpr int long_planes = 10;
static_assert(tuning.plane_warp_row <= lengths && tuning.plane_lone_row <= lengths);

/// The rows that blocks take, longest first: hubs that have a block, rows that have a warp, rows that a set has.
struct PlaneBlocks {
  NodeId hubs = 0, warp_rows = 0;  ///< where they end in the order
  unsigned end_of_warps = 0;
};

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

template <class Packing, Ends ends>
void add(const Device& device, const SumArgs<ends>& args) {
  constexpr unsigned most_lanes = 4;
  const PlaneMemory<Packing> memory(args);
  SumArgs<ends> of_planes = args;
  if constexpr (!Packing::packed) of_planes.x.data = reinterpret_cast<const std::uint8_t*>(memory.planes);
  of_planes.x.row_bytes = std::size_t{memory.parts} * sizeof(uint4);
  if constexpr (ends != Ends::product) {
    if (memory.parts == 1) return launch_rows<Packing, 1, ends>(device, of_planes, memory.thresholds, 1);
    if (memory.parts == 2) return launch_rows<Packing, 2, ends>(device, of_planes, memory.thresholds, 1);
  }
  launch_rows<Packing, most_lanes, ends>(device, of_planes, memory.thresholds,
                                         (memory.parts + most_lanes - 1) / most_lanes);
}

}  // namespace

}  // namespace level_cuda

void sum_product_planes(const Device& device, const SumProductArgs& args) {
  if (!args.prepared) sum_product_prepare(Cuda{device}, args);
  level_cuda::add<level_cuda::InPlanes, level_cuda::Ends::product>(device, args);
}

void level_spmm_by_planes(const Device& device, const LevelSpmmArgs& args) {
  using namespace level_cuda;
  if (!args.prepared) level_spmm_prepare(Cuda{device}, args);
  dispatch_planes(args, [&]<class Packing, Ends ends>() { add<Packing, ends>(device, args); });
}

}  // namespace bitgraph
