// SPDX-License-Identifier: Apache-2.0
// Floats, transposed, times signs, on a CUDA device: the gradient of weights whose inputs are bits. A thread has a
// column of signs and sixteen features; a block has 64 columns and a part of the rows, whose floats it has in shared
// memory. Parts are as many as the shape asks for, and are added in their order: the same bits in every call.
#include <bitgraph/core/kernel.cuh>

#include "ops/gemm/gemm.hpp"
#include "ops/gemm/tuning.hpp"

#include <algorithm>

namespace bitgraph {

namespace {

constexpr unsigned block_columns = 64;
constexpr unsigned thread_features = 16;
constexpr unsigned most_groups = 4;  ///< of features of a block
constexpr unsigned step_rows = 32;   ///< in shared memory at a time
constexpr unsigned sum_threads = 256;

/// The shape of a launch.
struct Parts {
  unsigned words;    ///< of 64 columns
  unsigned groups;   ///< of 16 features, of a block
  unsigned slices;   ///< of all groups of a block
  std::size_t rows;  ///< of a part, a multiple of step_rows
  std::size_t count;

  explicit Parts(const SignGradientArgs& args)
      : words(blocks_for(args.out.ncols, block_columns)),
        groups(std::min(most_groups, blocks_for(args.out.nrows, thread_features))),
        slices(blocks_for(args.out.nrows, std::size_t{groups} * thread_features)) {
    const std::size_t steps = std::max<std::size_t>(1, (args.g.nrows + step_rows - 1) / step_rows);
    const std::size_t wanted = cuda_gemm_tuning().sign_gradient_blocks / (std::size_t{words} * slices) + 1;
    const std::size_t steps_each = (steps + std::min(wanted, steps) - 1) / std::min(wanted, steps);
    rows = steps_each * step_rows;
    count = (steps + steps_each - 1) / steps_each;
  }
};

/// A part's sums: out(f, j) of features f and columns j, rows of as many floats as there are columns.
__global__ void __launch_bounds__(block_columns* most_groups)
    sign_gradient_part(const __grid_constant__ SignGradientArgs args, float* partial, std::size_t part_rows) {
  __shared__ float4 floats[step_rows][most_groups * thread_features / 4];
  __shared__ std::uint32_t plus[step_rows][2];
  __shared__ std::uint32_t kept[step_rows][2];
  const unsigned threads = block_columns * blockDim.y;
  const unsigned thread = threadIdx.y * block_columns + threadIdx.x;
  const unsigned features = blockDim.y * thread_features;
  const std::size_t first_feature = std::size_t{blockIdx.z} * features;
  const std::size_t first_row = blockIdx.y * part_rows;
  const std::size_t end_row = min(first_row + part_rows, args.g.nrows);
  float sum[thread_features] = {};
  for (std::size_t row = first_row; row < end_row; row += step_rows) {
    __syncthreads();
    for (unsigned n = thread; n < step_rows * features; n += threads) {
      const std::size_t i = row + n / features;
      const std::size_t f = first_feature + n % features;
      float value = 0;  // of what is not there
      if (i < end_row && f < args.g.ncols) {
        value = args.g.data[i * args.g.stride + f];
        if (args.row_scale != nullptr) value *= __ldg(args.row_scale + i);
      }
      reinterpret_cast<float*>(floats[n / features])[n % features] = value;
    }
    if (thread < step_rows) {
      const std::size_t i = min(row + thread, args.g.nrows - 1);
      const std::uint64_t signs = __ldg(args.x.words + i * args.x.words_per_row + blockIdx.x);
      const std::uint64_t keep = args.keep.words == nullptr
                                     ? ~std::uint64_t{0}
                                     : __ldg(args.keep.words + i * args.keep.words_per_row + blockIdx.x);
      plus[thread][0] = static_cast<std::uint32_t>(signs);
      plus[thread][1] = static_cast<std::uint32_t>(signs >> 32);
      kept[thread][0] = static_cast<std::uint32_t>(keep);
      kept[thread][1] = static_cast<std::uint32_t>(keep >> 32);
    }
    __syncthreads();
    const unsigned half = threadIdx.x / 32;
    const unsigned bit = threadIdx.x % 32;
#pragma unroll 4
    for (unsigned r = 0; r < step_rows; ++r) {
      const std::uint32_t minus = ~(plus[r][half] >> bit) << 31;
      const float sign = (kept[r][half] >> bit & 1U) != 0 ? __uint_as_float(__float_as_uint(1.0F) | minus) : 0.0F;
#pragma unroll
      for (unsigned f = 0; f < thread_features; f += 4) {
        const float4 four = floats[r][threadIdx.y * (thread_features / 4) + f / 4];
        sum[f] = fmaf(sign, four.x, sum[f]);  // a product with a sign is exact
        sum[f + 1] = fmaf(sign, four.y, sum[f + 1]);
        sum[f + 2] = fmaf(sign, four.z, sum[f + 2]);
        sum[f + 3] = fmaf(sign, four.w, sum[f + 3]);
      }
    }
  }
  const std::size_t j = std::size_t{blockIdx.x} * block_columns + threadIdx.x;
  if (j >= args.out.ncols) return;
#pragma unroll
  for (unsigned n = 0; n < thread_features; ++n) {
    const std::size_t f = first_feature + threadIdx.y * thread_features + n;
    if (f < args.out.nrows) partial[(blockIdx.y * args.out.nrows + f) * args.out.ncols + j] = sum[n];
  }
}

__global__ void __launch_bounds__(sum_threads)
    sign_gradient_sum(DenseView<float> out, const float* partial, std::size_t parts) {
  const std::size_t size = out.nrows * out.ncols;
  const std::size_t n = std::size_t{blockIdx.x} * sum_threads + threadIdx.x;
  if (n >= size) return;
  float sum = 0;
#pragma unroll 8
  for (std::size_t part = 0; part < parts; ++part) sum += partial[part * size + n];
  out.data[n / out.ncols * out.stride + n % out.ncols] = sum;
}

}  // namespace

void sign_gradient(const Cuda& backend, const SignGradientArgs& args) {
  const std::size_t size = args.out.nrows * args.out.ncols;
  if (size == 0) return;
  const Device& device = backend.device;
  const ScopedCudaDevice scope(device.index());
  const Parts parts(args);
  auto* const partial = static_cast<float*>(device.workspace(parts.count * size * sizeof(float)));
  const dim3 grid(parts.words, static_cast<unsigned>(parts.count), parts.slices);
  const dim3 block(block_columns, parts.groups);
  sign_gradient_part<<<grid, block, 0, stream_of(device)>>>(args, partial, parts.rows);
  cuda_check_launch("sign_gradient_part");
  sign_gradient_sum<<<blocks_for(size, sum_threads), sum_threads, 0, stream_of(device)>>>(args.out, partial,
                                                                                          parts.count);
  cuda_check_launch("sign_gradient_sum");
}

}  // namespace bitgraph
