// SPDX-License-Identifier: Apache-2.0
// Sums of levels over neighbours on a CUDA device. A lane has 8 or 16 bytes of the rows of X, and as many lanes as a
// row takes are a set. A set adds up a short row, a warp's sets share a longer one, a block's warps share a hub. Levels
// of 4 or 8 bits are added packed, in sums of 16 bits, and become numbers once a row.
#pragma once

#include "core/cuda/join_lanes.cuh"
#include "core/cuda/launch.cuh"
#include "ops/spmm/levels/cuda/gather.cuh"
#include "ops/spmm/levels/cuda/product.cuh"
#include "ops/spmm/levels/cuda/store.cuh"
#include "ops/spmm/levels/cuda/sums.cuh"
#include "ops/spmm/levels/tuning.hpp"

#include <algorithm>
#include <bit>

namespace bitgraph::level_cuda {

namespace {

constexpr unsigned threads = tuning.block_threads;
constexpr unsigned warps = threads / 32;
constexpr unsigned most_lanes = tuning.most_lanes;
constexpr unsigned narrow_lanes = 4;  ///< that share short rows of eight bytes
constexpr unsigned middle_lanes = 8;  ///< that share longer ones
static_assert(tuning.warp_row_a_lane <= narrow_lanes * batch, "no short row is longer");

/// What a block knows of its columns. Lanes of a set read neighbouring places; behind each unit some are left out, so
/// that sets that read different units read different banks.
template <unsigned Lanes, unsigned Features>
struct BlockColumns {
  static constexpr unsigned pitch = (unit + 1) * Lanes;
  SumPlace place[Features / unit * pitch];

  [[nodiscard]] __device__ static unsigned index(unsigned feature, unsigned lane) {
    return feature / unit * pitch + feature % unit * Lanes + lane;
  }
  __device__ void fill(const LevelSpmmArgs& args, std::size_t first) {
    for (unsigned n = threadIdx.x; n < Lanes * Features; n += threads)
      place[index(n % Features, n / Features)] = SumPlace(args, args.x.ncols, first + n);
  }
};

/// The rows that blocks take, longest first: hubs that blocks share, hubs that have a block, rows that have a warp,
/// rows of eight bytes that a part of a warp has, rows that a set has.
struct RowBlocks {
  NodeId shared_hubs = 0, hubs = 0, warp_rows = 0, middle_rows = 0;  ///< where each ends in the order
  unsigned end_of_shared = 0, end_of_hubs = 0, end_of_warps = 0, end_of_middle = 0;
  unsigned rows_of_warp = 0;  ///< without an order: rows that a warp takes
};

/// How a lane reads its part of a row of X.
enum class PartShape : unsigned char {
  two_words,   ///< of eight bytes
  four_words,  ///< of 16 bytes, where rows begin at multiples of them
  halves       ///< of 16 bytes in two loads
};

template <unsigned Bits, PartShape shape, unsigned Lanes, Ends ends>
struct Kernel {
  using Args = SumArgs<ends>;
  static constexpr bool multiplies = ends == Ends::product;
  static constexpr unsigned words = shape == PartShape::two_words ? 2 : 4;
  using Reader = PartReader<words, shape == PartShape::halves>;
  using End = RowEnd<ends>;
  using Levels = LaneLevels<Bits, words>;
  static constexpr unsigned features = Levels::features;
  static constexpr unsigned sets = 32 / Lanes;
  static constexpr unsigned slice = Lanes * features;               ///< columns of a block
  static constexpr bool narrow = Lanes == 1 && Levels::units == 1;  ///< rows are eight bytes
  /// Entries to which a set has a row, a power of two.
  static constexpr std::uint32_t short_row = tuning.warp_row_a_lane * Lanes;
  /// Entries from which a warp has a row, a power of two: what sets, or a part of a warp, add up fits 16 bits.
  static constexpr std::uint32_t warp_row =
      std::min<std::uint32_t>(narrow ? tuning.narrow_warp_row : short_row, std::bit_floor(Levels::most_neighbors));
  /// Entries of a row that a warp has on their way at a time.
  static constexpr std::uint32_t warp_round = batch * sets;
  static_assert(tuning.most_rounds * warp_round <= Levels::most_neighbors * sets &&
                    (multiplies || tuning.stored_hub_row <= Levels::most_neighbors * sets),
                "a warp's sums fit 16 bits");

