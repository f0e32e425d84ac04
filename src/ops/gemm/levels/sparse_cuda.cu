// SPDX-License-Identifier: Apache-2.0
// Products of sparse levels on a CUDA device. A warp has a row of X. Its lanes read an entry each, 32 at a time. A lane
// then multiplies 8 outputs of a column of W: lanes side by side have all outputs of one column and make a set, and the
// sets take columns in turns. At the end of a row the sets' sums are joined, and each lane stores two outputs.
//
// Levels are multiplied less z, the level of 0 on the scale of their row: places without an entry then add nothing.
// What they have in common comes at the end: sum over c of x(i, c) w(j, c) = sum over entries of (x - z) w(j, c) + z
// times the sum of w's levels. Sums of 32 bits may overflow on the way, since the last one fits.
#include "core/cuda/join_lanes.cuh"
#include "core/cuda/launch.cuh"
#include "core/cuda/limits.hpp"
#include "ops/cuda_store_pair.cuh"
#include "ops/gemm/levels/args.hpp"
#include "ops/gemm/levels/cuda_places.cuh"

#include <algorithm>
#include <type_traits>

namespace bitgraph {

namespace level_cuda {

namespace {

constexpr unsigned warps = 4;
constexpr unsigned threads = 32 * warps;
constexpr unsigned blocks_a_multiprocessor = 8;
constexpr unsigned lane_outputs = 8;  ///< half a panel of W; as bytes one load
constexpr unsigned stored = 2;        ///< outputs that a lane stores: two nibbles fill a byte

/// Whose of 32 entries a lane reads: in a set of `Lanes` lanes, lane k has the one that the set multiplies in step k.
template <unsigned Lanes>
[[nodiscard]] __device__ unsigned own_entry() {
  return threadIdx.x % Lanes * (32 / Lanes) + threadIdx.x % 32 / Lanes;
}

/// A row of X on its way to a warp: its scale, and of each 32 entries the one that this lane reads.
template <unsigned Lanes>
struct Row {
  EdgeOffset begin = 0;
  std::uint32_t count = 0;
  NodeId column = 0;
  std::uint32_t level = 0;
  float step = 1, offset = 0;

  /// Its pattern.
  __device__ Row(const LevelGemmArgs& args, std::size_t row) {
    if (row >= args.x.nrows) return;
    begin = __ldg(args.sparse.row_ptr + row);
    count = static_cast<std::uint32_t>(__ldg(args.sparse.row_ptr + row + 1) - begin);
    column = column_at(args, 0);
  }
  /// The rest.
  __device__ void bring_levels(const LevelGemmArgs& args, std::size_t row) {
    if (row >= args.x.nrows) return;
    level = level_at(args, 0);
    step = at_or(args.x_scale.steps, args.x_scale.single, row, 1);
    offset = at_or(args.x_scale.offsets, args.x_scale.single, row, 0);
  }

