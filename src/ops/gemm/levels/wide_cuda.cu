// SPDX-License-Identifier: Apache-2.0
// Products of levels on a CUDA device that the other kernels do not have: of more than 8 bits, and of rows of W that do
// not fit shared memory. level_gemm_halves cuts levels into two bytes, whose products the matrix instructions of bytes
// add up by 2^0, 2^8 and 2^16. Operands come straight to registers: rows lie in the caches. level_gemm_plain has any
// width and length.
#include <bitgraph/core/kernel.cuh>

#include "ops/gemm/levels/args.hpp"
#include "ops/gemm/levels/cuda_places.cuh"
#include "ops/gemm/levels/cuda_tiles.cuh"

namespace bitgraph {

namespace level_cuda {

namespace {

constexpr unsigned few_columns = 8;

/// Stores a few outputs of a row from `first` on: sum_of(n) is the sum of output first + n, x_sum that of X's levels.
template <class SumOf>
__device__ void end_outputs(const LevelGemmArgs& args, std::size_t row, std::size_t first, std::int64_t x_sum,
                            const SumOf& sum_of) {
  const bool is_late = args.epilogue.is_late();
  const LateRow<> late(args.epilogue, row);
  const RowOfX of_x = row_of_x(args, row, static_cast<float>(x_sum));
  const LevelRule rule(args.epilogue, args.out.levels.data == nullptr ? 1 : args.out.levels.bits);
  int level[few_columns] = {};
#pragma unroll
  for (unsigned n = 0; n < few_columns; ++n) {
    const std::size_t output = first + n;
    if (output >= args.outputs) continue;
    const std::int64_t sum = sum_of(n);
    const ColumnPlace column(args.epilogue, output);
    const ProductPlace at = place_of_output(args, output, column);
    const auto whole = static_cast<float>(sum);
    const float place = with_addend(args.epilogue, row, output, at.place<true, true>(whole, of_x));
    const LevelOut& out = args.out;
    if (out.sums.data != nullptr) {
      out.sums.data[row * out.sums.stride + output] = static_cast<std::int32_t>(sum);
    } else if (out.wide_sums.data != nullptr) {
      out.wide_sums.data[row * out.wide_sums.stride + output] = sum;
    } else if (out.values.data != nullptr) {
      out.values.data[value_row_of(out, row) * out.values.stride + output] = rule.value(place);
    } else {
      level[n] = is_late ? late.level(rule, place, output) : rule.level(place, column.least);
    }
  }
  if (args.out.levels.data != nullptr)
    store_levels<few_columns>(args.out.levels, row, first, [&](unsigned n) { return level[n]; });
}

// --- by halves
// --------------------------------------------------------------------------------------------------------

constexpr unsigned warps = 4;
constexpr unsigned warp_rows = 16;
constexpr unsigned tile_rows = warps * warp_rows;
constexpr unsigned output_tiles = 4;  ///< of eight outputs, that a warp has
constexpr unsigned tile_outputs = 8 * output_tiles;

/// Two halves' products of so many columns have sums below 2^31.
constexpr std::size_t most_columns = 16'384;

/// The low and the high bytes of four levels.
struct Halves {
  std::uint32_t low = 0, high = 0;
};

/// Of levels in places of `Bits` bits, from a column on that is a multiple of four; zeros behind the row's last byte.
template <unsigned Bits>
__device__ Halves four_levels(const std::uint8_t* row, std::size_t row_bytes, unsigned column) {
  const std::size_t byte = std::size_t{column} * Bits / 8;
  if (byte >= row_bytes) return {};
  if constexpr (Bits == 16) {
    const uint2 both = __ldg(reinterpret_cast<const uint2*>(row + byte));
    return {__byte_perm(both.x, both.y, even_places), __byte_perm(both.x, both.y, odd_places)};
  } else if constexpr (Bits == 8) {
    return {__ldg(reinterpret_cast<const std::uint32_t*>(row + byte)), 0};
  } else {
    const std::uint32_t nibbles = __ldg(reinterpret_cast<const std::uint16_t*>(row + byte));
    return {(nibbles & 0xFU) | (nibbles & 0xF0U) << 4 | (nibbles & 0xF00U) << 8 | (nibbles & 0xF000U) << 12, 0};
  }
}

/// Sums of an 8-bit half of X by one of W, by what they count.
struct HalfSums {
  std::int32_t by_1[4] = {}, by_256[4] = {}, by_65536[4] = {};