  /// Where few hubs take long a hub's columns are shared out to blocks: its time is that of its rounds of loads, and of
  /// narrow parts of rows more are on their way.
  static constexpr unsigned hub_lanes = Lanes < tuning.hub_lanes ? Lanes : tuning.hub_lanes;
  static constexpr unsigned hub_slices = Lanes / hub_lanes;

  /// Sets that change units of their rows, so that each has one unit of all. What a unit needs then serves many rows.
  static constexpr unsigned turn = Levels::units;
  static constexpr unsigned turn_pitch = 32 + Lanes;  ///< different units lie in different banks
  static_assert(sets % turn == 0);

  /// Rows of short ones are those of their sets, longer ones the first of their warps.
  using Tile = std::conditional_t<multiplies, ProductTile<Bits, warps * sets, slice>, NoProduct>;

  static constexpr unsigned value_pitch = unit + 1;  ///< lanes that have rows write to different banks

  struct Storage {
    BlockColumns<Lanes, features> columns;
    union {
      uint4 turned[warps][turn * turn_pitch];
      float values[warps][narrow ? 32 * value_pitch : 1];
      std::uint32_t hub_sums[slice];
    };
    NodeId hubs[warps * sets];
    unsigned num_hubs;
    Tile tile;
  };

  const Args& args;
  const RowBlocks& blocks;
  Storage& storage;
  Reader read;

  __device__ Kernel(const Args& the_args, const RowBlocks& the_blocks, Storage& the_storage)
      : args(the_args),
        blocks(the_blocks),
        storage(the_storage),
        read(args.x, blockIdx.y * Lanes + threadIdx.x % Lanes) {}

  /// Behind it the kernels before this one are done, and the block has its columns. For a whole block.
  __device__ void bring_columns() {
    wait_for_previous_kernel();
    if constexpr (multiplies) storage.tile.fill(args);
    if (multiplies || args.out.values.data != nullptr || args.out.levels.data != nullptr)
      storage.columns.fill(args, std::size_t{blockIdx.y} * slice);
    __syncthreads();
  }

  /// Eight features from `first` on of part `lane` of `Rows` rows, and who stores values: put, or the lane.
  template <unsigned Rows, class RowOf, class SumsOf, class... Put>
  __device__ void write(unsigned lane, unsigned first, const RowOf& row_of, const SumsOf& sums_of, const Put&... put) {
    const SumPlace* const places = storage.columns.place + storage.columns.index(first, lane);
    const std::size_t column = std::size_t{blockIdx.y} * slice + lane * features + first;
    store_unit<ends, Rows>(
        args, column, row_of, sums_of, [&](unsigned n) { return places[n * Lanes]; }, put...);
  }
  /// The same of rows that have places in the tile.
  template <unsigned Rows, class RowOf, class SumsOf, class PlaceOf>
  __device__ void write_or_keep(unsigned lane, unsigned first, const RowOf& row_of, const SumsOf& sums_of,
                                const PlaceOf& place_of) {
    if constexpr (multiplies) {
      write<Rows>(lane, first, row_of, sums_of, [&](unsigned m, const auto& level_of) {
        storage.tile.put(place_of(m), lane * features + first, level_of);
      });
    } else {
      write<Rows>(lane, first, row_of, sums_of);
    }
  }
  template <bool Small>
  __device__ void write_row(const TakenRow& taken, unsigned lane, unsigned first, const std::uint32_t* sums,
                            unsigned place) {
    const End end(args, taken);
    write_or_keep<1>(
        lane, first, [&](unsigned) { return end; }, [&](unsigned) { return PlainSums<Small, std::uint32_t>{sums}; },
        [&](unsigned) { return place; });
  }

  /// Says which row a place of the tile has; by one lane.
  __device__ void name_row(unsigned place, const TakenRow& taken) {
    if constexpr (multiplies) storage.tile.row[place] = taken.row;
  }
  /// For a whole block, behind its rows.
  __device__ void end_rows() {
    if constexpr (multiplies) storage.tile.multiply(args);
  }

