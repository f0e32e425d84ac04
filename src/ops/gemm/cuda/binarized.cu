// SPDX-License-Identifier: Apache-2.0
// BMM.FBB and FBF on a CUDA device. The kernel reads each row of floats once, and makes its signs and its mean
// magnitude while it multiplies. Four threads, q = 0..3, share a row. Thread q has the columns 128 c + 16 i + 4 q +
// 0..3, which are bits 32 (c % 2) + 4 i + 0..3 of its word c / 2. The words of W are brought into the same order.
// binarize adds magnitudes in sixteen interleaved sums; each thread holds four of them, so scales are the same to the
// last bit.
#include "ops/cuda_float_rows.cuh"
#include "ops/gemm/cuda/problem.hpp"
#include "ops/gemm/cuda/short_rows.cuh"

#include <cfloat>

namespace bitgraph::gemm_cuda {

namespace {

using float_rows::batch_columns;
using Batch = float_rows::Batch<2>;
using Reader = float_rows::Reader<2>;

constexpr unsigned block_threads = cuda_gemm_tuning().block_threads;
constexpr unsigned batch_bits = batch_columns / 4;  ///< bits of a row in one thread, for a batch of columns
constexpr unsigned word_batches = 64 * step_words / batch_columns;  ///< batches that fill a thread's word
constexpr unsigned block_warps = block_threads / 32;

/// Collects the bits 16 i + 4 q + 0..3 of four words into one word.
template <unsigned Steps, class View>
__device__ void load_in_order(const View& w, std::size_t row, bool exists, std::uint64_t (&word)[Steps]) {
  const unsigned q = threadIdx.x % 4;
#pragma unroll
  for (unsigned step = 0; step < Steps; ++step) {
    word[step] = 0;
#pragma unroll
    for (unsigned k = 0; k < step_words; ++k) {
      const unsigned at = step_words * step + k;
      std::uint64_t bits = exists && at < w.words_per_row ? __ldg(w.words + row * w.words_per_row + at) : 0;
      bits = bits >> (4 * q) & 0x000F000F000F000FU;
      bits = (bits | bits >> 12) & 0x000000FF000000FFU;
      word[step] |= ((bits | bits >> 24) & 0xFFFFU) << (16 * k);
    }
  }
}

/// The thread's bits that stand for one column of W.
__device__ inline std::uint64_t columns_of_word(unsigned word, std::size_t ncols) {
  const std::size_t first = 256 * std::size_t{word} + 4 * (threadIdx.x % 4);
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < 16 && first + 16 * i < ncols; ++i) {
    const std::size_t left = ncols - first - 16 * i;
    bits |= std::uint64_t{left >= 4 ? 15U : (1U << left) - 1} << (4 * i);
  }
  return bits;
}

/// The signs of two rows and the sums of their magnitudes, made batch by batch.
template <unsigned Steps>
struct Signs {
  Rows<Steps> rows = {};
  float sum[2][4] = {};

  __device__ void take(const Batch& x, unsigned word, unsigned batch) {
    std::uint32_t bits[2] = {};
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
#pragma unroll
      for (unsigned n = 0; n < batch_bits; ++n) {
        const float z = x.of[half][n / 4][n % 4];
        sum[half][n % 4] += fabsf(z);
        bits[half] |= z >= 0 ? 1U << n : 0;
      }
    }
    rows.upper[word] |= std::uint64_t{bits[0]} << (batch_bits * batch);
    rows.lower[word] |= std::uint64_t{bits[1]} << (batch_bits * batch);
  }

  /// Adds up the sixteen sums in the order of binarize: pairs that are 8 apart, then 4, 2 and 1.
  __device__ void means(std::size_t ncols, float (&mean)[2]) {
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) {
        sum[half][k] += __shfl_xor_sync(full_warp, sum[half][k], 2);
        sum[half][k] += __shfl_xor_sync(full_warp, sum[half][k], 1);
      }
      const float total = (sum[half][0] + sum[half][2]) + (sum[half][1] + sum[half][3]);
      mean[half] = ncols == 0 ? 0.0F : total / static_cast<float>(ncols);
    }
  }
};

template <unsigned Steps, class Args>
__device__ void load_weights(const Shared<Steps>& shared, const Args& args, const Outputs& outputs) {
  for (unsigned t = threadIdx.x / 32; t < outputs.tiles; t += block_warps) {
    const unsigned output = outputs.template at<Args>(t, threadIdx.x % 32 / 4);
    std::uint64_t w[Steps];
    load_in_order<Steps>(args.w, output, output < outputs.count, w);
    put_weights<Steps, true>(shared, args, outputs, t, w);
  }
}

