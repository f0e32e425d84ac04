// SPDX-License-Identifier: Apache-2.0
// A thread an element; sums of columns a thread a column of a part, then a thread a column.
#include "ops/dense/dense.hpp"

#include <bitgraph/core/kernel.cuh>

#include "ops/row_parts.hpp"

namespace bitgraph {

namespace {

constexpr unsigned block_threads = 256;

/// Element (i, j); the views' own functions are the host's.
template <class T>
__device__ T& at(const DenseView<T>& x, std::size_t i, std::size_t j) {
  return x.data[i * x.stride + j];
}

template <class Domain>
__device__ bool bit_at(const BitMatrixView<Domain>& x, std::size_t i, std::size_t j) {
  return ((__ldg(x.words + i * x.words_per_row + j / 64) >> (j % 64)) & 1U) != 0;
}

template <class Fn>
__global__ void __launch_bounds__(block_threads) for_elements(std::size_t nrows, std::size_t ncols, Fn fn) {
  const std::size_t n = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (n >= nrows * ncols) return;
  if (nrows * ncols <= 0xFFFFFFFFU) {  // division of 32 bits is several times as fast
    const auto place = static_cast<std::uint32_t>(n), width = static_cast<std::uint32_t>(ncols);
    fn(place / width, place % width);
  } else {
    fn(n / ncols, n % ncols);
  }
}

template <class Fn>
void each_element(const Cuda& backend, std::size_t nrows, std::size_t ncols, const Fn& fn, const char* name) {
  if (nrows == 0 || ncols == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  const unsigned blocks = blocks_for(nrows * ncols, block_threads);
  for_elements<<<blocks, block_threads, 0, stream_of(backend.device)>>>(nrows, ncols, fn);
  cuda_check_launch(name);
}

/// A thread a word, of x and of out alike.
template <class Word>
void gather_words(const Cuda& backend, DenseView<Word> out, DenseView<const Word> x, const NodeId* rows) {
  each_element(
      backend, out.nrows, out.ncols,
      [=] __device__(std::size_t i, std::size_t j) { at(out, i, j) = at(x, __ldg(rows + i), j); }, "gather");
}

/// Rows of whole words of 16 bytes go in these.
template <class Word>
void gather(const Cuda& backend, DenseView<Word> out, DenseView<const Word> x, const NodeId* rows) {
  constexpr std::size_t count = sizeof(uint4) / sizeof(Word);
  const auto in_fours = [](const auto& view) {
    return view.ncols % count == 0 && view.stride % count == 0 &&
           reinterpret_cast<std::uintptr_t>(view.data) % sizeof(uint4) == 0;
  };
  if (!in_fours(out) || !in_fours(x)) return gather_words(backend, out, x, rows);
  const DenseView<uint4> to{out.nrows, out.ncols / count, out.stride / count, reinterpret_cast<uint4*>(out.data)};
  const DenseView<const uint4> from{x.nrows, x.ncols / count, x.stride / count, reinterpret_cast<const uint4*>(x.data)};
  gather_words(backend, to, from, rows);
}

constexpr unsigned turned_side = 32;  ///< of a square that a block turns
constexpr unsigned turned_rows = block_threads / turned_side;

/// By way of shared memory, so that reads and writes are both of consecutive floats.
__global__ void __launch_bounds__(block_threads)
    turn(const __grid_constant__ TransposeArgs args, unsigned columns_of_blocks) {
  __shared__ float square[turned_side][turned_side + 1];
  const unsigned lane = threadIdx.x % turned_side;
  const unsigned first = threadIdx.x / turned_side;
  const std::size_t i = std::size_t{blockIdx.x / columns_of_blocks} * turned_side;
  const std::size_t j = std::size_t{blockIdx.x % columns_of_blocks} * turned_side;
#pragma unroll
  for (unsigned r = first; r < turned_side; r += turned_rows) {
    if (i + r < args.x.nrows && j + lane < args.x.ncols) square[r][lane] = at(args.x, i + r, j + lane);
  }
  __syncthreads();
#pragma unroll
  for (unsigned r = first; r < turned_side; r += turned_rows) {
    if (j + r < args.x.ncols && i + lane < args.x.nrows) at(args.out, j + r, i + lane) = square[lane][r];
  }
}

__global__ void __launch_bounds__(block_threads)
    add_parts(double* partial, DenseView<const float> x, std::size_t part_rows) {
  const std::size_t j = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (j >= x.ncols) return;
  const std::size_t first = blockIdx.y * part_rows;
  const std::size_t end = min(first + part_rows, x.nrows);
  double sum = 0;
#pragma unroll 32
  for (std::size_t i = first; i < end; ++i) sum += at(x, i, j);
  partial[blockIdx.y * x.ncols + j] = sum;
}

__global__ void __launch_bounds__(block_threads)
    add_columns(float* out, const double* partial, std::size_t parts, std::size_t ncols) {
  const std::size_t j = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (j >= ncols) return;
  double sum = 0;
#pragma unroll 8
  for (std::size_t part = 0; part < parts; ++part) sum += partial[part * ncols + j];
  out[j] = static_cast<float>(sum);
}

}  // namespace

void accumulate(const Cuda& backend, DenseView<float> out, DenseView<const float> x, float alpha, float beta) {
  each_element(
      backend, out.nrows, out.ncols,
      [=] __device__(std::size_t i, std::size_t f) {
        const float value = alpha * at(x, i, f);
        at(out, i, f) = beta == 0 ? value : value + beta * at(out, i, f);
      },
      "accumulate");
}

void maximum(const Cuda& backend, DenseView<float> y, DenseView<const float> x) {
  each_element(
      backend, y.nrows, y.ncols,
      [=] __device__(std::size_t i, std::size_t f) {
        if (at(x, i, f) > at(y, i, f)) at(y, i, f) = at(x, i, f);
      },
      "maximum");
}

void scale_rows(const Cuda& backend, DenseView<float> x, const float* scale) {
  each_element(
      backend, x.nrows, x.ncols, [=] __device__(std::size_t i, std::size_t f) { at(x, i, f) *= __ldg(scale + i); },
      "scale_rows");
}

void gather_rows(const Cuda& backend, DenseView<std::uint32_t> out, DenseView<const std::uint32_t> x,
                 const NodeId* rows) {
  gather(backend, out, x, rows);
}

void gather_rows(const Cuda& backend, DenseView<std::uint64_t> out, DenseView<const std::uint64_t> x,
                 const NodeId* rows) {
  gather(backend, out, x, rows);
}

void column_sums(const Cuda& backend, float* out, DenseView<const float> x) {
  if (x.ncols == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  const RowParts parts(x.nrows);
  auto* const partial = static_cast<double*>(backend.device.workspace((parts.count * x.ncols + 1) * sizeof(double)));
  const unsigned blocks = blocks_for(x.ncols, block_threads);
  if (parts.count != 0) {
    const dim3 grid(blocks, static_cast<unsigned>(parts.count));
    add_parts<<<grid, block_threads, 0, stream_of(backend.device)>>>(partial, x, parts.rows);
    cuda_check_launch("add_parts");
  }
  add_columns<<<blocks, block_threads, 0, stream_of(backend.device)>>>(out, partial, parts.count, x.ncols);
  cuda_check_launch("add_columns");
}

void expand(const Cuda& backend, const ExpandArgs& args) {
  each_element(
      backend, args.out.nrows, args.out.ncols,
      [=] __device__(std::size_t i, std::size_t j) {
        const float scale = args.row_scale == nullptr ? 1.0F : __ldg(args.row_scale + i);
        const float value = bit_at(args.x, i, j) ? scale : -scale;
        at(args.out, i, j) = args.keep.words == nullptr || bit_at(args.keep, i, j) ? value : 0.0F;
      },
      "expand");
}

void transpose(const Cuda& backend, const TransposeArgs& args) {
  if (args.x.nrows == 0 || args.x.ncols == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  const unsigned columns = blocks_for(args.x.ncols, turned_side);
  turn<<<columns * blocks_for(args.x.nrows, turned_side), block_threads, 0, stream_of(backend.device)>>>(args, columns);
  cuda_check_launch("transpose");
}

}  // namespace bitgraph