  /// A short row for each set, or none. Calls wait() once.
  template <class Wait>
  __device__ void take_short_row(const TakenRow& taken, const Wait& wait) {
    Levels sums;
    add_neighbors<Lanes, 1>(sums, read, taken.columns, taken.n, 0, batch, wait);
    const End own(args, taken);
    const unsigned lane = threadIdx.x % 32, set = lane / Lanes, first_place = threadIdx.x / 32 * sets;
    if (lane % Lanes == 0) name_row(first_place + set, taken);
    if constexpr (turn == 1) {
      write_or_keep<1>(
          lane % Lanes, 0, [&](unsigned) { return own; }, [&](unsigned) { return sums.unit(0); },
          [&](unsigned) { return first_place + set; });
    } else {
      uint4* const turned = storage.turned[threadIdx.x / 32];
#pragma unroll
      for (unsigned u = 0; u < turn; ++u) {
        const PackedSums<Bits> its = sums.unit(u);
        turned[u * turn_pitch + lane] = {its.pair[0], its.pair[1], its.pair[2], its.pair[3]};
      }
      __syncwarp();
      const auto lane_of = [&](unsigned m) { return (set / turn * turn + m) * Lanes + lane % Lanes; };
      write_or_keep<turn>(
          lane % Lanes, set % turn * unit, [&](unsigned m) { return End(own, lane_of(m)); },
          [&](unsigned m) {
            const uint4 its = turned[set % turn * turn_pitch + lane_of(m)];
            return PackedSums<Bits>{{its.x, its.y, its.z, its.w}};
          },
          [&](unsigned m) { return first_place + lane_of(m) / Lanes; });
    }
  }

  /// Neighbouring lanes have parts of the sums; afterwards each has them all.
  template <unsigned Sharing>
  static __device__ void join_pairs(Levels& sums) {
#pragma unroll
    for (std::uint32_t& pair : sums.pair) {
      for (unsigned apart = 1; apart < Sharing; apart *= 2) pair += __shfl_xor_sync(full_warp, pair, apart);
    }
  }

  /// Short rows of eight levels: a lane for each would read columns far from those of the next lane. Four lanes share
  /// a row, four rows after one another, and each lane stores one of them. Calls wait() once.
  template <class Wait>
  __device__ void take_narrow_rows(std::size_t first, const Wait& wait) {
    const unsigned own = threadIdx.x % narrow_lanes, set = threadIdx.x % 32 / narrow_lanes;
    TakenRow taken[narrow_lanes];
    NodeId column[narrow_lanes][batch];
    std::uint32_t n = 0;
#pragma unroll
    for (unsigned r = 0; r < narrow_lanes; ++r) {
      taken[r] = TakenRow(args, first + r * (32 / narrow_lanes) + set, args.a.nrows);
      n = max(n, taken[r].n);
    }
#pragma unroll
    for (unsigned r = 0; r < narrow_lanes; ++r) {
#pragma unroll
      for (unsigned k = 0; k < batch; ++k) {
        const unsigned at = k * narrow_lanes + own;
        column[r][k] = at < taken[r].n ? __ldg(taken[r].columns + at) : 0;
      }
    }
    wait();
    const bool any_longer = __reduce_max_sync(full_warp, n) > narrow_lanes * batch / 2;
    PackedSums<Bits> kept = {};
    TakenRow kept_row;
#pragma unroll
    for (unsigned r = 0; r < narrow_lanes; ++r) {
      Levels sums;
      const auto add_half = [&](unsigned from) {
        Part<words> parts[batch / 2] = {};
#pragma unroll
        for (unsigned k = 0; k < batch / 2; ++k) {
          if ((from + k) * narrow_lanes + own < taken[r].n) parts[k] = read(column[r][from + k]);
        }
        sums.add(parts, read.few);
      };
      add_half(0);
      if (any_longer) add_half(batch / 2);
      join_pairs<narrow_lanes>(sums);
      sums.separate();
      if (own == r) kept = sums.unit(0), kept_row = taken[r];
    }
    const End end(args, kept_row);
    write<1>(
        0, 0, [&](unsigned) { return end; }, [&](unsigned) { return kept; },
        [&](NodeId row, const auto& value_of) { put_narrow_values(row, value_of); });
  }

