// SPDX-License-Identifier: Apache-2.0
#include "ops/batch_norm/cuda.hpp"

#include <bitgraph/core/kernel.cuh>

#include "ops/cuda_column_pairs.cuh"

namespace bitgraph {

namespace {

using column_pairs::add_up;
using column_pairs::block_threads;
using column_pairs::make_sums;
using column_pairs::SumsView;

/// A BatchNorm's arrays; null: ones, or zeros.
struct NormView {
  const float* mean;
  const float* variance;
  const float* scale;
  const float* shift;

  explicit NormView(const BatchNorm& norm)
      : mean(norm.mean.data()),
        variance(norm.variance.data()),
        scale(norm.scale.empty() ? nullptr : norm.scale.data()),
        shift(norm.shift.empty() ? nullptr : norm.shift.data()) {}

  [[nodiscard]] __device__ float inverse(std::size_t j) const { return 1.0F / sqrtf(variance[j] + batch_norm_epsilon); }
  [[nodiscard]] __device__ float factor(std::size_t j) const {
    return scale == nullptr ? inverse(j) : scale[j] * inverse(j);
  }
};

template <class Fn>
__global__ void __launch_bounds__(block_threads) for_elements(std::size_t nrows, std::size_t ncols, Fn fn) {
  const std::size_t n = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (n < nrows * ncols) fn(n / ncols, n % ncols);
}

template <class Fn>
void each_element(const Device& device, std::size_t nrows, std::size_t ncols, const Fn& fn) {
  if (nrows == 0 || ncols == 0) return;
  const unsigned blocks = blocks_for(nrows * ncols, block_threads);
  for_elements<<<blocks, block_threads, 0, stream_of(device)>>>(nrows, ncols, fn);
  cuda_check_launch("batch_norm");
}

}  // namespace

void column_statistics(const Cuda& backend, DenseView<const float> x, float* mean, float* variance) {
  if (x.ncols == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  const SumsView sums = make_sums(backend.device, x.nrows, x.ncols);
  const auto count = static_cast<double>(x.nrows);
  add_up(
      backend.device, sums, x.nrows,
      [=] __device__(std::size_t i, std::size_t j) {
        return double2{x.data[i * x.stride + j], 0};
      },
      [=] __device__(std::size_t j, double sum, double) {
        sums.total[j] = sum / count;
        mean[j] = static_cast<float>(sum / count);
      });
  add_up(
      backend.device, sums, x.nrows,
      [=] __device__(std::size_t i, std::size_t j) {
        const double off = x.data[i * x.stride + j] - sums.total[j];
        return double2{off * off, 0};
      },
      [=] __device__(std::size_t j, double sum, double) { variance[j] = static_cast<float>(sum / count); });
}

void batch_norm(const Cuda& backend, DenseView<float> out, DenseView<const float> x, const BatchNorm& norm) {
  const ScopedCudaDevice scope(backend.device.index());
  const NormView by(norm);
  each_element(backend.device, x.nrows, x.ncols, [=] __device__(std::size_t i, std::size_t j) {
    const float shift = by.shift == nullptr ? 0.0F : by.shift[j];
    out.data[i * out.stride + j] = (x.data[i * x.stride + j] - by.mean[j]) * by.factor(j) + shift;
  });
}

void batch_norm_backward(const Cuda& backend, DenseView<float> out, float* of_scale, float* of_shift,
                         DenseView<const float> x, DenseView<const float> g, const BatchNorm& norm) {
  if (x.ncols == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  const NormView by(norm);
  const SumsView sums = make_sums(backend.device, x.nrows, x.ncols);
  const auto count = static_cast<double>(x.nrows);
  add_up(
      backend.device, sums, x.nrows,
      [=] __device__(std::size_t i, std::size_t j) {
        const float y = (x.data[i * x.stride + j] - by.mean[j]) * by.inverse(j);
        return double2{g.data[i * g.stride + j], static_cast<double>(g.data[i * g.stride + j]) * y};
      },
      [=] __device__(std::size_t j, double sum, double slope) {
        of_shift[j] = static_cast<float>(sum);
        of_scale[j] = static_cast<float>(slope);
        sums.total[j] = sum / count;
        sums.total[sums.ncols + j] = slope / count;
      });
  each_element(backend.device, x.nrows, x.ncols, [=] __device__(std::size_t i, std::size_t j) {
    const double y = (x.data[i * x.stride + j] - by.mean[j]) * by.inverse(j);
    const double rest = g.data[i * g.stride + j] - sums.total[j] - y * sums.total[sums.ncols + j];
    out.data[i * out.stride + j] = static_cast<float>(by.factor(j) * rest);
  });
}

}  // namespace bitgraph
