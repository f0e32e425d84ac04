// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 on a CUDA device: cuBLAS adds up in float32 on tensor cores. Where there is no cuBLAS, copies in
// float32 go through the kernel for floats. Scales and biases are applied to float32 sums, which are rounded once.
#include "ops/gemm/bfloat16.hpp"

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/kernel.cuh>

#include "core/instances.hpp"
#include "ops/gemm/cuda/blas.hpp"
#include "ops/gemm/tuning.hpp"

namespace bitgraph {

namespace {

constexpr unsigned block_threads = cuda_gemm_tuning().block_threads;

__global__ void widen(DenseView<const Bfloat16> from, float* to) {
  const std::size_t n = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (n < from.nrows * from.ncols) to[n] = from.data[n / from.ncols * from.stride + n % from.ncols];
}

template <class T>
__global__ void scale_sums(BfloatGemm<T> gemm, const float* sums) {
  const std::size_t n = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (n >= gemm.out.nrows * gemm.out.ncols) return;
  const std::size_t i = n / gemm.out.ncols;
  const std::size_t f = n % gemm.out.ncols;
  gemm.out.data[i * gemm.out.stride + f] = gemm.scales.apply(i, f, sums[n]);
}

DenseView<const float> widened(const Device& device, const DenseView<const Bfloat16>& x, Buffer<float>& copy) {
  const std::size_t n = x.nrows * x.ncols;
  copy = Buffer<float>(n, device);
  if (n != 0) {
    widen<<<blocks_for(n, block_threads), block_threads, 0, stream_of(device)>>>(x, copy.data());
    cuda_check_launch("widen");
  }
  return {x.nrows, x.ncols, x.ncols, copy.data()};
}

/// out (any of the two types) = x w^T without scales, by cuBLAS. False where there is none.
template <class T>
bool multiply_by_blas(const Device& device, const DenseView<T>& out, const DenseView<const Bfloat16>& x,
                      const DenseView<const Bfloat16>& w) {
  constexpr bool is_bfloat16 = std::is_same_v<T, Bfloat16>;
  const cuda_blas::Output output{out.data, out.stride, is_bfloat16};
  const cuda_blas::Bfloats a{x.data, x.stride};
  const cuda_blas::Bfloats b{w.data, w.stride};
  return cuda_blas::multiply_bfloat16(device, output, a, b, out.nrows, out.ncols, x.ncols);
}

}  // namespace

template <class T>
void gemm(const Cuda& backend, const BfloatGemm<T>& args) {
  const std::size_t values = args.out.nrows * args.out.ncols;
  if (values == 0) return;
  const Device& device = backend.device;
  const ScopedCudaDevice scope(device.index());
  if (!args.is_scaled() && multiply_by_blas(device, args.out, args.x, args.w)) return;
  Buffer<float> sums(values, device);
  const DenseView<float> to{args.out.nrows, args.out.ncols, args.out.ncols, sums.data()};
  if (!args.is_scaled() || !multiply_by_blas(device, to, args.x, args.w)) {
    Buffer<float> x;
    Buffer<float> w;
    const DenseView<const float> wide_x = widened(device, args.x, x);
    float_gemm(backend, to, wide_x, false, widened(device, args.w, w), true, 1, 0);
  }
  scale_sums<<<blocks_for(values, block_threads), block_threads, 0, stream_of(device)>>>(args, sums.data());
  cuda_check_launch("scale_sums");
}

[[gnu::used]] constexpr auto gemm_cuda_bfloat16 = for_types(Types<float, Bfloat16>(), [](auto type) {
  using Args = BfloatGemm<TypeOf<decltype(type)>>;
  return static_cast<void (*)(const Cuda&, const Args&)>(&gemm);
});

}  // namespace bitgraph