  /// Longer rows of eight levels: eight lanes share a row, and one of them stores it. Calls wait() once.
  template <class Wait>
  __device__ void take_middle_row(const TakenRow& taken, const Wait& wait) {
    Levels sums;
    add_neighbors<1, middle_lanes>(sums, read, taken.columns, taken.n, 0, batch * middle_lanes, wait);
    join_pairs<middle_lanes>(sums);
    const TakenRow kept = threadIdx.x % middle_lanes == 0 ? taken : TakenRow(args, no_row);
    const End end(args, kept);
    write<1>(
        0, 0, [&](unsigned) { return end; }, [&](unsigned) { return sums.unit(0); },
        [&](NodeId row, const auto& value_of) { put_narrow_values(row, value_of); });
  }

  /// Values of rows of up to eight columns, each lane with a row, or none. Eight lanes store those of a row together,
  /// since rows that follow each other in the order lie far apart.
  template <class ValueOf>
  __device__ void put_narrow_values(NodeId row, const ValueOf& value_of) {
    float* const values = storage.values[threadIdx.x / 32];
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned n = 0; n < unit; ++n) values[lane * value_pitch + n] = value_of(n);
    __syncwarp();
    const DenseView<float>& out = args.out.values;
    const NodeId own = row == no_row ? no_row : static_cast<NodeId>(value_row_of(args.out, row));
    const unsigned column = lane % unit;
#pragma unroll
    for (unsigned first = 0; first < 32; first += 32 / unit) {
      const unsigned its = first + lane / unit;
      const NodeId to = __shfl_sync(full_warp, own, its);
      if (to != no_row && column < args.x.ncols)
        out.data[to * out.stride + column] = values[its * value_pitch + column];
    }
  }

  /// A row that the sets of a warp share.
  template <class Wait>
  __device__ void take_warp_row(const TakenRow& taken, const Wait& wait) {
    Levels sums;
    add_neighbors<Lanes, sets>(sums, read, taken.columns, taken.n, 0, batch * sets, wait);
    const auto joined = join_lanes<Lanes, unit>(numbers_of(sums));
    static_assert(joined.count == unit);
    const unsigned place = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) name_row(place, taken);
    if (taken.row != no_row && joined.writes)
      write_row<true>(taken, threadIdx.x % Lanes, joined.first, joined.sum, place);
  }

  /// `HubLanes` parts of a row that a block has, from the first one on. The block's warps take portions in turns, and
  /// add their sums to the block's before 16 bits could overflow.
  template <unsigned HubLanes>
  __device__ void take_hub(const TakenRow& taken, unsigned first_part) {
    constexpr unsigned hub_sets = 32 / HubLanes, hub_columns = HubLanes * features;
    constexpr std::uint32_t portion = batch * hub_sets;
    constexpr std::uint32_t stretch = Levels::most_neighbors / batch * portion * warps;
    const unsigned lane = threadIdx.x % HubLanes;
    const Reader read_part(args.x, blockIdx.y * Lanes + first_part + lane);
    for (unsigned c = threadIdx.x; c < hub_columns; c += threads) storage.hub_sums[c] = 0;
    __syncthreads();
    for (std::uint32_t at = 0; at < taken.n; at += min(stretch, taken.n - at)) {
      Levels sums;
      add_neighbors<HubLanes, hub_sets>(sums, read_part, taken.columns + at, min(stretch, taken.n - at),
                                        threadIdx.x / 32 * portion, warps * portion, [] {});
      const auto joined = join_lanes<HubLanes, 1>(numbers_of(sums));
#pragma unroll
      for (unsigned f = 0; f < joined.count; ++f) {
        if (joined.writes) atomicAdd(storage.hub_sums + lane * features + joined.first + f, joined.sum[f]);
      }
    }
    __syncthreads();
    if (threadIdx.x < hub_columns / unit) {
      const unsigned part = threadIdx.x * unit / features, first = threadIdx.x * unit % features;
      write_row<false>(taken, first_part + part, first, storage.hub_sums + threadIdx.x * unit, 0);
      if (threadIdx.x == 0) name_row(0, taken);
    }
    __syncthreads();
  }

