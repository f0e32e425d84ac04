// SPDX-License-Identifier: Apache-2.0
// Sums of levels over neighbours on a CUDA device. A lane has 8 or 16 bytes of the rows of X, and as many lanes as a
// row takes are a set. A set adds up a short row, a warp's sets share a longer one, a block's warps share a hub. Levels
// of 4 or 8 bits are added packed, in sums of 16 bits, and become numbers once a row.
#include "core/cuda/join_lanes.cuh"
#include "core/cuda/launch.cuh"
#include "ops/cuda_level_epilogue.cuh"
#include "ops/spmm/cuda/schedule/taken_row.cuh"
#include "ops/spmm/levels/args.hpp"
#include "ops/spmm/levels/sums.cuh"
#include "ops/spmm/levels/tuning.hpp"

#include <algorithm>
#include <bit>

namespace bitgraph {

namespace level_cuda {

namespace {

constexpr CudaLevelSpmmTuning tuning = cuda_level_spmm_tuning();
constexpr unsigned threads = tuning.block_threads;
constexpr unsigned warps = threads / 32;
constexpr unsigned batch = tuning.batch;
constexpr unsigned most_lanes = tuning.most_lanes;
constexpr unsigned least_stored = 8;  ///< levels that a lane stores at least: nibbles of a word
using spmm_cuda::no_row;
using spmm_cuda::TakenRow;

/// A row as it is stored.
struct RowEnd {
  NodeId row;
  float count;
  float row_scale;

  __device__ RowEnd(const LevelSpmmArgs& args, const TakenRow& taken)
      : row(taken.row),
        count(static_cast<float>(taken.n)),
        row_scale(args.row_scale == nullptr ? 1.0F : __ldg(args.row_scale + taken.row)) {}
};

__device__ inline float as_float(std::uint32_t sum) { return static_cast<float>(sum); }
__device__ inline float as_float(std::int64_t sum) { return static_cast<float>(sum); }

/// Writes some consecutive values of a row, as many as it has.
template <unsigned Count, class ValueOf>
__device__ void store_values(const DenseView<float>& out, NodeId row, std::size_t first, std::size_t ncols,
                             const ValueOf& value_of) {
  float* const to = out.data + row * out.stride + first;
  if (first + Count <= ncols && reinterpret_cast<std::uintptr_t>(to) % sizeof(float4) == 0) {
#pragma unroll
    for (unsigned n = 0; n < Count; n += 4)
      *reinterpret_cast<float4*>(to + n) = {value_of(n), value_of(n + 1), value_of(n + 2), value_of(n + 3)};
    return;
  }
#pragma unroll
  for (unsigned n = 0; n < Count; ++n) {
    if (first + n < ncols) to[n] = value_of(n);
  }
}

/// Stores `Count` consecutive columns of a row from `first` on, all that the output has of them. sum_of(n) is the sum
/// of column first + n, place_of(n) its SumPlace.
template <unsigned Count, bool small, class SumOf, class PlaceOf>
__device__ void store(const LevelSpmmArgs& args, const RowEnd& end, std::size_t first, const SumOf& sum_of,
                      const PlaceOf& place_of) {
  const LevelOut& out = args.out;
  const std::size_t ncols = args.x.ncols;
  if (out.sums.data != nullptr || out.wide_sums.data != nullptr) {
#pragma unroll
    for (unsigned n = 0; n < Count; ++n) {
      if (first + n >= ncols) break;
      if (out.sums.data != nullptr) {
        out.sums.data[end.row * out.sums.stride + first + n] = static_cast<std::int32_t>(sum_of(n));
      } else {
        out.wide_sums.data[end.row * out.wide_sums.stride + first + n] = static_cast<std::int64_t>(sum_of(n));
      }
    }
    return;
  }
  const LevelRule rule(args.epilogue, out.levels.data == nullptr ? 1 : out.levels.bits);
  const auto with = [&]<bool offsets>() {
    const auto place = [&](unsigned n, const SumPlace& column) {
      const float number = small ? small_float(static_cast<std::uint32_t>(sum_of(n))) : as_float(sum_of(n));
      return column.place<offsets>(number, end.count, end.row_scale);
    };
    if (out.values.data != nullptr) {
      store_values<Count>(out.values, end.row, first, ncols,
                          [&](unsigned n) { return rule.value(place(n, place_of(n))); });
      return;
    }
    store_levels<Count>(out.levels, end.row, first, [&](unsigned n) {
      const SumPlace column = place_of(n);
      return rule.level(place(n, column), column.least);
    });
  };
  args.x_scale.offsets != nullptr ? with.template operator()<true>() : with.template operator()<false>();
}

/// What a block knows of its columns, so laid out that the lanes of a set read neighbouring places.
template <unsigned Lanes, unsigned Features>
struct BlockColumns {
  SumPlace place[Features][Lanes];

