// SPDX-License-Identifier: Apache-2.0
// A thread an element; of binary weights a warp a row.
#include "ops/gradient/gradient.hpp"

#include <bitgraph/core/kernel.cuh>

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

__global__ void __launch_bounds__(block_threads)
    weight_rows(DenseView<float> gradient, DenseView<const float> weight, const float* m) {
  const std::size_t f = std::size_t{blockIdx.x} * block_warps + threadIdx.x / 32;
  if (f >= weight.nrows) return;
  float* const g = gradient.data + f * gradient.stride;
  const float* const w = weight.data + f * weight.stride;
  double sum = 0;
#pragma unroll 8
  for (std::size_t j = threadIdx.x % 32; j < weight.ncols; j += 32) sum += w[j] >= 0 ? g[j] : -g[j];
  for (unsigned half = 16; half != 0; half /= 2) sum += __shfl_down_sync(full_warp, sum, half);
  sum = __shfl_sync(full_warp, sum, 0);
  const auto mean = static_cast<float>(sum / static_cast<double>(weight.ncols));
  const float scale = m[f];
#pragma unroll 8
  for (std::size_t j = threadIdx.x % 32; j < weight.ncols; j += 32) {
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

void sign_backward(const Cuda& backend, float* g, const float* x, std::size_t size, float limit) {
  each_value(
      backend, size, [=] __device__(std::size_t n) { g[n] = fabsf(x[n]) <= limit ? g[n] : 0.0F; }, "sign_backward");
}

void binary_weight_backward(const Cuda& backend, const BinaryWeightArgs& args) {
  if (args.weight.nrows == 0 || args.weight.ncols == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  const unsigned blocks = blocks_for(args.weight.nrows, block_warps);
  weight_rows<<<blocks, block_threads, 0, stream_of(backend.device)>>>(args.gradient, args.weight, args.m);
  cuda_check_launch("weight_rows");
}

void add_divergence_gradient(const Cuda& backend, float* g, const float* log_p, const float* q, std::size_t size,
                             float weight) {
  each_value(
      backend, size, [=] __device__(std::size_t n) { g[n] += weight * (expf(log_p[n]) - q[n]); },
      "add_divergence_gradient");
}

}  // namespace bitgraph