/// Plain: the output is bits, and there are no scales of outputs and no bias. Then scales of rows, which are positive,
/// change no sign and are left out.
template <unsigned Steps, bool Plain, class Args>
__global__ void __launch_bounds__(block_threads, cuda_gemm_tuning().blocks) gemm_binarized_rows(Args args) {
  extern __shared__ __align__(16) std::uint64_t raw[];
  const Outputs outputs(args);
  const Shared<Steps> shared(raw, outputs.tiles);
  const unsigned warp = threadIdx.x / 32;
  const unsigned g = threadIdx.x % 32 / 4;
  std::size_t tile = std::size_t{warp} * gridDim.x + blockIdx.x;
  const std::size_t step = std::size_t{block_warps} * gridDim.x;
  const Reader reader(args.x);
  load_weights(shared, args, outputs);
  std::uint64_t columns[Steps];
#pragma unroll
  for (unsigned word = 0; word < Steps; ++word) columns[word] = columns_of_word(word, args.x.ncols);
  __syncthreads();
  for (; 16 * tile < args.x.nrows; tile += step) {
    Signs<Steps> signs;
#pragma unroll
    for (unsigned n = 0; n < word_batches * Steps; ++n) {
      if (n * batch_columns >= args.x.ncols) break;
      Batch x;
      reader.read(tile, n * batch_columns, x);
      signs.take(x, n / word_batches, n % word_batches);
    }
#pragma unroll
    for (unsigned word = 0; word < Steps; ++word) {
      signs.rows.upper[word] &= columns[word];
      signs.rows.lower[word] &= columns[word];
    }
    const std::size_t row = 16 * tile + g;
    int ones[2];
    signs.rows.count(ones);
    float scale[2];
    signs.means(args.x.ncols, scale);
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      if (args.row_scale != nullptr && row + 8 * half < args.x.nrows)
        scale[half] *= __ldg(args.row_scale + row + 8 * half);
    }
    if constexpr (Plain) {
      const auto is_positive = [](float value) { return value > 0 && value <= FLT_MAX; };
      if (__all_sync(full_warp, is_positive(scale[0]) && is_positive(scale[1]))) {
        finish_rows<Finish::signs>(args, outputs, PlainSigns<Steps>(shared, args.x.ncols, ones), signs.rows, row,
                                   nullptr);
        continue;
      }
    }
    finish_rows<Finish::scaled>(args, outputs, Scaled<Steps>(shared, args.x.ncols, ones, scale), signs.rows, row,
                                nullptr);
  }
}

template <unsigned Steps, bool Plain, class Args>
void launch(const Device& device, const Args& args) {
  const std::size_t bytes = Shared<Steps>::bytes((args.w.nrows + 63) / 64 * group_tiles);
  const std::size_t places = 2 * cuda_limits(device).multiprocessors;
  const auto blocks = static_cast<unsigned>(std::min(places, (args.x.nrows + 15) / 16));
  gemm_binarized_rows<Steps, Plain><<<blocks, block_threads, bytes, stream_of(device)>>>(args);
  cuda_check_launch("gemm_binarized_rows");
}

template <bool Plain, class Args>
void launch_for_length(const Device& device, const Args& args, unsigned steps) {
  switch (steps) {
    case 1: return launch<1, Plain>(device, args);
    case 2: return launch<2, Plain>(device, args);
    case 3: return launch<3, Plain>(device, args);
    default: return launch<4, Plain>(device, args);
  }
}

template <class Args>
bool run(const Cuda& backend, const Args& args) {
  const Plan chosen = plan(problem_of(args, Factors::signs_of_floats, cuda_limits(backend.device).multiprocessors));
  if (chosen.kernel != Kernel::binarized_rows) return false;
  if (args.x.nrows == 0 || args.w.nrows == 0) return true;
  const ScopedCudaDevice scope(backend.device.index());
  if constexpr (to_bits<Args>) {
    if (signs_alone(chosen.finish)) {
      launch_for_length<true>(backend.device, args, chosen.steps);
      return true;
    }
  }
  launch_for_length<false>(backend.device, args, chosen.steps);
  return true;
}

}  // namespace

}  // namespace bitgraph::gemm_cuda

namespace bitgraph {

bool gemm_binarized(const Cuda& backend, const GemmFromFloats<BitMatrixView<PlusMinusOne, std::uint64_t>>& args) {
  return gemm_cuda::run(backend, args);
}
bool gemm_binarized(const Cuda& backend, const GemmFromFloats<DenseView<float>>& args) {
  return gemm_cuda::run(backend, args);
}

}  // namespace bitgraph
