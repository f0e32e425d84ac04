// SPDX-License-Identifier: Apache-2.0
// Plain float product on a CUDA device. Large ones are cuBLAS's where there is one. In the kernel here a block has a
// tile of the output, its threads 4 x 4 elements each, and strips of both operands in shared memory; each element is
// one sum over k in order, so results do not depend on timing.
#include "ops/gemm/gemm.hpp"

#include <bitgraph/core/kernel.cuh>
#include "ops/gemm/cuda/blas.hpp"
#include "ops/gemm/cuda/plan.hpp"

namespace bitgraph {

namespace {

constexpr unsigned tile_side = cuda_gemm_tuning().float_tile;
constexpr unsigned depth = cuda_gemm_tuning().float_depth;  ///< of a strip
constexpr unsigned block_threads = cuda_gemm_tuning().block_threads;
constexpr unsigned own = 4;  ///< elements a thread in each direction
static_assert(tile_side * tile_side == block_threads * own * own);

/// op(M) as rows of the product and its depth.
struct Operand {
  const float* data;
  std::size_t rows;
  std::size_t row_step;
  std::size_t depth_step;
};

struct FloatGemm {
  Operand a;
  Operand b;  ///< its rows are the columns of the output
  std::size_t depth;
  DenseView<float> out;
  float alpha;
  float beta;
};

using Strip = float[depth][tile_side + 4];

/// Elements in the order in which they lie in memory, so that a warp reads them side by side.
__device__ void load_strip(Strip& strip, const Operand& m, std::size_t first_row, std::size_t first_depth,
                           std::size_t end_depth) {
  for (unsigned n = threadIdx.x; n < depth * tile_side; n += block_threads) {
    const unsigned row = m.depth_step == 1 ? n / depth : n % tile_side;
    const unsigned k = m.depth_step == 1 ? n % depth : n / tile_side;
    const bool exists = first_row + row < m.rows && first_depth + k < end_depth;
    strip[k][row] = exists ? m.data[(first_row + row) * m.row_step + (first_depth + k) * m.depth_step] : 0.0F;
  }
}

__global__ void __launch_bounds__(block_threads) multiply_tiles(FloatGemm gemm) {
  __shared__ __align__(16) Strip a;
  __shared__ __align__(16) Strip b;
  const std::size_t first_row = std::size_t{blockIdx.x} * tile_side;
  const std::size_t first_column = std::size_t{blockIdx.y} * tile_side;
  const unsigned row = threadIdx.x / 16 * own;
  const unsigned column = threadIdx.x % 16 * own;
  float sum[own][own] = {};
  for (std::size_t first = 0; first < gemm.depth; first += depth) {
    load_strip(a, gemm.a, first_row, first, gemm.depth);
    load_strip(b, gemm.b, first_column, first, gemm.depth);
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < depth; ++k) {
      const float4 left = *reinterpret_cast<const float4*>(&a[k][row]);
      const float4 right = *reinterpret_cast<const float4*>(&b[k][column]);
      const float lefts[own] = {left.x, left.y, left.z, left.w};
      const float rights[own] = {right.x, right.y, right.z, right.w};
#pragma unroll
      for (unsigned i = 0; i < own; ++i) {
#pragma unroll
        for (unsigned j = 0; j < own; ++j) sum[i][j] = __fmaf_rn(lefts[i], rights[j], sum[i][j]);
      }
    }
    __syncthreads();
  }
  for (unsigned i = 0; i < own; ++i) {
    for (unsigned j = 0; j < own; ++j) {
      if (first_row + row + i >= gemm.out.nrows || first_column + column + j >= gemm.out.ncols) continue;
      float& y = gemm.out.data[(first_row + row + i) * gemm.out.stride + first_column + column + j];
      y = gemm.beta == 0 ? gemm.alpha * sum[i][j] : gemm.alpha * sum[i][j] + gemm.beta * y;
    }
  }
}

void multiply_here(const Cuda& backend, DenseView<float> out, DenseView<const float> a, bool transpose_a,
                   DenseView<const float> b, bool transpose_b, float alpha, float beta) {
  const ScopedCudaDevice scope(backend.device.index());
  const std::size_t steps[2] = {a.stride, b.stride};
  const FloatGemm gemm{{a.data, out.nrows, transpose_a ? 1 : steps[0], transpose_a ? steps[0] : 1},
                       {b.data, out.ncols, transpose_b ? steps[1] : 1, transpose_b ? 1 : steps[1]},
                       transpose_a ? a.nrows : a.ncols,
                       out,
                       alpha,
                       beta};
  const dim3 grid(blocks_for(out.nrows, tile_side), blocks_for(out.ncols, tile_side));
  multiply_tiles<<<grid, block_threads, 0, stream_of(backend.device)>>>(gemm);
  cuda_check_launch("multiply_tiles");
}

}  // namespace

void float_gemm(const Cuda& backend, DenseView<float> out, DenseView<const float> a, bool transpose_a,
                DenseView<const float> b, bool transpose_b, float alpha, float beta) {
  using namespace gemm_cuda;
  const std::size_t columns = transpose_a ? a.nrows : a.ncols;
  const Plan chosen = plan({.factors = Factors::floats, .rows = out.nrows, .columns = columns, .outputs = out.ncols});
  // Whether there is a cuBLAS shows when it is called.
  if (chosen.kernel == Kernel::blas &&
      cuda_blas::multiply(backend.device, out.data, out.stride, {a.data, a.stride, transpose_a},
                          {b.data, b.stride, transpose_b}, out.nrows, out.ncols, columns, alpha, beta)) {
    return;
  }
  multiply_here(backend, out, a, transpose_a, b, transpose_b, alpha, beta);
}

bool has_blas(const Cuda& backend) { return !cuda_blas::version(backend.device).empty(); }

std::string float_gemm_kernels(const Cuda& backend) {
  const std::string version = cuda_blas::version(backend.device);
  return version.empty() ? "bitgraph (no cuBLAS found)" : "cuBLAS " + version;
}

}  // namespace bitgraph