  /// Rows in order: of one length side by side.
  __device__ void take_ordered() {
    const auto bring = [&] { bring_columns(); };
    const unsigned block = blockIdx.x;
    const auto row_at = [&](std::size_t place, std::size_t end) { return TakenRow(args, place, end); };
    if (block < blocks.end_of_shared) {
      const TakenRow hub = row_at(block / hub_slices, blocks.shared_hubs);
      bring();
      return take_hub<hub_lanes>(hub, block % hub_slices * hub_lanes);
    }
    if (block < blocks.end_of_hubs) {
      const TakenRow hub = row_at(blocks.shared_hubs + block - blocks.end_of_shared, blocks.hubs);
      bring();
      return take_hub<Lanes>(hub, 0);
    }
    if (block < blocks.end_of_warps) {
      const std::size_t place = std::size_t{block - blocks.end_of_hubs} * warps + threadIdx.x / 32;
      return take_warp_row(row_at(blocks.hubs + place, blocks.warp_rows), bring);
    }
    const std::size_t first = std::size_t{block - blocks.end_of_middle} * threads;
    if constexpr (narrow) {
      if (block < blocks.end_of_middle) {
        const std::size_t place = std::size_t{block - blocks.end_of_warps} * threads + threadIdx.x;
        return take_middle_row(row_at(blocks.warp_rows + place / middle_lanes, blocks.middle_rows), bring);
      }
      take_narrow_rows(blocks.middle_rows + first + threadIdx.x / 32 * 32, bring);
    } else {
      take_short_row(row_at(blocks.middle_rows + (first + threadIdx.x) / Lanes, args.a.nrows), bring);
    }
  }

  /// Rows as they are stored. A warp takes some consecutive ones: sets take the short ones, then the warp the longer
  /// ones; the block takes its hubs at the end.
  __device__ void take_stored() {
    if (threadIdx.x == 0) storage.num_hubs = 0;
    __syncthreads();
    const unsigned lane = threadIdx.x % 32;
    const std::size_t first = (std::size_t{blockIdx.x} * warps + threadIdx.x / 32) * blocks.rows_of_warp;
    const std::size_t place = first + lane / Lanes;
    const bool exists = lane / Lanes < blocks.rows_of_warp && place < args.a.nrows;
    const TakenRow taken = exists ? TakenRow(args, static_cast<NodeId>(place)) : TakenRow(args, no_row);
    const EdgeOffset longer = blocks.rows_of_warp < sets ? tuning.lone_longer : tuning.stored_warp_row;
    if (taken.n >= tuning.stored_hub_row && lane % Lanes == 0)
      storage.hubs[atomicAdd(&storage.num_hubs, 1U)] = taken.row;
    std::uint32_t others =
        __ballot_sync(full_warp, taken.n >= longer && taken.n < tuning.stored_hub_row && lane % Lanes == 0);
    take_short_row(taken.n < longer ? taken : TakenRow(args, no_row), [&] { bring_columns(); });
#pragma unroll 1
    for (; others != 0; others &= others - 1) {
      const auto row = static_cast<NodeId>(first + (__ffs(static_cast<int>(others)) - 1) / Lanes);
      take_warp_row(TakenRow(args, row), [] {});
    }
    __syncthreads();
#pragma unroll 1
    for (unsigned hub = 0; hub < storage.num_hubs; ++hub) take_hub<Lanes>(TakenRow(args, storage.hubs[hub]), 0);
  }
};

template <unsigned Bits, PartShape shape, unsigned Lanes, Ends ends>
__global__ void __launch_bounds__(threads,
                                  Bits == 8 && shape == PartShape::four_words ? tuning.byte_blocks : tuning.blocks)
    level_spmm_rows(const __grid_constant__ SumArgs<ends> args, const __grid_constant__ RowBlocks blocks) {
  trigger_dependent_launch();
  using Made = Kernel<Bits, shape, Lanes, ends>;
  __shared__ typename Made::Storage storage;
  Made kernel(args, blocks, storage);
  if constexpr (Made::multiplies) {
    kernel.take_ordered();
    kernel.end_rows();
  } else if (args.row_order.row == nullptr) {
    kernel.take_stored();
  } else {
    kernel.take_ordered();
  }
}

inline unsigned blocks_of(std::size_t items, unsigned block) { return items == 0 ? 0 : blocks_for(items, block); }

