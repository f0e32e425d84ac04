// SPDX-License-Identifier: Apache-2.0
// Concatenation on a CUDA device: a thread makes one word, or one float, of the output.
#include "ops/concat/concat.hpp"

#include <bitgraph/core/kernel.cuh>

namespace bitgraph {

namespace {

constexpr unsigned block_threads = 256;

/// 64 columns of row i of x from `first` on, which may be less than 0; zeros where there are none.
__device__ std::uint64_t word_at(const BitMatrixView<PlusMinusOne>& x, std::size_t i, std::ptrdiff_t first) {
  const std::uint64_t* const row = x.words + i * x.words_per_row;
  if (first < 0) return row[0] << -first;
  const std::size_t word = static_cast<std::size_t>(first) / 64;
  const auto shift = static_cast<unsigned>(first % 64);
  const std::uint64_t low = row[word] >> shift;
  return shift == 0 || word + 1 >= x.words_per_row ? low : low | row[word + 1] << (64 - shift);
}

__global__ void __launch_bounds__(block_threads) concat_words(ConcatBits args) {
  const std::size_t item = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  const std::size_t row = item / args.out.words_per_row;
  if (row >= args.out.nrows) return;
  const std::size_t begin = item % args.out.words_per_row * 64;
  std::uint64_t bits = 0;
  for (std::size_t p = 0; p < args.num_parts; ++p) {
    const std::size_t first = args.first_column[p];
    if (first == args.first_column[p + 1] || first >= begin + 64 || args.first_column[p + 1] <= begin) continue;
    bits |= word_at(args.parts[p], row, static_cast<std::ptrdiff_t>(begin) - static_cast<std::ptrdiff_t>(first));
  }
  args.out.words[item] = bits;
}

/// One column, or four where T is float4.
template <class T>
__global__ void __launch_bounds__(block_threads) concat_values(ConcatFloats args) {
  constexpr std::size_t columns = sizeof(T) / sizeof(float);
  const std::size_t item = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  const std::size_t row = item / (args.out.ncols / columns);
  if (row >= args.out.nrows) return;
  const std::size_t f = item % (args.out.ncols / columns) * columns;
  std::size_t p = 0;
  while (f >= args.first_column[p + 1]) ++p;
  const DenseView<const float>& part = args.parts[p];
  *reinterpret_cast<T*>(args.out.data + row * args.out.stride + f) =
      *reinterpret_cast<const T*>(part.data + row * part.stride + (f - args.first_column[p]));
}

/// Whether all rows of all parts can be read and written four floats at a time.
bool in_fours(const ConcatFloats& args) {
  const auto fits = [](const auto& x) {
    return x.ncols % 4 == 0 && x.stride % 4 == 0 && reinterpret_cast<std::uintptr_t>(x.data) % sizeof(float4) == 0;
  };
  for (std::size_t p = 0; p < args.num_parts; ++p) {
    if (!fits(args.parts[p])) return false;
  }
  return fits(args.out);
}

template <class T>
void launch_values(const Device& device, const ConcatFloats& args) {
  const std::size_t items = args.out.nrows * (args.out.ncols * sizeof(float) / sizeof(T));
  concat_values<T><<<blocks_for(items, block_threads), block_threads, 0, stream_of(device)>>>(args);
  cuda_check_launch("concat_values");
}

}  // namespace

void concat(const Cuda& backend, const ConcatBits& args) {
  if (args.out.nrows == 0 || args.out.ncols == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  const unsigned blocks = blocks_for(args.out.nrows * args.out.words_per_row, block_threads);
  concat_words<<<blocks, block_threads, 0, stream_of(backend.device)>>>(args);
  cuda_check_launch("concat_words");
}

void concat(const Cuda& backend, const ConcatFloats& args) {
  if (args.out.nrows == 0 || args.out.ncols == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  if (in_fours(args)) return launch_values<float4>(backend.device, args);
  launch_values<float>(backend.device, args);
}

}  // namespace bitgraph
