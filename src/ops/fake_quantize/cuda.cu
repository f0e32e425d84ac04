// SPDX-License-Identifier: Apache-2.0
// A thread an element: bound by memory.
#include <bitgraph/core/kernel.cuh>

#include "ops/fake_quantize/fake_quantize.hpp"

namespace bitgraph {

namespace {

constexpr unsigned threads = 256;

/// fn(row, column) for every element.
template <class Fn>
__device__ void for_element(const FakeQuantizeArgs& args, const Fn& fn) {
  const std::size_t item = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (item < args.x.nrows * args.x.ncols) fn(item / args.x.ncols, item % args.x.ncols);
}

__device__ float factor_of(const FakeQuantizeArgs& args, std::size_t row) {
  return args.row_scale == nullptr ? 1.0F : __ldg(args.row_scale + row);
}

__device__ float place_of(const FakeQuantizeArgs& args, std::size_t i, std::size_t j, float factor) {
  const std::size_t s = args.scale_of(i, j);
  return (args.x.data[i * args.x.stride + j] * factor - __ldg(args.offsets + s)) / __ldg(args.steps + s);
}

__global__ void __launch_bounds__(threads) fake_quantize_elements(const __grid_constant__ FakeQuantizeArgs args) {
  for_element(args, [&](std::size_t i, std::size_t j) {
    const float factor = factor_of(args, i);
    const float place = place_of(args, i, j, factor);
    const float within = place > 0 ? fminf(place, args.most) : 0.0F;
    const std::size_t s = args.scale_of(i, j);
    args.out.data[i * args.out.stride + j] = (rintf(within) * __ldg(args.steps + s) + __ldg(args.offsets + s)) / factor;
  });
}

__global__ void __launch_bounds__(threads)
    fake_quantize_backward_elements(const __grid_constant__ FakeQuantizeArgs args) {
  for_element(args, [&](std::size_t i, std::size_t j) {
    const float place = place_of(args, i, j, factor_of(args, i));
    if (!(place >= -0.5F && place <= args.most + 0.5F)) args.out.data[i * args.out.stride + j] = 0;
  });
}

}  // namespace

void fake_quantize(const Cuda& backend, const FakeQuantizeArgs& args) {
  const std::size_t count = args.x.nrows * args.x.ncols;
  if (count == 0) return;
  fake_quantize_elements<<<blocks_for(count, threads), threads, 0, stream_of(backend.device)>>>(args);
  cuda_check_launch("fake_quantize_elements");
}

void fake_quantize_backward(const Cuda& backend, const FakeQuantizeArgs& args) {
  const std::size_t count = args.x.nrows * args.x.ncols;
  if (count == 0) return;
  fake_quantize_backward_elements<<<blocks_for(count, threads), threads, 0, stream_of(backend.device)>>>(args);
  cuda_check_launch("fake_quantize_backward_elements");
}

}  // namespace bitgraph
