// SPDX-License-Identifier: Apache-2.0
// Dropout on a CUDA device: each draw of four words gives the eight bits of one byte of the mask, and a thread has one.
#include "ops/dropout/dropout.hpp"

#include <bitgraph/core/kernel.cuh>

#include "core/cuda/random.cuh"

#include <cstdint>

namespace bitgraph {

namespace {

constexpr unsigned block_threads = 256;

__global__ void __launch_bounds__(block_threads) dropout_bytes(DropoutArgs args) {
  const std::size_t position = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  const std::size_t row_bytes = args.keep.words_per_row * 8;
  if (position >= args.keep.nrows * row_bytes) return;
  RandomKey key = args.key;
  if (key.step_there != nullptr) key.step = __ldg(key.step_there);
  const uint4 draw = cuda_random_words(key, position);
  const std::uint32_t words[4] = {draw.x, draw.y, draw.z, draw.w};
  const std::size_t first = position % row_bytes * 8;
  unsigned bits = 0;
#pragma unroll
  for (unsigned n = 0; n < 8; ++n) {
    const std::uint32_t number = (words[n / 2] >> (16 * (n % 2))) & 0xFFFFU;
    if (first + n < args.keep.ncols && number < args.threshold) bits |= 1U << n;
  }
  reinterpret_cast<std::uint8_t*>(args.keep.words)[position] = static_cast<std::uint8_t>(bits);
}

__global__ void __launch_bounds__(block_threads) drop_values(ApplyDropoutArgs args) {
  const std::size_t n = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (n >= args.x.nrows * args.x.ncols) return;
  const std::size_t i = n / args.x.ncols;
  const std::size_t j = n % args.x.ncols;
  float& x = args.x.data[i * args.x.stride + j];
  const std::uint64_t word = __ldg(args.keep.words + i * args.keep.words_per_row + j / 64);
  x = ((word >> (j % 64)) & 1U) != 0 ? x * args.scale : 0.0F;
}

__global__ void __launch_bounds__(block_threads) keep_words(DropSetBitsArgs args) {
  const std::size_t n = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (n >= args.x.nrows * args.x.words_per_row) return;
  args.x.words[n] &= __ldg(args.keep.words + n);
}

}  // namespace

void dropout_mask(const Cuda& backend, const DropoutArgs& args) {
  const std::size_t bytes = args.keep.nrows * args.keep.words_per_row * 8;
  if (bytes == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  dropout_bytes<<<blocks_for(bytes, block_threads), block_threads, 0, stream_of(backend.device)>>>(args);
  cuda_check_launch("dropout_bytes");
}

void apply_dropout(const Cuda& backend, const ApplyDropoutArgs& args) {
  const std::size_t values = args.x.nrows * args.x.ncols;
  if (values == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  drop_values<<<blocks_for(values, block_threads), block_threads, 0, stream_of(backend.device)>>>(args);
  cuda_check_launch("drop_values");
}

void drop_set_bits(const Cuda& backend, const DropSetBitsArgs& args) {
  const std::size_t words = args.x.nrows * args.x.words_per_row;
  if (words == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  keep_words<<<blocks_for(words, block_threads), block_threads, 0, stream_of(backend.device)>>>(args);
  cuda_check_launch("keep_words");
}

}  // namespace bitgraph