  [[nodiscard]] __device__ std::int64_t whole(unsigned n) const {
    return by_1[n] + (std::int64_t{by_256[n]} << 8) + (std::int64_t{by_65536[n]} << 16);
  }
};

/// The sums of a warp's rows; a column more keeps rows in different banks.
struct WarpSums {
  std::int64_t of_x[warp_rows];
  std::int64_t sums[warp_rows][tile_outputs + 1];
};

/// A warp has 16 rows of X and 32 outputs. Blocks that lie side by side have the same rows.
template <unsigned XBits, unsigned WBits>
__global__ void __launch_bounds__(32 * warps)
    level_gemm_halves(const __grid_constant__ LevelGemmArgs args, unsigned slices) {
  __shared__ WarpSums shared[warps];
  const unsigned lane = threadIdx.x % 32;
  WarpSums& mine = shared[threadIdx.x / 32];
  const std::size_t first_row = std::size_t{blockIdx.x / slices} * tile_rows + threadIdx.x / 32 * warp_rows;
  const std::size_t first_output = std::size_t{blockIdx.x % slices} * tile_outputs;
  HalfSums sums[output_tiles];
  std::uint32_t low_sum[2] = {}, high_sum[2] = {};
  for (unsigned first = 0; first < args.x.ncols; first += step) {
    const unsigned k = first + lane % 4 * 4;
    std::uint32_t low[4], high[4];
#pragma unroll
    for (unsigned n = 0; n < 4; ++n) {  // rows lane / 4 and eight below, then the same 16 columns behind
      const std::size_t row = first_row + lane / 4 + n % 2 * 8;
      Halves four;
      if (row < args.x.nrows) four = four_levels<XBits>(args.x.row(row), args.x.row_bytes, k + n / 2 * 16);
      low[n] = four.low;
      high[n] = four.high;
      low_sum[n % 2] = __dp4a(low[n], 0x01010101U, low_sum[n % 2]);
      high_sum[n % 2] = __dp4a(high[n], 0x01010101U, high_sum[n % 2]);
    }
#pragma unroll
    for (unsigned t = 0; t < output_tiles; ++t) {
      const std::size_t output = first_output + t * 8 + lane / 4;
      Halves w[2];
      if (output < args.outputs) {
        const std::uint8_t* const row = args.w_rows + output * args.w_row_bytes;
        w[0] = four_levels<WBits>(row, args.w_row_bytes, k);
        w[1] = four_levels<WBits>(row, args.w_row_bytes, k + 16);
      }
      mma::multiply_bytes(sums[t].by_1, low, w[0].low, w[1].low);
      if constexpr (XBits == 16) mma::multiply_bytes(sums[t].by_256, high, w[0].low, w[1].low);
      if constexpr (WBits == 16) mma::multiply_bytes(sums[t].by_256, low, w[0].high, w[1].high);
      if constexpr (XBits == 16 && WBits == 16) mma::multiply_bytes(sums[t].by_65536, high, w[0].high, w[1].high);
    }
  }
#pragma unroll
  for (unsigned upper = 0; upper < 2; ++upper) {
    std::int64_t of_x = low_sum[upper] + (std::int64_t{high_sum[upper]} << 8);
    of_x += __shfl_xor_sync(full_warp, of_x, 1);
    of_x += __shfl_xor_sync(full_warp, of_x, 2);
    const unsigned row = lane / 4 + upper * 8;
    if (lane % 4 == 0) mine.of_x[row] = of_x;
#pragma unroll
    for (unsigned t = 0; t < output_tiles; ++t) {
      mine.sums[row][t * 8 + lane % 4 * 2] = sums[t].whole(2 * upper);
      mine.sums[row][t * 8 + lane % 4 * 2 + 1] = sums[t].whole(2 * upper + 1);
    }
  }
  __syncwarp();
  const unsigned row = lane / 2;
  if (first_row + row >= args.x.nrows) return;
  for (unsigned at = lane % 2 * few_columns; at < tile_outputs; at += 2 * few_columns)
    end_outputs(args, first_row + row, first_output + at, mine.of_x[row],
                [&](unsigned n) { return mine.sums[row][at + n]; });
}

template <unsigned XBits>
void launch_halves(const Device& device, const LevelGemmArgs& args) {
  const std::size_t slices = (stored_columns(args.out, args.outputs) + tile_outputs - 1) / tile_outputs;
  const auto blocks = static_cast<unsigned>((args.x.nrows + tile_rows - 1) / tile_rows * slices);
  const auto kernel = args.w_bits > 8 ? level_gemm_halves<XBits, 16> : level_gemm_halves<XBits, 8>;
  kernel<<<blocks, 32 * warps, 0, stream_of(device)>>>(args, static_cast<unsigned>(slices));
  cuda_check_launch("level_gemm_halves");
}

// --- plainly
// ----------------------------------------------------------------------------------------------------------

constexpr unsigned threads = 256;

/// A thread has a few outputs of a row.
__global__ void __launch_bounds__(threads)
    level_gemm_plain(const __grid_constant__ LevelGemmArgs args, std::size_t groups_a_row) {
  const std::size_t item = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (item >= groups_a_row * args.x.nrows) return;
  const std::size_t row = item / groups_a_row;
  const std::size_t first = item % groups_a_row * few_columns;
  std::int64_t sum[few_columns] = {}, x_sum = 0;
  for (std::size_t c = 0; c < args.x.ncols; ++c) {
    const std::int64_t level = level_of(args.x, row, c);
    x_sum += level;
#pragma unroll
    for (unsigned n = 0; n < few_columns; ++n) {
      if (first + n >= args.outputs) continue;
      const std::uint8_t* const of_w = args.w_rows + (first + n) * args.w_row_bytes;
      sum[n] += level * (args.w_bits <= 8 ? of_w[c] : reinterpret_cast<const std::uint16_t*>(of_w)[c]);
    }
  }
  end_outputs(args, row, first, x_sum, [&](unsigned n) { return sum[n]; });
}

}  // namespace

}  // namespace level_cuda

bool halves_can(std::size_t columns) noexcept { return columns != 0 && columns <= level_cuda::most_columns; }

void level_gemm_by_halves(const Cuda& backend, const LevelGemmArgs& args) {
  using namespace level_cuda;
  if (args.x.bits <= 4) return launch_halves<4>(backend.device, args);
  if (args.x.bits <= 8) return launch_halves<8>(backend.device, args);
  launch_halves<16>(backend.device, args);
}

void level_gemm_plainly(const Cuda& backend, const LevelGemmArgs& args) {
  using namespace level_cuda;
  const std::size_t groups_a_row = (stored_columns(args.out, args.outputs) + few_columns - 1) / few_columns;
  const unsigned blocks = blocks_for(groups_a_row * args.x.nrows, threads);
  level_gemm_plain<<<blocks, threads, 0, stream_of(backend.device)>>>(args, groups_a_row);
  cuda_check_launch("level_gemm_plain");
}

}  // namespace bitgraph
