// SPDX-License-Identifier: Apache-2.0
// A thread an element; of binary weights a warp a row, or a block where rows are long.
#include "ops/gradient/gradient.hpp"

#include <bitgraph/core/kernel.cuh>

#include "core/tanh.hpp"

namespace bitgraph {

namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned block_warps = block_threads / 32;

template <class Fn>
__global__ void __launch_bounds__(block_threads) for_values(std::size_t size, Fn fn) {
  const std::size_t n = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (n < size) fn(n);
}

template <class Fn>
void each_value(const Cuda& backend, std::size_t size, const Fn& fn, const char* name) {
  if (size == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  for_values<<<blocks_for(size, block_threads), block_threads, 0, stream_of(backend.device)>>>(size, fn);
  cuda_check_launch(name);
}

/// The sum over the lanes of `Warps` warps of a block that have a row together, the same in all of them.
template <unsigned Warps>
__device__ double sum_over_row(double sum) {
  for (unsigned half = 16; half != 0; half /= 2) sum += __shfl_xor_sync(full_warp, sum, half);
  if constexpr (Warps == 1) {
    return sum;
  } else {
    static_assert(Warps == block_warps);
    __shared__ double of_warps[Warps];
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (const double part : of_warps) sum += part;
    return sum;
  }
}

template <unsigned Warps>
__global__ void __launch_bounds__(block_threads)
    weight_rows(DenseView<float> gradient, DenseView<const float> weight, const float* m) {
  constexpr unsigned lanes = 32 * Warps;
  const std::size_t f = (std::size_t{blockIdx.x} * block_threads + threadIdx.x) / lanes;
  if (f >= weight.nrows) return;
  float* const g = gradient.data + f * gradient.stride;
  const float* const w = weight.data + f * weight.stride;
  double sum = 0;
#pragma unroll 8
  for (std::size_t j = threadIdx.x % lanes; j < weight.ncols; j += lanes) sum += w[j] >= 0 ? g[j] : -g[j];
  sum = sum_over_row<Warps>(sum);
  const auto mean = static_cast<float>(sum / static_cast<double>(weight.ncols));
  const float scale = m[f];
#pragma unroll 8
  for (std::size_t j = threadIdx.x % lanes; j < weight.ncols; j += lanes) {
    const float through = fabsf(w[j]) <= 1 ? scale * g[j] : 0.0F;
    g[j] = through + (w[j] >= 0 ? mean : -mean);
  }
}

}  // namespace

void relu(const Cuda& backend, float* x, std::size_t size) {
  each_value(
      backend, size, [=] __device__(std::size_t n) { x[n] = x[n] > 0 ? x[n] : 0.0F; }, "relu");
}

void relu_backward(const Cuda& backend, float* g, const float* y, std::size_t size) {
  each_value(
      backend, size, [=] __device__(std::size_t n) { g[n] = y[n] > 0 ? g[n] : 0.0F; }, "relu_backward");
}

void tanh(const Cuda& backend, float* x, std::size_t size) {
  each_value(
      backend, size, [=] __device__(std::size_t n) { x[n] = tanh_of(x[n]); }, "tanh");
}

void tanh_backward(const Cuda& backend, float* g, const float* y, std::size_t size) {
  each_value(
      backend, size, [=] __device__(std::size_t n) { g[n] *= 1 - y[n] * y[n]; }, "tanh_backward");
}

void sign_backward(const Cuda& backend, float* g, const float* x, std::size_t size, float limit) {
  each_value(
      backend, size, [=] __device__(std::size_t n) { g[n] = fabsf(x[n]) <= limit ? g[n] : 0.0F; }, "sign_backward");
}

void binary_weight_backward(const Cuda& backend, const BinaryWeightArgs& args) {
  if (args.weight.nrows == 0 || args.weight.ncols == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  const cudaStream_t stream = stream_of(backend.device);
  constexpr std::size_t columns_for_block = 512;
  if (args.weight.ncols >= columns_for_block) {
    const auto blocks = static_cast<unsigned>(args.weight.nrows);
    weight_rows<block_warps><<<blocks, block_threads, 0, stream>>>(args.gradient, args.weight, args.m);
  } else {
    const unsigned blocks = blocks_for(args.weight.nrows, block_warps);
    weight_rows<1><<<blocks, block_threads, 0, stream>>>(args.gradient, args.weight, args.m);
  }
  cuda_check_launch("weight_rows");
}

void add_divergence_gradient(const Cuda& backend, float* g, const float* log_p, const float* q, std::size_t size,
                             float weight) {
  each_value(
      backend, size, [=] __device__(std::size_t n) { g[n] += weight * (expf(log_p[n]) - q[n]); },
      "add_divergence_gradient");
}

}  // namespace bitgraph