  __device__ void fill(const LevelSpmmArgs& args, std::size_t first) {
    for (unsigned n = threadIdx.x; n < Lanes * Features; n += threads)
      place[n % Features][n / Features] = SumPlace(args, args.x.ncols, first + n);
  }
};

/// The rows of X as a lane reads them. Places are products of 32 bits: one instruction.
template <unsigned Words>
struct PartReader {
  const std::uint8_t* first;
  std::uint32_t row_bytes;
  bool reads;  ///< rows have this part

  __device__ PartReader(const QuantizedView<>& x, unsigned part)
      : first(x.data + std::size_t{part} * sizeof(Part<Words>)),
        row_bytes(static_cast<std::uint32_t>(x.row_bytes)),
        reads(part < row_bytes / sizeof(Part<Words>)) {}
  __device__ Part<Words> operator()(NodeId row) const {
    return __ldg(reinterpret_cast<const Part<Words>*>(first + std::uint64_t{row} * row_bytes));
  }
};

/// Adds neighbours of a row. `Sets` sets of `Lanes` lanes share its `n` columns, which begin at `cols`: they read a
/// portion of batch * Sets columns from `first` on, then the portion `step` columns further on, and so on. The first
/// columns come before wait(). `first` and `step` are the same in the whole warp.
template <unsigned Lanes, unsigned Sets, unsigned Bits, unsigned Words, class Wait>
__device__ void add_neighbors(LaneLevels<Bits, Words>& sums, const PartReader<Words>& read, const NodeId* cols,
                              std::uint32_t n, std::uint32_t first, std::uint32_t step, const Wait& wait) {
  constexpr unsigned group = Lanes * Sets;
  constexpr unsigned portion = batch * Sets;
  constexpr unsigned loads = (portion + group - 1) / group;
  const unsigned lane = threadIdx.x % 32;
  const unsigned own = lane % group;
  const unsigned set = own / Lanes;
  NodeId column[loads];
  const auto load_columns = [&](std::uint32_t at) {
#pragma unroll
    for (unsigned m = 0; m < loads; ++m) {
      const unsigned place = m * group + own;
      column[m] = place < portion && at + place < n ? __ldg(cols + at + place) : 0;
    }
  };
  load_columns(first);
  wait();
  const std::uint32_t longest = group == 32 ? n : __reduce_max_sync(full_warp, n);
#pragma unroll 1
  for (std::uint32_t at = first; at < longest; at += step) {
    Part<Words> parts[batch];
    const std::uint32_t left = longest - at;
#pragma unroll
    for (unsigned k = 0; k < batch; ++k) {
      parts[k] = {};
      if (k >= batch / 2 && left <= batch / 2 * Sets) continue;  // half a batch is enough
      const unsigned place = k * Sets + set;
      const NodeId j = __shfl_sync(full_warp, column[k * Sets / group], lane - own + place % group);
      if (read.reads && at + place < n) parts[k] = read(j);
    }
    if (left > step) load_columns(at + step);
    sums.add(parts);
  }
}

/// The sums of a lane as numbers.
template <unsigned Bits, unsigned Words>
__device__ RowSums<LaneLevels<Bits, Words>::features> numbers_of(const LaneLevels<Bits, Words>& sums) {
  RowSums<LaneLevels<Bits, Words>::features> all;
#pragma unroll
  for (unsigned f = 0; f < all.count; ++f) all.sum[f] = sums.of(f);
  return all;
}

/// The rows that blocks take: hubs first, a block each, then rows that have a warp, then those that a set has.
struct RowBlocks {
  NodeId hubs = 0, warp_rows = 0;  ///< where each ends in the order
  unsigned end_of_hubs = 0, end_of_warps = 0;
  unsigned rows_of_warp = 0;  ///< without an order: rows that a warp takes
};

template <unsigned Bits, unsigned Words, unsigned Lanes>
struct Kernel {
  using Levels = LaneLevels<Bits, Words>;
  static constexpr unsigned features = Levels::features;
  static constexpr unsigned sets = 32 / Lanes;
  static constexpr unsigned slice = Lanes * features;  ///< columns of a block
  static constexpr std::uint32_t hub_row = tuning.hub_row;
  static_assert(hub_row <= Levels::most_neighbors * sets, "a warp's sums fit 16 bits");

