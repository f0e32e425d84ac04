// SPDX-License-Identifier: Apache-2.0
// Products of some rows of a sparse matrix on a CUDA device. A warp adds up the rows of the dense operand that some
// entries name: its lanes read an entry each and say whether it counts, then all lanes go through those that do, a
// feature each and three more further on. For the gradient a warp has a part of a column; the parts of a column are
// added in their order.
#include <bitgraph/core/kernel.cuh>
#include <bitgraph/ops/sparse_product.hpp>

#include "ops/sparse_product/sparse_product.hpp"

namespace bitgraph {

namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned block_warps = block_threads / 32;
constexpr unsigned lane_features = 4;
constexpr unsigned warp_features = 32 * lane_features;
constexpr unsigned batch = 4;  ///< rows of the dense operand on their way
constexpr NodeId not_in_sample = ~NodeId{0};

__device__ inline bool has_bit(const BitMatrixView<ZeroOne>& bits, std::size_t i, std::size_t j) {
  return bits.words == nullptr || (__ldg(bits.words + i * bits.words_per_row + j / 64) >> j % 64 & 1U) != 0;
}

/// Features first + lane + 32 u of a sum of rows.
struct RowSum {
  float of[lane_features] = {};

  /// Adds the rows of `x` that the lanes name, those of lanes with `counts`, times their values.
  __device__ void add(const DenseView<const float>& x, std::size_t first, NodeId row, float value, bool counts) {
    const float weight = counts ? value : 0.0F;
    for (unsigned left = __ballot_sync(full_warp, counts); left != 0;) {
      float values[batch][lane_features];
      float weights[batch];
#pragma unroll
      for (unsigned k = 0; k < batch; ++k) {
        // Where there are no more: the last one again, for nothing.
        const auto lane = left == 0 ? 31U : static_cast<unsigned>(__ffs(static_cast<int>(left)) - 1);
        weights[k] = left == 0 ? 0.0F : __shfl_sync(full_warp, weight, lane);
        const NodeId its_row = __shfl_sync(full_warp, row, lane);
        const bool exists = left != 0;
        left &= left - 1;
#pragma unroll
        for (unsigned u = 0; u < lane_features; ++u) {
          const std::size_t f = first + 32 * u;
          values[k][u] = exists && f < x.ncols ? __ldg(x.data + its_row * x.stride + f) : 0.0F;
        }
      }
#pragma unroll
      for (unsigned k = 0; k < batch; ++k) {
#pragma unroll
        for (unsigned u = 0; u < lane_features; ++u) of[u] = __fmaf_rn(weights[k], values[k][u], of[u]);
      }
    }
  }

  __device__ void store(float* to, std::size_t first, std::size_t features, const float* bias) const {
#pragma unroll
    for (unsigned u = 0; u < lane_features; ++u) {
      const std::size_t f = first + 32 * u;
      if (f < features) to[f] = bias == nullptr ? of[u] : of[u] + __ldg(bias + f);
    }
  }
};

__global__ void __launch_bounds__(block_threads) product_rows(const __grid_constant__ SampledProductArgs args) {
  const std::size_t i = std::size_t{blockIdx.x} * block_warps + threadIdx.x / 32;
  if (i >= args.out.nrows) return;
  const unsigned lane = threadIdx.x % 32;
  const std::size_t first = std::size_t{blockIdx.y} * warp_features + lane;
  const NodeId node = __ldg(args.nodes + i);
  const EdgeOffset end = __ldg(args.x.row_ptr + node + 1);
  RowSum sum;
  for (EdgeOffset at = __ldg(args.x.row_ptr + node); at < end; at += 32) {
    NodeId column = 0;
    float value = 0;
    bool counts = at + lane < end;
    if (counts) {
      column = __ldg(args.x.col_ind + at + lane);
      value = args.scale * __ldg(args.values + at + lane);
      counts = has_bit(args.keep, i, column);
    }
    sum.add(args.w, first, column, value, counts);
  }
  sum.store(args.out.data + i * args.out.stride, first, args.out.ncols, args.bias);
}

/// Where each node is among the first ones of a sample.
__global__ void __launch_bounds__(block_threads) find_places(NodeId* place, const NodeId* nodes, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < count) place[__ldg(nodes + i)] = static_cast<NodeId>(i);
}