template <unsigned Bits, PartShape shape, unsigned Lanes, Ends ends>
void launch(const Device& device, const SumArgs<ends>& args, unsigned slices) {
  constexpr unsigned sets = 32 / Lanes;
  RowBlocks blocks;
  unsigned count = 0;
  if (args.row_order.row != nullptr) {
    using Made = Kernel<Bits, shape, Lanes, ends>;
    const auto rows_from = [&](EdgeOffset entries) { return rows_of_at_least(args.row_order, entries); };
    // What a warp, and then a block, takes for its row grows with the time that all rows take.
    const EdgeOffset least = Made::narrow ? tuning.narrow_rounds : tuning.least_rounds;
    const EdgeOffset rounds =
        std::clamp(args.a.num_entries * args.x.row_bytes / tuning.round_bytes, least, tuning.most_rounds);
    const EdgeOffset shared_row = std::max<EdgeOffset>(args.a.num_entries / tuning.shared_part, 2);
    blocks.hubs = rows_from(std::bit_floor(rounds) * Made::warp_round);
    if (!Made::multiplies && args.a.longest_row >= shared_row)
      blocks.shared_hubs = std::min(blocks.hubs, rows_from(shared_row));
    blocks.warp_rows = std::max(blocks.hubs, rows_from(Made::warp_row));
    blocks.middle_rows = Made::narrow ? std::max(blocks.warp_rows, rows_from(Made::short_row)) : blocks.warp_rows;
    blocks.end_of_shared = blocks.shared_hubs * Made::hub_slices;
    blocks.end_of_hubs = blocks.end_of_shared + blocks.hubs - blocks.shared_hubs;
    blocks.end_of_warps = blocks.end_of_hubs + blocks_of(blocks.warp_rows - blocks.hubs, warps);
    blocks.end_of_middle =
        blocks.end_of_warps + blocks_of(std::size_t{blocks.middle_rows - blocks.warp_rows} * middle_lanes, threads);
    count = blocks.end_of_middle + blocks_of(std::size_t{args.a.nrows - blocks.middle_rows} * Lanes, threads);
  } else {
    blocks.rows_of_warp = sets;
    while (blocks.rows_of_warp > 1 && args.a.nrows < blocks.rows_of_warp * tuning.busy_warps) blocks.rows_of_warp /= 2;
    count = blocks_of(args.a.nrows, warps * blocks.rows_of_warp);
  }
  if (count == 0) return;
  static ProgrammaticKernel kernel(level_spmm_rows<Bits, shape, Lanes, ends>, "level_spmm_rows",
                                   FirstLevelCache::large);
  kernel.launch(device, dim3(count, slices), threads, 0, args, blocks);
}

/// The fewest lanes that have a row of so many columns, `Least` to `Most`; wider rows go in slices.
template <unsigned Bits, PartShape shape, Ends ends, unsigned Least, unsigned Most>
void launch_lanes(const Device& device, const SumArgs<ends>& args, std::size_t columns) {
  constexpr std::size_t slice = Kernel<Bits, shape, Least, ends>::slice;
  if constexpr (Least < Most) {
    if (columns > slice) return launch_lanes<Bits, shape, ends, 2 * Least, Most>(device, args, columns);
  }
  launch<Bits, shape, Least, ends>(device, args, static_cast<unsigned>((columns + slice - 1) / slice));
}

/// Parts of 16 bytes. Of rows of up to 24 bytes parts of eight: lanes of larger ones would be alone, or half idle.
template <unsigned Bits, Ends ends>
void launch_parts(const Device& device, const LevelSpmmArgs& args) {
  constexpr std::size_t part = sizeof(uint4);
  const std::size_t bytes = args.x.row_bytes, columns = stored_columns(args.out, args.x.ncols);
  if (bytes % part == 0 && bytes > part)
    return launch_lanes<Bits, PartShape::four_words, ends, 2, most_lanes>(device, args, columns);
  if (bytes > 2 * part) return launch_lanes<Bits, PartShape::halves, ends, 4, most_lanes>(device, args, columns);
  launch_lanes<Bits, PartShape::two_words, ends, 1, 4>(device, args, columns);
}

}  // namespace

}  // namespace bitgraph::level_cuda