  /// Of the lane's entry among those from `at` on; where there is none, 0: a column that exists.
  [[nodiscard]] __device__ NodeId column_at(const LevelGemmArgs& args, std::uint32_t at) const {
    return has(at) ? __ldg(args.sparse.col_ind + begin + at + own_entry<Lanes>()) : 0;
  }
  [[nodiscard]] __device__ std::uint32_t level_at(const LevelGemmArgs& args, std::uint32_t at) const {
    return has(at) ? __ldg(args.sparse.levels + begin + at + own_entry<Lanes>()) : 0;
  }
  [[nodiscard]] __device__ bool has(std::uint32_t at) const { return own_entry<Lanes>() < count - at; }
};

/// sums[n] += byte n of `first` times the lower half of `levels`, which are numbers of 16 bits with a sign, + byte n of
/// `second` times the upper half.
__device__ inline void multiply_add(std::uint32_t* sums, std::uint32_t first, std::uint32_t second,
                                    std::uint32_t levels) {
  const std::uint32_t low = __byte_perm(first, second, 0x5140), high = __byte_perm(first, second, 0x7362);
  asm("dp2a.lo.s32.u32 %0, %1, %2, %0;" : "+r"(sums[0]) : "r"(levels), "r"(low));
  asm("dp2a.hi.s32.u32 %0, %1, %2, %0;" : "+r"(sums[1]) : "r"(levels), "r"(low));
  asm("dp2a.lo.s32.u32 %0, %1, %2, %0;" : "+r"(sums[2]) : "r"(levels), "r"(high));
  asm("dp2a.hi.s32.u32 %0, %1, %2, %0;" : "+r"(sums[3]) : "r"(levels), "r"(high));
}

__device__ inline std::uint32_t sum_of_lanes(std::uint32_t value) { return __reduce_add_sync(full_warp, value); }
__device__ inline std::int64_t sum_of_lanes(std::int64_t value) { return warp_sum(value); }

/// Stores two neighbouring outputs, the first of which is even; what the output has of them.
template <class T>
__device__ void store_numbers(const DenseView<T>& out, std::size_t row, std::size_t output, T first, T second) {
  T* const to = out.data + row * out.stride + output;
  if (takes_pairs(out) && output + 1 < out.ncols) return store_pair(to, first, second);
  if (output < out.ncols) to[0] = first;
  if (output + 1 < out.ncols) to[1] = second;
}
__device__ inline void store_two_levels(const QuantizedView<std::uint8_t>& out, std::size_t row, std::size_t output,
                                        int first, int second) {
  const auto bits = static_cast<unsigned>(level_place_bits(out.bits));
  const std::size_t at = output * bits / 8;
  if (at >= out.row_bytes) return;
  std::uint8_t* const to = out.row(row) + at;
  const std::uint32_t both = first | second << bits;
  if (bits == 4) {
    *to = static_cast<std::uint8_t>(both);
  } else if (bits == 8) {
    *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(both);
  } else {
    *reinterpret_cast<std::uint32_t*>(to) = both;
  }
}

/// What an output needs besides its sum of products.
template <class Sum>
struct alignas(32) Output {
  ProductPlace place;
  float least = 0;
  Sum w_sum = 0;  ///< of W's levels
};

/// Sets of `Lanes` lanes. `Sum` is a number of 32 bits, or one of 64 for all widths.
template <unsigned Lanes, class Sum>
struct Kernel {
  static constexpr bool narrow = std::is_same_v<Sum, std::uint32_t>;
  static constexpr unsigned slice = Lanes * lane_outputs;  ///< outputs of a block
  using Sums = RowSums<lane_outputs, Sum>;

  struct Storage {
    Output<Sum> outputs[stored][slice / stored];
  };

  const LevelGemmArgs& args;
  Storage& storage;
  const std::uint8_t* w;      ///< the lane's outputs of the first column
  const std::uint32_t pitch;  ///< from there to the next column

  /// A lane without outputs multiplies the first ones, for nothing.
  __device__ Kernel(const LevelGemmArgs& the_args, Storage& the_storage)
      : args(the_args),
        storage(the_storage),
        w(args.w_columns),
        pitch(static_cast<std::uint32_t>(args.w_column_bytes)) {
    const std::size_t first = std::size_t{blockIdx.y} * slice + threadIdx.x % Lanes * lane_outputs;
    if (first < args.outputs) w += first * (!narrow && args.w_bits > 8 ? 2 : 1);
    asm("" : "+l"(w));  // the compiler would make it anew for each entry
  }

  /// For a whole block.
  __device__ void bring_outputs() {
    if (threadIdx.x < slice) {
      const std::size_t output = std::size_t{blockIdx.y} * slice + threadIdx.x;
      Output<Sum> made;
      if (output < args.outputs) {
        const ColumnPlace column(args.epilogue, output);
        made.place = place_of_output(args, output, column);
        made.least = column.least;
        made.w_sum = static_cast<Sum>(args.w_sums[output]);
      }
      storage.outputs[threadIdx.x % stored][threadIdx.x / stored] = made;
    }
    __syncthreads();
  }