  struct Storage {
    BlockColumns<Lanes, features> columns;
    std::uint32_t hub_sums[slice];
    NodeId hubs[warps * sets];
    unsigned num_hubs;
  };

  const LevelSpmmArgs& args;
  const RowBlocks& blocks;
  Storage& storage;
  std::size_t first_column;  ///< of the lane's part
  PartReader<Words> read;

  __device__ Kernel(const LevelSpmmArgs& the_args, const RowBlocks& the_blocks, Storage& the_storage)
      : args(the_args),
        blocks(the_blocks),
        storage(the_storage),
        first_column(std::size_t{blockIdx.y} * slice + threadIdx.x % Lanes * features),
        read(args.x, blockIdx.y * Lanes + threadIdx.x % Lanes) {}

  /// Behind it the kernels before this one are done, and the block has its columns. For a whole block.
  __device__ void bring_columns() {
    wait_for_previous_kernel();
    if (args.out.values.data != nullptr || args.out.levels.data != nullptr)
      storage.columns.fill(args, std::size_t{blockIdx.y} * slice);
    __syncthreads();
  }

  /// `Count` features of the lane's part from `first` on.
  template <unsigned Count, bool small, class SumOf>
  __device__ void write(const TakenRow& taken, unsigned first, const SumOf& sum_of) {
    const auto place_of = [&](unsigned f) { return storage.columns.place[first + f][threadIdx.x % Lanes]; };
    store<Count, small>(args, RowEnd(args, taken), first_column + first, sum_of, place_of);
  }

  /// A short row for each set, or none.
  template <class Wait>
  __device__ void take_short_row(const TakenRow& taken, const Wait& wait) {
    Levels sums;
    add_neighbors<Lanes, 1>(sums, read, taken.columns, taken.n, 0, batch, wait);
    if (taken.row != no_row) write<features, true>(taken, 0, [&](unsigned f) { return sums.of(f); });
  }

  /// A row that the sets of a warp share.
  template <class Wait>
  __device__ void take_warp_row(const TakenRow& taken, const Wait& wait) {
    Levels sums;
    add_neighbors<Lanes, sets>(sums, read, taken.columns, taken.n, 0, batch * sets, wait);
    const auto joined = join_lanes<Lanes, least_stored>(numbers_of(sums));
    if (taken.row == no_row || !joined.writes) return;
    write<joined.count, true>(taken, joined.first, [&](unsigned f) { return joined.sum[f]; });
  }

