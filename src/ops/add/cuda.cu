// SPDX-License-Identifier: Apache-2.0
// Addition on a CUDA device: a lane takes four columns of a row, in one access of 16 bytes where rows are aligned, and
// eight lanes make a word of 32 signs.
#include "ops/add/add.hpp"

#include <bitgraph/core/kernel.cuh>

#include <type_traits>

namespace bitgraph {

namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned own = 4;  ///< columns of a lane

__device__ bool is_aligned(const void* place) { return reinterpret_cast<std::uintptr_t>(place) % sizeof(float4) == 0; }

/// Columns f .. f + 4 of row i; 0 or -1 behind the last.
__device__ float4 load(const DenseView<const float>& x, std::size_t i, std::size_t f) {
  const float* const place = x.data + i * x.stride + f;
  if (f + own <= x.ncols && is_aligned(place)) return *reinterpret_cast<const float4*>(place);
  return {f < x.ncols ? place[0] : 0.0F, f + 1 < x.ncols ? place[1] : 0.0F, f + 2 < x.ncols ? place[2] : 0.0F,
          f + 3 < x.ncols ? place[3] : 0.0F};
}
__device__ float4 load(const BitMatrixView<PlusMinusOne>& x, std::size_t i, std::size_t f) {
  const auto bits = static_cast<unsigned>(x.words[i * x.words_per_row + f / 64] >> (f % 64));
  return {bits & 1U ? 1.0F : -1.0F, bits & 2U ? 1.0F : -1.0F, bits & 4U ? 1.0F : -1.0F, bits & 8U ? 1.0F : -1.0F};
}

__device__ void store(const DenseView<float>& out, std::size_t i, std::size_t f, const float (&y)[own]) {
  if (f >= out.ncols) return;
  float* const place = out.data + i * out.stride + f;
  if (f + own <= out.ncols && is_aligned(place)) {
    *reinterpret_cast<float4*>(place) = {y[0], y[1], y[2], y[3]};
    return;
  }
#pragma unroll
  for (unsigned n = 0; n < own; ++n) {
    if (f + n < out.ncols) place[n] = y[n];
  }
}

/// Of every lane of a warp; a row's lanes are a multiple of 16, so that eight in a row have one word of 32 bits.
__device__ void store(const BitMatrixView<PlusMinusOne, std::uint64_t>& out, std::size_t i, std::size_t f,
                      const float (&y)[own]) {
  std::uint32_t signs = 0;
#pragma unroll
  for (unsigned n = 0; n < own; ++n) signs |= (f + n < out.ncols && y[n] >= 0 ? 1U : 0U) << (f % 32 + n);
#pragma unroll
  for (unsigned step = 1; step < 32 / own; step *= 2) signs |= __shfl_xor_sync(full_warp, signs, step);
  if (f % 32 == 0 && i < out.nrows) {
    reinterpret_cast<std::uint32_t*>(out.words + i * out.words_per_row)[f / 32] = signs;
  }
}

/// `lanes_a_row` is a multiple of 16.
template <class In, class Out>
__global__ void __launch_bounds__(block_threads) add_elements(AddArgs<In, Out> args, unsigned lanes_a_row) {
  const std::size_t item = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  const std::size_t row = item / lanes_a_row;
  const std::size_t f = item % lanes_a_row * own;
  float y[own] = {};
  if (row < args.out.nrows && f < args.out.ncols) {
    const float4 a = load(args.a, row, f);
    const float4 b = load(args.b, row, f);
    const std::size_t last = args.out.ncols - 1;
    y[0] = args.apply(row, f, a.x, b.x);
    y[1] = args.apply(row, min(f + 1, last), a.y, b.y);
    y[2] = args.apply(row, min(f + 2, last), a.z, b.z);
    y[3] = args.apply(row, min(f + 3, last), a.w, b.w);
  }
  if constexpr (std::is_same_v<Out, DenseView<float>>) {
    if (row < args.out.nrows) store(args.out, row, f, y);
  } else {
    store(args.out, row, f, y);
  }
}

/// Rows whose columns are all treated alike.
__global__ void __launch_bounds__(block_threads) add_words(AddBitsToBits args) {
  const std::size_t item = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  const std::size_t row = item / args.out.words_per_row;
  if (row >= args.out.nrows) return;
  const std::size_t word = item % args.out.words_per_row;
  args.out.words[item] =
      SignTable(args, row)(args.a.words[item], args.b.words[item]) & columns_of_word(args.out.ncols, word);
}

}  // namespace

template <class In, class Out>
void add(const Cuda& backend, const AddArgs<In, Out>& args) {
  if (args.out.nrows == 0 || args.out.ncols == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  if constexpr (std::is_same_v<AddArgs<In, Out>, AddBitsToBits>) {
    if (args.same_in_all_columns()) {
      const unsigned blocks = blocks_for(args.out.nrows * args.out.words_per_row, block_threads);
      add_words<<<blocks, block_threads, 0, stream_of(backend.device)>>>(args);
      return cuda_check_launch("add_words");
    }
  }
  const auto lanes_a_row = static_cast<unsigned>((args.out.ncols + 63) / 64 * (64 / own));
  const unsigned blocks = blocks_for(args.out.nrows * lanes_a_row, block_threads);
  add_elements<<<blocks, block_threads, 0, stream_of(backend.device)>>>(args, lanes_a_row);
  cuda_check_launch("add_elements");
}

template void add(const Cuda&, const AddBitsToBits&);
template void add(const Cuda&, const AddBitsToFloats&);
template void add(const Cuda&, const AddFloatsToBits&);
template void add(const Cuda&, const AddFloatsToFloats&);

}  // namespace bitgraph