  /// Adds the products of up to 32 entries, of which each lane has one. Its level is one less that of 0.
  __device__ void add(Sums& sums, NodeId column, int level, std::uint32_t count) const {
    if constexpr (!narrow) {
      const std::uint8_t* const from = w + std::uint64_t{column} * pitch;
#pragma unroll
      for (unsigned f = 0; f < lane_outputs; ++f) {
        const unsigned its =
            args.w_bits > 8 ? __ldg(reinterpret_cast<const std::uint16_t*>(from) + f) : __ldg(from + f);
        sums.sum[f] += Sum{level} * static_cast<Sum>(its);
      }
    } else if constexpr (Lanes < 4) {
      Steps<0, Lanes> all(*this, column);
      all.add(sums, level);
    } else {
      // Half of the steps are enough for half of the entries.
      Steps<0, Lanes / 2> first(*this, column);
      if (count <= 16) return first.add(sums, level);
      Steps<Lanes / 2, Lanes / 2> second(*this, column);
      first.add(sums, level);
      second.add(sums, level);
    }
  }

  /// Some steps of a set, which begin with loads.
  template <unsigned First, unsigned Count>
  struct Steps {
    uint2 eight[Count];

    __device__ Steps(const Kernel& kernel, NodeId column) {
#pragma unroll
      for (unsigned k = 0; k < Count; ++k) {
        const std::uint64_t place = std::uint64_t{of_step(column, First + k)} * kernel.pitch;
        eight[k] = __ldg(reinterpret_cast<const uint2*>(kernel.w + place));
      }
    }
    __device__ void add(Sums& sums, int level) const {
#pragma unroll
      for (unsigned k = 0; k < Count; k += 2) {
        const auto one = static_cast<std::uint32_t>(of_step(level, First + k));
        if constexpr (Count == 1) {
          multiply_add(sums.sum, eight[0].x, 0, one & 0xFFFFU);
          multiply_add(sums.sum + 4, eight[0].y, 0, one & 0xFFFFU);
        } else {
          const auto next = static_cast<std::uint32_t>(of_step(level, First + k + 1));
          const std::uint32_t both = __byte_perm(one, next, 0x5410);
          multiply_add(sums.sum, eight[k].x, eight[k + 1].x, both);
          multiply_add(sums.sum + 4, eight[k].y, eight[k + 1].y, both);
        }
      }
    }
    /// What the set multiplies in a step.
    template <class T>
    __device__ static T of_step(T value, unsigned step) {
      return Lanes == 1 ? value : __shfl_sync(full_warp, value, step, Lanes);
    }
  };

  __device__ void take_row(std::size_t row, const Row<Lanes>& taken) const {
    const int zero = zero_level_of(taken.step, taken.offset, args.x.bits);
    Sums sums{};
    Sum above = 0;  // the sum of the lane's levels less those of 0
    NodeId column = taken.column;
    std::uint32_t level = taken.level;
    for (std::uint32_t at = 0; at < taken.count; at += 32) {
      const std::uint32_t left = taken.count - at;
      const int less_zero = taken.has(at) ? static_cast<int>(level) - zero : 0;
      const NodeId next_column = left > 32 ? taken.column_at(args, at + 32) : 0;
      const std::uint32_t next_level = left > 32 ? taken.level_at(args, at + 32) : 0;
      above += static_cast<Sum>(less_zero);
      add(sums, column, less_zero, left);
      column = next_column;
      level = next_level;
    }
    const Sum x_sum = sum_of_lanes(above) + static_cast<Sum>(zero) * static_cast<Sum>(args.x.ncols);
    const auto joined = join_lanes<Lanes, stored>(sums);
    static_assert(joined.count == stored);
    if (joined.writes) store(row, taken, as_float(x_sum), static_cast<Sum>(zero), joined.sum);
  }

