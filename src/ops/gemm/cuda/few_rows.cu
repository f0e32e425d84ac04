// SPDX-License-Identifier: Apache-2.0
// Binary gemm of few rows on a CUDA device. A block computes 32 rows by 64 outputs. Its warps divide the words of the
// rows among them, read them straight from memory, and add up their sums in shared memory. So a matrix of some thousand
// rows occupies the whole device, and many threads read a row at the same time.
#include "core/cuda/launch.cuh"
#include "ops/gemm/cuda/bits.cuh"

#include <algorithm>
#include <type_traits>

namespace bitgraph::gemm_cuda {

namespace {

constexpr unsigned row_tiles = cuda_gemm_tuning().few_row_tiles;  ///< tiles of 16 rows in a block
constexpr unsigned group_rows = 16 * row_tiles;
constexpr unsigned group_outputs = 64;
constexpr unsigned output_tiles = group_outputs / 8;
constexpr unsigned most_threads = cuda_gemm_tuning().few_rows_block;

/// Sums of a block.
struct Sums {
  int common[group_rows][group_outputs + 2];  ///< popcount(x and w)
  int ones_of_x[group_rows];
  int ones_of_w[group_outputs];
};

struct WarpSums {
  int common[row_tiles][output_tiles][4] = {};
  int ones_of_x[row_tiles][2] = {};
  int ones_of_w[output_tiles] = {};

  /// Loads one word of each row and each output for a thread.
  template <class Args>
  __device__ void add_step(const Args& args, std::size_t row, std::size_t output, std::size_t word) {
    const bool in = word < args.x.words_per_row;
    const auto load = [&](const auto& matrix, std::size_t at) {
      return in && at < matrix.nrows ? __ldg(matrix.words + at * matrix.words_per_row + word) : std::uint64_t{0};
    };
    RowWords x[row_tiles];
    std::uint64_t w[output_tiles];
#pragma unroll
    for (unsigned m = 0; m < row_tiles; ++m) x[m] = {load(args.x, row + 16 * m), load(args.x, row + 16 * m + 8)};
#pragma unroll
    for (unsigned t = 0; t < output_tiles; ++t) w[t] = load(args.w, output + 8 * t);
#pragma unroll
    for (unsigned m = 0; m < row_tiles; ++m) {
      ones_of_x[m][0] += __popcll(x[m].upper);
      ones_of_x[m][1] += __popcll(x[m].lower);
    }
#pragma unroll
    for (unsigned t = 0; t < output_tiles; ++t) {
      ones_of_w[t] += __popcll(w[t]);
#pragma unroll
      for (unsigned m = 0; m < row_tiles; ++m) multiply_add(common[m][t], x[m], w[t]);
    }
  }

  __device__ void add_to(Sums& sums) const {
    const unsigned g = threadIdx.x % 32 / 4;
    const unsigned q = threadIdx.x % 4;
#pragma unroll
    for (unsigned t = 0; t < output_tiles; ++t) {
      const int ones = add_quad(ones_of_w[t]);
      if (q == 0) atomicAdd(&sums.ones_of_w[8 * t + g], ones);
    }
#pragma unroll
    for (unsigned m = 0; m < row_tiles; ++m) {
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned row = 16 * m + 8 * half + g;
        const int ones = add_quad(ones_of_x[m][half]);
        if (q == 0) atomicAdd(&sums.ones_of_x[row], ones);
#pragma unroll
        for (unsigned t = 0; t < output_tiles; ++t) {
          atomicAdd(&sums.common[row][8 * t + 2 * q], common[m][t][2 * half]);
          atomicAdd(&sums.common[row][8 * t + 2 * q + 1], common[m][t][2 * half + 1]);
        }
      }
    }
  }
};

__device__ void store(const GemmToFloats& args, std::size_t row, std::size_t f, bool in, float y) {
  if (in) args.out.data[row * args.out.stride + f] = y;
}

/// A warp writes 32 consecutive outputs of a row.
__device__ void store(const GemmToBits& args, std::size_t row, std::size_t f, bool in, float y) {
  const unsigned bits = __ballot_sync(full_warp, in && y >= 0);
  if (threadIdx.x % 32 != 0 || row >= args.x.nrows) return;
  auto* const half_words = reinterpret_cast<std::uint32_t*>(args.out.words + row * args.out.words_per_row);
  half_words[f / 32] = bits;
}

template <class Args>
__global__ void __launch_bounds__(most_threads) gemm_few_rows(Args args) {
  __shared__ Sums sums;
  for (unsigned n = threadIdx.x; n < sizeof(Sums) / sizeof(int); n += blockDim.x) reinterpret_cast<int*>(&sums)[n] = 0;
  const std::size_t groups = (args.w.nrows + group_outputs - 1) / group_outputs;
  const std::size_t first_row = blockIdx.x / groups * group_rows;
  const std::size_t first_output = blockIdx.x % groups * group_outputs;
  const unsigned g = threadIdx.x % 32 / 4;
  wait_for_previous_kernel();
  WarpSums own;
  for (std::size_t word = threadIdx.x / 32 * step_words; word < args.x.words_per_row;
       word += blockDim.x / 32 * step_words) {
    own.add_step(args, first_row + g, first_output + g, word + threadIdx.x % 4);
  }
  __syncthreads();
  own.add_to(sums);
  __syncthreads();
  for (unsigned n = threadIdx.x; n < group_rows * group_outputs; n += blockDim.x) {
    const unsigned i = n / group_outputs;
    const unsigned k = n % group_outputs;
    const std::size_t row = first_row + i;
    const std::size_t f = first_output + k;
    const bool in = row < args.x.nrows && f < args.w.nrows;
    const int s = static_cast<int>(args.x.ncols) - 2 * (sums.ones_of_x[i] + sums.ones_of_w[k]) + 4 * sums.common[i][k];
    store(args, row, f, in, in ? args.apply(row, f, static_cast<float>(s)) : 0.0F);
  }
}

}  // namespace

template <class Args>
void multiply_few_rows(const Device& device, const Args& args) {
  const std::size_t steps = (args.x.words_per_row + step_words - 1) / step_words;
  const auto threads = static_cast<unsigned>(32 * std::clamp<std::size_t>(steps, 4, most_threads / 32));
  static ProgrammaticKernel kernel(gemm_few_rows<Args>, "gemm_few_rows");
  kernel.launch(device, blocks_for(args.x.nrows, group_rows) * blocks_for(args.w.nrows, group_outputs), threads, 0,
                args);
}

template void multiply_few_rows(const Device&, const GemmToBits&);
template void multiply_few_rows(const Device&, const GemmToFloats&);

}  // namespace bitgraph::gemm_cuda
