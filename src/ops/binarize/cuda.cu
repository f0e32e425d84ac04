// SPDX-License-Identifier: Apache-2.0
// Signs and mean magnitudes on a CUDA device: a row has sixteen lanes, each of them one of the interleaved sums that
// binarize.hpp prescribes, and a vote of the warp makes bits of their signs.
#include "ops/binarize/binarize.hpp"

#include <bitgraph/core/kernel.cuh>

#include <cmath>

namespace bitgraph {

namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned lanes = binarize_sums;
static_assert(lanes == 16, "two rows a warp");
constexpr unsigned words_ahead = 4;        ///< whose values are on their way at once
constexpr std::size_t few_rows = 4096;     ///< rows that large blocks would not spread over the device
constexpr unsigned few_rows_threads = 64;  ///< of a block then,
constexpr unsigned few_rows_ahead = 16;    ///< and words

template <unsigned Ahead>
__global__ void __launch_bounds__(block_threads) binarize_rows(BinarizeArgs args) {
  const std::size_t row = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / lanes;
  const unsigned lane = threadIdx.x % lanes;
  const unsigned first_lane = threadIdx.x % 32 - lane;
  const bool exists = row < args.x.nrows;
  const float* const x = args.x.data + (exists ? row * args.x.stride : 0);
  float sum = 0;
  float ahead[Ahead][64 / lanes];
  const auto fetch = [&](float(&values)[64 / lanes], std::size_t word) {
#pragma unroll
    for (unsigned k = 0; k < 64 / lanes; ++k) {
      const std::size_t j = word * 64 + k * lanes + lane;
      values[k] = exists && j < args.x.ncols ? x[j] : 0.0F;
    }
  };
  for (std::size_t first = 0; first < args.bits.words_per_row; first += Ahead) {
#pragma unroll
    for (unsigned w = 0; w < Ahead; ++w) fetch(ahead[w], first + w);
#pragma unroll
    for (unsigned w = 0; w < Ahead; ++w) {
      const std::size_t word = first + w;
      if (word >= args.bits.words_per_row) break;
      float(&z)[64 / lanes] = ahead[w];
      std::uint64_t bits = 0;
#pragma unroll
      for (unsigned k = 0; k < 64 / lanes; ++k) {
        const std::size_t j = word * 64 + k * lanes + lane;
        const bool counts = j < args.x.ncols;
        if (counts && args.shift != nullptr) z[k] -= args.shift[j];
        if (counts && args.scale != nullptr) z[k] *= args.scale[j];
        const unsigned signs = __ballot_sync(full_warp, counts && z[k] >= 0);
        bits |= static_cast<std::uint64_t>((signs >> first_lane) & 0xFFFFU) << (k * lanes);
        sum += std::fabs(z[k]);  // 0 where there is no column
      }
      if (exists && lane == 0) args.bits.words[row * args.bits.words_per_row + word] = bits;
    }
  }
#pragma unroll
  for (unsigned half = lanes / 2; half != 0; half /= 2) sum += __shfl_down_sync(full_warp, sum, half, lanes);
  if (exists && lane == 0) args.alpha[row] = args.x.ncols == 0 ? 0.0F : sum / static_cast<float>(args.x.ncols);
}

}  // namespace

void binarize(const Cuda& backend, const BinarizeArgs& args) {
  if (args.x.nrows == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  const bool few = args.x.nrows < few_rows;
  const unsigned threads = few ? few_rows_threads : block_threads;
  const unsigned blocks = blocks_for(args.x.nrows * lanes, threads);
  const auto kernel = few ? binarize_rows<few_rows_ahead> : binarize_rows<words_ahead>;
  kernel<<<blocks, threads, 0, stream_of(backend.device)>>>(args);
  cuda_check_launch("binarize_rows");
}

}  // namespace bitgraph
