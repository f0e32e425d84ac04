// SPDX-License-Identifier: Apache-2.0
// Columns are added up in two steps: blocks of 32 columns and some rows leave partial sums in the device's workspace,
// and a thread for each column adds those in order.
#include "ops/batch_norm/cuda.hpp"

#include <bitgraph/core/kernel.cuh>

#include "ops/row_parts.hpp"

#include <cstdint>

namespace bitgraph {

namespace {

constexpr unsigned block_columns = 32;
constexpr unsigned block_rows = 8;
constexpr unsigned block_threads = 256;

/// Pairs of sums of columns: partial[0 .. parts * ncols) the first ones, behind them the second ones.
struct SumsView {
  double* partial;
  double* total;  ///< 2 ncols
  std::size_t parts;
  std::size_t part_rows;
  std::size_t ncols;
};

/// Term(i, j) gives the two terms of an element. Threads below each other take every eighth row.
template <class Term>
__global__ void __launch_bounds__(block_threads) add_parts(SumsView sums, std::size_t nrows, Term term) {
  __shared__ double shared[2][block_rows][block_columns];
  const std::size_t j = std::size_t{blockIdx.x} * block_columns + threadIdx.x;
  const std::size_t first = std::size_t{blockIdx.y} * sums.part_rows;
  const std::size_t end = min(first + sums.part_rows, nrows);
  double sum[2] = {0, 0};
  if (j < sums.ncols) {
#pragma unroll 4
    for (std::size_t i = first + threadIdx.y; i < end; i += block_rows) {
      const double2 terms = term(i, j);
      sum[0] += terms.x;
      sum[1] += terms.y;
    }
  }
  for (int n = 0; n < 2; ++n) shared[n][threadIdx.y][threadIdx.x] = sum[n];
  __syncthreads();
  if (threadIdx.y >= 2 || j >= sums.ncols) return;
  double all = 0;
  for (unsigned y = 0; y < block_rows; ++y) all += shared[threadIdx.y][y][threadIdx.x];
  sums.partial[(threadIdx.y * sums.parts + blockIdx.y) * sums.ncols + j] = all;
}

/// Finish(j, first sum, second sum) takes the whole of a column.
template <class Finish>
__global__ void __launch_bounds__(block_threads) add_columns(SumsView sums, Finish finish) {
  const std::size_t j = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (j >= sums.ncols) return;
  double sum[2] = {0, 0};
  for (std::size_t part = 0; part < sums.parts; ++part) {
    sum[0] += sums.partial[part * sums.ncols + j];
    sum[1] += sums.partial[(sums.parts + part) * sums.ncols + j];
  }
  finish(j, sum[0], sum[1]);
}

SumsView make_sums(const Device& device, std::size_t nrows, std::size_t ncols) {
  const RowParts parts(nrows);
  auto* const doubles = static_cast<double*>(device.workspace((2 * parts.count + 2) * ncols * sizeof(double)));
  return {doubles, doubles + 2 * parts.count * ncols, parts.count, parts.rows, ncols};
}

template <class Term, class Finish>
void add_up(const Device& device, const SumsView& sums, std::size_t nrows, const Term& term, const Finish& finish) {
  const dim3 grid(blocks_for(sums.ncols, block_columns), static_cast<unsigned>(sums.parts));
  add_parts<<<grid, dim3(block_columns, block_rows), 0, stream_of(device)>>>(sums, nrows, term);
  cuda_check_launch("add_parts");
  add_columns<<<blocks_for(sums.ncols, block_threads), block_threads, 0, stream_of(device)>>>(sums, finish);
  cuda_check_launch("add_columns");
}

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