  /// A row that a block has. Its warps take portions in turns, and add their sums to the block's before 16 bits could
  /// overflow.
  template <class Wait>
  __device__ void take_hub(const TakenRow& taken, const Wait& wait) {
    constexpr std::uint32_t portion = batch * sets;
    constexpr std::uint32_t stretch = Levels::most_neighbors / batch * portion * warps;
    for (unsigned c = threadIdx.x; c < slice; c += threads) storage.hub_sums[c] = 0;
    __syncthreads();
    for (std::uint32_t at = 0; at < taken.n; at += min(stretch, taken.n - at)) {
      Levels sums;
      add_neighbors<Lanes, sets>(sums, read, taken.columns + at, min(stretch, taken.n - at), threadIdx.x / 32 * portion,
                                 warps * portion, wait);
      const unsigned lane = threadIdx.x % Lanes;
#pragma unroll
      for (unsigned f = 0; f < features; ++f) atomicAdd(storage.hub_sums + f * Lanes + lane, sums.of(f));
    }
    __syncthreads();
    constexpr unsigned writers = slice / least_stored;
    if (threadIdx.x < writers) {
      const unsigned lane = threadIdx.x % Lanes;
      const unsigned part = threadIdx.x / Lanes * least_stored;
      write<least_stored, false>(taken, part, [&](unsigned f) { return storage.hub_sums[(part + f) * Lanes + lane]; });
    }
    __syncthreads();
  }