__global__ void __launch_bounds__(block_threads)
    gradient_parts(const __grid_constant__ SampledGradientArgs args, const NodeId* place, float* partial) {
  const std::size_t p = std::size_t{blockIdx.x} * block_warps + threadIdx.x / 32;
  if (p >= args.parts) return;
  const unsigned lane = threadIdx.x % 32;
  const std::size_t first = std::size_t{blockIdx.y} * warp_features + lane;
  const NodeId column = __ldg(args.part_column + p);
  constexpr EdgeOffset most = SparseBothWays::part_entries;
  const EdgeOffset begin = __ldg(args.columns.row_ptr + column) + (p - __ldg(args.part + column)) * most;
  const EdgeOffset end = min(begin + most, __ldg(args.columns.row_ptr + column + 1));
  RowSum sum;
  for (EdgeOffset at = begin; at < end; at += 32) {
    NodeId row = 0;
    float value = 0;
    bool counts = at + lane < end;
    if (counts) {
      row = __ldg(place + __ldg(args.columns.col_ind + at + lane));
      value = args.scale * __ldg(args.values + at + lane);
      counts = row != not_in_sample && has_bit(args.keep, row, column);
    }
    sum.add(args.g, first, row, value, counts);
  }
  sum.store(partial + p * args.g.ncols, first, args.g.ncols, nullptr);
}

__global__ void __launch_bounds__(block_threads)
    sum_of_parts(const __grid_constant__ SampledGradientArgs args, const float* partial) {
  const std::size_t n = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (n >= args.out.nrows * args.out.ncols) return;
  const std::size_t column = n / args.out.ncols;
  const std::size_t f = n % args.out.ncols;
  float sum = 0;
  const EdgeOffset end = __ldg(args.part + column + 1);
  for (EdgeOffset p = __ldg(args.part + column); p < end; ++p) sum += partial[p * args.out.ncols + f];
  args.out.data[column * args.out.stride + f] = sum;
}

unsigned slices_of(std::size_t features) { return blocks_for(features, warp_features); }

}  // namespace

void sampled_product(const Cuda& backend, const SampledProductArgs& args) {
  if (args.out.nrows == 0 || args.out.ncols == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  const dim3 grid(blocks_for(args.out.nrows, block_warps), slices_of(args.out.ncols));
  product_rows<<<grid, block_threads, 0, stream_of(backend.device)>>>(args);
  cuda_check_launch("sampled_product");
}

void sampled_gradient(const Cuda& backend, const SampledGradientArgs& args) {
  const std::size_t size = args.out.nrows * args.out.ncols;
  if (size == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  const cudaStream_t stream = stream_of(backend.device);
  const std::size_t partial_bytes = args.parts * args.out.ncols * sizeof(float);
  const std::size_t place_bytes = args.columns.ncols * sizeof(NodeId);
  auto* const place = static_cast<NodeId*>(backend.device.workspace(partial_bytes + place_bytes));
  auto* const partial = reinterpret_cast<float*>(place + args.columns.ncols);
  cuda_check(cudaMemsetAsync(place, 0xFF, place_bytes, stream), "sampled_gradient");
  if (args.g.nrows != 0) {
    find_places<<<blocks_for(args.g.nrows, block_threads), block_threads, 0, stream>>>(place, args.nodes, args.g.nrows);
    cuda_check_launch("sampled_gradient, places");
  }
  if (args.parts != 0) {
    const dim3 grid(blocks_for(args.parts, block_warps), slices_of(args.out.ncols));
    gradient_parts<<<grid, block_threads, 0, stream>>>(args, place, partial);
    cuda_check_launch("sampled_gradient, parts");
  }
  sum_of_parts<<<blocks_for(size, block_threads), block_threads, 0, stream>>>(args, partial);
  cuda_check_launch("sampled_gradient, sums");
}

}  // namespace bitgraph