  __device__ void store(std::size_t row, const Row<Lanes>& taken, float x_sum, Sum zero,
                        const Sum (&sums)[stored]) const {
    const unsigned first = threadIdx.x % Lanes * lane_outputs + first_joined<Lanes, stored, lane_outputs>();
    const std::size_t output = std::size_t{blockIdx.y} * slice + first;
    const LevelOut& out = args.out;
    const LevelRule rule(args.epilogue, out.levels.data == nullptr ? 1 : out.levels.bits);
    const RowOfX x(taken.step, taken.offset, x_sum);
    const LateRow<> late(args.epilogue, row);
    const bool is_late = args.epilogue.is_late();
    Sum sum[stored];
    float place[stored], least[stored];
#pragma unroll
    for (unsigned n = 0; n < stored; ++n) {
      const Output<Sum> its = storage.outputs[n][first / stored];
      sum[n] = sums[n] + zero * its.w_sum;
      place[n] = its.place.template place<true, true>(as_float(sum[n]), x);
      if (output + n < args.outputs) place[n] = with_addend(args.epilogue, row, output + n, place[n]);
      least[n] = its.least;
    }
    const auto level_of = [&](unsigned n) {
      return is_late ? late.level(rule, place[n], output + n, least[n]) : rule.level(place[n], least[n]);
    };
    if (out.levels.data != nullptr) {
      store_two_levels(out.levels, row, output, level_of(0), level_of(1));
    } else if (out.wide_sums.data != nullptr) {
      store_numbers(out.wide_sums, row, output, std::int64_t{sum[0]}, std::int64_t{sum[1]});
    } else {
      store_numbers(out.values, value_row_of(out, row), output, rule.value(place[0]), rule.value(place[1]));
    }
  }

  /// Sums of 32 bits are below 2^31.
  __device__ static float as_float(Sum sum) {
    return narrow ? static_cast<float>(static_cast<std::int32_t>(sum)) : static_cast<float>(sum);
  }
};

template <unsigned Lanes, class Sum>
__global__ void __launch_bounds__(threads, blocks_a_multiprocessor)
    level_gemm_entries(const __grid_constant__ LevelGemmArgs args) {
  trigger_dependent_launch();
  __shared__ typename Kernel<Lanes, Sum>::Storage storage;
  const std::size_t stride = std::size_t{gridDim.x} * warps;
  std::size_t row = std::size_t{blockIdx.x} * warps + threadIdx.x / 32;
  Row<Lanes> taken(args, row);
  wait_for_previous_kernel();
  taken.bring_levels(args, row);
  Kernel<Lanes, Sum> kernel(args, storage);
  kernel.bring_outputs();
  while (row < args.x.nrows) {
    kernel.take_row(row, taken);
    row += stride;
    taken = Row<Lanes>(args, row);
    taken.bring_levels(args, row);
  }
}

template <unsigned Lanes, class Sum>
void launch(const Device& device, const LevelGemmArgs& args) {
  constexpr std::size_t slice = Kernel<Lanes, Sum>::slice;
  const auto slices = static_cast<unsigned>((stored_columns(args.out, args.outputs) + slice - 1) / slice);
  const unsigned most = std::max(1U, cuda_limits(device).multiprocessors * blocks_a_multiprocessor / slices);
  const unsigned blocks = std::min(most, blocks_for(args.x.nrows, warps));
  static ProgrammaticKernel kernel(level_gemm_entries<Lanes, Sum>, "level_gemm_entries");
  kernel.launch(device, dim3(blocks, slices), threads, 0, args);
}

}  // namespace

}  // namespace level_cuda

void level_gemm_of_entries(const Cuda& backend, const LevelGemmArgs& args) {
  using namespace level_cuda;
  const Device& device = backend.device;
  if (args.x.nrows == 0 || args.outputs == 0) return;
  const ScopedCudaDevice scope(device.index());
  if (!entries_have_narrow_sums(args.x.bits, args.w_bits, args.x.ncols)) return launch<1, std::int64_t>(device, args);
  const std::size_t outputs = stored_columns(args.out, args.outputs);
  if (outputs <= lane_outputs) return launch<1, std::uint32_t>(device, args);
  if (outputs <= 2 * lane_outputs) return launch<2, std::uint32_t>(device, args);
  if (outputs <= 4 * lane_outputs) return launch<4, std::uint32_t>(device, args);
  launch<8, std::uint32_t>(device, args);
}

}  // namespace bitgraph