  /// Rows in order: of one length side by side.
  __device__ void take_ordered() {
    const auto bring = [&] { bring_columns(); };
    const unsigned block = blockIdx.x;
    const auto row_at = [&](std::size_t place, std::size_t end) { return TakenRow(args, place, end); };
    if (block < blocks.end_of_hubs) {
      const TakenRow hub = row_at(block, blocks.hubs);
      bring();
      return take_hub(hub, [] {});
    }
    if (block < blocks.end_of_warps) {
      const std::size_t place = std::size_t{block - blocks.end_of_hubs} * warps + threadIdx.x / 32;
      return take_warp_row(row_at(blocks.hubs + place, blocks.warp_rows), bring);
    }
    const std::size_t place = (std::size_t{block - blocks.end_of_warps} * threads + threadIdx.x) / Lanes;
    take_short_row(row_at(blocks.warp_rows + place, args.a.nrows), bring);
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
    const EdgeOffset longer = blocks.rows_of_warp < sets ? tuning.lone_longer : tuning.warp_row;
    if (taken.n >= hub_row && lane % Lanes == 0) storage.hubs[atomicAdd(&storage.num_hubs, 1U)] = taken.row;
    std::uint32_t others = __ballot_sync(full_warp, taken.n >= longer && taken.n < hub_row && lane % Lanes == 0);
    take_short_row(taken.n < longer ? taken : TakenRow(args, no_row), [&] { bring_columns(); });
#pragma unroll 1
    for (; others != 0; others &= others - 1) {
      const auto row = static_cast<NodeId>(first + (__ffs(static_cast<int>(others)) - 1) / Lanes);
      take_warp_row(TakenRow(args, row), [] {});
    }
    __syncthreads();
#pragma unroll 1
    for (unsigned hub = 0; hub < storage.num_hubs; ++hub) take_hub(TakenRow(args, storage.hubs[hub]), [] {});
  }
};

template <unsigned Bits, unsigned Words, unsigned Lanes>
__global__ void __launch_bounds__(threads, tuning.blocks)
    level_spmm_rows(const __grid_constant__ LevelSpmmArgs args, const __grid_constant__ RowBlocks blocks) {
  trigger_dependent_launch();
  __shared__ typename Kernel<Bits, Words, Lanes>::Storage storage;
  Kernel<Bits, Words, Lanes> kernel(args, blocks, storage);
  if (args.row_order.row == nullptr) {
    kernel.take_stored();
  } else {
    kernel.take_ordered();
  }
}

/// Levels of more than 8 bits, and sums that may pass 32: a thread has a few columns of a row.
__global__ void __launch_bounds__(threads)
    level_spmm_plain(const __grid_constant__ LevelSpmmArgs args, std::size_t groups) {
  const std::size_t item = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (item >= groups * args.a.nrows) return;
  const auto row = static_cast<NodeId>(item / groups);
  const std::size_t first = item % groups * least_stored;
  const TakenRow taken(args, row);
  std::int64_t sum[least_stored] = {};
  for (std::uint32_t e = 0; e < taken.n; ++e) {
    const NodeId j = __ldg(taken.columns + e);
#pragma unroll
    for (unsigned n = 0; n < least_stored; ++n) {
      if (first + n < args.x.ncols) sum[n] += level_of(args.x, j, first + n);
    }
  }
  store<least_stored, false>(
      args, RowEnd(args, taken), first, [&](unsigned n) { return sum[n]; },
      [&](unsigned n) { return SumPlace(args, args.x.ncols, first + n); });
}

unsigned blocks_of(std::size_t items, unsigned block) { return items == 0 ? 0 : blocks_for(items, block); }

template <unsigned Bits, unsigned Words, unsigned Lanes>
void launch(const Device& device, const LevelSpmmArgs& args, unsigned slices) {
  constexpr unsigned sets = 32 / Lanes;
  RowBlocks blocks;
  unsigned count = 0;
  if (args.row_order.row != nullptr) {
    blocks.hubs = args.row_order.at_least[std::countr_zero(tuning.hub_row)];
    blocks.warp_rows = args.row_order.at_least[std::countr_zero(tuning.warp_row)];
    blocks.end_of_hubs = blocks.hubs;
    blocks.end_of_warps = blocks.hubs + blocks_of(blocks.warp_rows - blocks.hubs, warps);
    count = blocks.end_of_warps + blocks_of(std::size_t{args.a.nrows - blocks.warp_rows} * Lanes, threads);
  } else {
    blocks.rows_of_warp = sets;
    while (blocks.rows_of_warp > 1 && args.a.nrows < blocks.rows_of_warp * tuning.busy_warps) blocks.rows_of_warp /= 2;
    count = blocks_of(args.a.nrows, warps * blocks.rows_of_warp);
  }
  if (count == 0) return;
  static ProgrammaticKernel kernel(level_spmm_rows<Bits, Words, Lanes>, "level_spmm_rows");
  kernel.launch(device, dim3(count, slices), threads, 0, args, blocks);
}

template <unsigned Bits, unsigned Words>
void launch_parts(const Device& device, const LevelSpmmArgs& args) {
  constexpr std::size_t features = LaneLevels<Bits, Words>::features;
  const std::size_t parts = (stored_columns(args.out, args.x.ncols) + features - 1) / features;
  const auto slices = static_cast<unsigned>((parts + most_lanes - 1) / most_lanes);
  if (parts <= 1) return launch<Bits, Words, 1>(device, args, slices);
  if (parts <= 2) return launch<Bits, Words, 2>(device, args, slices);
  if (parts <= 4) return launch<Bits, Words, 4>(device, args, slices);
  launch<Bits, Words, most_lanes>(device, args, slices);
}

}  // namespace

}  // namespace level_cuda

void level_spmm(const Cuda& backend, const LevelSpmmArgs& args) {
  using namespace level_cuda;
  if (args.a.nrows == 0 || args.x.ncols == 0) return;
  constexpr std::size_t longest_row = std::size_t{1} << 31;  // of X, in bytes
  if (level_place_bits(args.x.bits) == 16 || args.wide || args.x.row_bytes > longest_row) {
    const std::size_t groups = (stored_columns(args.out, args.x.ncols) + least_stored - 1) / least_stored;
    level_spmm_plain<<<blocks_for(groups * args.a.nrows, threads), threads, 0, stream_of(backend.device)>>>(args,
                                                                                                            groups);
    return cuda_check_launch("level_spmm_plain");
  }
  const bool wide_parts = args.x.row_bytes % sizeof(uint4) == 0;
  if (level_place_bits(args.x.bits) == 4) {
    return wide_parts ? launch_parts<4, 4>(backend.device, args) : launch_parts<4, 2>(backend.device, args);
  }
  wide_parts ? launch_parts<8, 4>(backend.device, args) : launch_parts<8, 2>(backend.device, args);
}

}  // namespace bitgraph
