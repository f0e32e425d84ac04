// SPDX-License-Identifier: Apache-2.0
// Bound by memory: sums of 32 bits are read once, levels written once. A thread has eight columns, whose factors it
// keeps, of several rows.
#include "cli/peers/requantize.hpp"

#include <bitgraph/core/kernel.cuh>

#include "ops/cuda_level_epilogue.cuh"

namespace bitgraph::cli {

namespace {

constexpr unsigned threads = 256;
constexpr unsigned columns = 8;
constexpr std::size_t rows_of_thread = 8;

/// How threads share the work: a thread has a group of columns, of the rows lane, lane + lanes and so on.
struct Shares {
  std::uint32_t groups;  ///< of columns
  std::uint32_t lanes;   ///< rows that are worked on side by side
};

__device__ inline void load_sums(std::int32_t (&to)[columns], const std::int32_t* from, std::size_t left) {
  if (left >= columns && reinterpret_cast<std::uintptr_t>(from) % sizeof(int4) == 0) {
#pragma unroll
    for (unsigned n = 0; n < columns; n += 4) {
      const int4 four = __ldg(reinterpret_cast<const int4*>(from + n));
      to[n] = four.x, to[n + 1] = four.y, to[n + 2] = four.z, to[n + 3] = four.w;
    }
    return;
  }
#pragma unroll
  for (unsigned n = 0; n < columns; ++n) to[n] = n < left ? __ldg(from + n) : 0;
}

template <unsigned Bits>
__global__ void __launch_bounds__(threads)
    requantize_columns(const __grid_constant__ RequantizeArgs args, const __grid_constant__ Shares shares) {
  const unsigned thread = blockIdx.x * threads + threadIdx.x;
  const unsigned lane = thread / shares.groups;
  if (lane >= shares.lanes) return;
  const std::size_t first = std::size_t{thread % shares.groups} * columns;
  const std::size_t left = first < args.sums.ncols ? args.sums.ncols - first : 0;
  float factor[columns];
  float shift[columns];
#pragma unroll
  for (unsigned n = 0; n < columns; ++n) {
    factor[n] = n < left ? __ldg(args.factors + first + n) : 0.0F;
    shift[n] = n < left ? __ldg(args.shifts + first + n) : 0.0F;
  }
  const auto most = static_cast<float>((1U << args.out.bits) - 1);
#pragma unroll 2
  for (std::size_t row = lane; row < args.sums.nrows; row += shares.lanes) {
    std::int32_t sum[columns];
    load_sums(sum, args.sums.data + row * args.sums.stride + first, left);
    // Packing brings what is below 0 into range; nothing is below it where no column is.
    level_cuda::store_levels<columns, Bits>(args.out.row(row), args.out.row_bytes, first, [&](unsigned n) {
      const float place = __fmaf_rn(factor[n], static_cast<float>(sum[n]), shift[n]);
      return level_cuda::whole_number<true>(fminf(place, most));
    });
  }
}

}  // namespace

void requantize(const Device& device, const RequantizeArgs& args) {
  const auto place_bits = static_cast<std::size_t>(level_place_bits(args.out.bits));
  const std::size_t groups = (args.out.row_bytes * 8 / place_bits + columns - 1) / columns;
  const std::size_t lanes = (args.sums.nrows + rows_of_thread - 1) / rows_of_thread;
  if (groups * lanes == 0) return;
  const Shares shares{static_cast<std::uint32_t>(groups), static_cast<std::uint32_t>(lanes)};
  const ScopedCudaDevice scope(device.index());
  const unsigned blocks = blocks_for(groups * lanes, threads);
  if (place_bits == 4) {
    requantize_columns<4><<<blocks, threads, 0, stream_of(device)>>>(args, shares);
  } else {
    requantize_columns<8><<<blocks, threads, 0, stream_of(device)>>>(args, shares);
  }
  cuda_check_launch("requantize_columns");
}

}  // namespace bitgraph::cli
