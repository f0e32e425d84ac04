// SPDX-License-Identifier: Apache-2.0
// Floats, transposed, times signs, on a CUDA device: the gradient of weights whose inputs are bits, on tensor cores
// (bfloat16_parts.cuh). A warp has 32 features and 64 columns of signs. A block has a part of the rows; it brings 32 of
// them at a time to shared memory, their floats in three parts and turned so that rows follow one another. Parts of the
// rows are as many as the shape asks for, and are added in their order: the same bits in every call.
#include <bitgraph/core/kernel.cuh>

#include "ops/gemm/cuda/bfloat16_parts.cuh"
#include "ops/gemm/gemm.hpp"
#include "ops/gemm/tuning.hpp"

#include <algorithm>

namespace bitgraph {

namespace gemm_cuda {

namespace {

constexpr unsigned warp_features = 32;
constexpr unsigned warp_columns = 64;  ///< a word of signs
constexpr unsigned block_warps = 8;
constexpr unsigned step_rows = 32;               ///< in shared memory at a time
constexpr unsigned row_bytes = step_rows * 2;    ///< of a feature's parts, which are bfloat16,
constexpr unsigned row_stride = row_bytes + 16;  ///< and from one feature to the next: no two in the same banks
constexpr unsigned sum_threads = 256;

/// The shape of a launch.
struct Parts {
  unsigned feature_warps;  ///< of a block: 1, 2 or 4
  unsigned column_warps;   ///< of a block
  unsigned columns;        ///< blocks side by side
  unsigned slices;         ///< blocks of features
  std::size_t rows;        ///< of a part, a multiple of step_rows
  std::size_t count;

  explicit Parts(const SignGradientArgs& args) {
    const std::size_t features = args.out.nrows;
    feature_warps = features <= warp_features ? 1 : features <= 2 * warp_features ? 2 : 4;
    column_warps = std::min(block_warps / feature_warps, blocks_for(args.out.ncols, warp_columns));
    columns = blocks_for(args.out.ncols, std::size_t{column_warps} * warp_columns);
    slices = blocks_for(features, std::size_t{feature_warps} * warp_features);
    const std::size_t steps = std::max<std::size_t>(1, (args.g.nrows + step_rows - 1) / step_rows);
    const std::size_t side_by_side = std::size_t{columns} * slices;
    const std::size_t wanted = std::max<std::size_t>(1, cuda_gemm_tuning().sign_gradient_blocks / side_by_side);
    const std::size_t steps_each = (steps + std::min(wanted, steps) - 1) / std::min(wanted, steps);
    rows = steps_each * step_rows;
    count = (steps + steps_each - 1) / steps_each;
  }
  [[nodiscard]] unsigned threads() const { return 32 * feature_warps * column_warps; }
};

/// Some rows of a block in shared memory.
template <unsigned FeatureWarps, bool Masked>
struct Step {
  static constexpr unsigned features = FeatureWarps * warp_features;
  static constexpr unsigned most_words = 2 * (block_warps / FeatureWarps);  ///< of 32 columns

  alignas(16) unsigned char part[3][features][row_stride];  ///< of floats, the largest first
  std::uint32_t minus[step_rows][most_words];               ///< bits that are not set
  std::uint32_t kept[Masked ? step_rows : 1][most_words];
};

/// Four pairs of bfloat16 of each lane: a 16 x 16 matrix whose rows are at the lanes' places.
__device__ inline void load_matrix(std::uint32_t (&x)[4], const void* place) {
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(place));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(at)
               : "memory");
}

/// The lowest bits of byte `byte` of two rows, as the signs of two bfloat16.
__device__ inline std::uint32_t to_signs(std::uint32_t first_row, std::uint32_t second_row, unsigned byte) {
  return __byte_perm(first_row, second_row, byte << 4 | (4 + byte) << 12) << 7 & both_signs;
}

/// Floats of 32 rows of a feature that a thread has, half of them: on their way to shared memory.
template <unsigned Rows>
struct Brought {
  float of[Rows];

  __device__ void fetch(const SignGradientArgs& args, std::size_t first, std::size_t end, std::size_t feature) {
#pragma unroll
    for (unsigned r = 0; r < Rows; ++r) {
      const bool exists = first + r < end && feature < args.g.ncols;
      of[r] = exists ? __ldg(args.g.data + (first + r) * args.g.stride + feature) : 0.0F;
    }
    if (args.row_scale == nullptr) return;
#pragma unroll
    for (unsigned r = 0; r < Rows; ++r) {
      if (first + r < end) of[r] *= __ldg(args.row_scale + first + r);
    }
  }

  /// To three rows of 16-byte pieces.
  __device__ void store(unsigned char* first, unsigned char* second, unsigned char* third) const {
#pragma unroll
    for (unsigned r = 0; r < Rows; r += 8) {
      std::uint32_t word[3][4];
#pragma unroll
      for (unsigned p = 0; p < 4; ++p) split(of[r + 2 * p], of[r + 2 * p + 1], word[0][p], word[1][p], word[2][p]);
      *reinterpret_cast<uint4*>(first + 2 * r) = {word[0][0], word[0][1], word[0][2], word[0][3]};
      *reinterpret_cast<uint4*>(second + 2 * r) = {word[1][0], word[1][1], word[1][2], word[1][3]};
      *reinterpret_cast<uint4*>(third + 2 * r) = {word[2][0], word[2][1], word[2][2], word[2][3]};
    }
  }
};

/// A part's sums: out(f, j) of features f and columns j, rows of as many floats as there are columns. Threads are
/// warps of features by warps of columns, the features' first.
template <unsigned FeatureWarps, bool Masked>
__global__ void __launch_bounds__(32 * block_warps, 2)
    sign_gradient_part(const __grid_constant__ SignGradientArgs args, float* partial, std::size_t part_rows) {
  using Step = Step<FeatureWarps, Masked>;
  constexpr unsigned thread_rows = FeatureWarps == 4 ? step_rows / 2 : 8;  ///< that a thread brings of its feature
  extern __shared__ __align__(16) unsigned char raw[];
  Step& step = *reinterpret_cast<Step*>(raw);
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const unsigned words = 2 * (blockDim.x / (32 * FeatureWarps));  // of 32 columns
  const unsigned first_word = 2 * (warp / FeatureWarps);
  const unsigned first_feature = warp % FeatureWarps * warp_features;
  const std::size_t slice = std::size_t{blockIdx.z} * Step::features;
  const std::size_t block_word = std::size_t{blockIdx.x} * words;
  const std::size_t first_row = blockIdx.y * part_rows;
  const std::size_t end_row = min(first_row + part_rows, args.g.nrows);
  const std::size_t row_words = 2 * args.x.words_per_row;
  float sum[2][8][4] = {};

  for (std::size_t row = first_row; row < end_row; row += step_rows) {
    __syncthreads();
    for (unsigned n = threadIdx.x; n < Step::features * (step_rows / thread_rows); n += blockDim.x) {
      const unsigned feature = n % Step::features;
      const unsigned r = n / Step::features * thread_rows;
      Brought<thread_rows> brought;
      brought.fetch(args, row + r, end_row, slice + feature);
      brought.store(step.part[0][feature] + 2 * r, step.part[1][feature] + 2 * r, step.part[2][feature] + 2 * r);
    }
    for (unsigned n = threadIdx.x; n < step_rows * words; n += blockDim.x) {
      const std::size_t i = row + n / words;
      const std::size_t w = block_word + n % words;
      const bool exists = i < end_row && w < row_words;
      step.minus[n / words][n % words] =
          exists ? ~__ldg(reinterpret_cast<const std::uint32_t*>(args.x.words) + i * row_words + w) : 0;
      if constexpr (Masked) {
        step.kept[n / words][n % words] =
            exists ? __ldg(reinterpret_cast<const std::uint32_t*>(args.keep.words) + i * row_words + w) : 0;
      }
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < step_rows; k += 16) {
      // Signs of columns lane / 4 + 8 t, t below 8, in rows 2 (lane % 4) + 0, 1, 8 and 9.
      std::uint32_t w[8][2];
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned r = k + 8 * half + 2 * (lane % 4);
#pragma unroll
        for (unsigned word = 0; word < 2; ++word) {
          const std::uint32_t upper = step.minus[r][first_word + word] >> lane / 4;
          const std::uint32_t lower = step.minus[r + 1][first_word + word] >> lane / 4;
#pragma unroll
          for (unsigned byte = 0; byte < 4; ++byte) w[4 * word + byte][half] = to_signs(upper, lower, byte) ^ both_ones;
          if constexpr (Masked) {
            const std::uint32_t upper_kept = step.kept[r][first_word + word] >> lane / 4;
            const std::uint32_t lower_kept = step.kept[r + 1][first_word + word] >> lane / 4;
#pragma unroll
            for (unsigned byte = 0; byte < 4; ++byte)
              w[4 * word + byte][half] &= (to_signs(upper_kept, lower_kept, byte) >> 15) * 0xFFFFU;
          }
        }
      }
#pragma unroll
      for (unsigned m = 0; m < 2; ++m) {
        const unsigned feature = first_feature + 16 * m + lane % 16;
#pragma unroll
        for (unsigned p = 3; p-- != 0;) {
          std::uint32_t x[4];
          load_matrix(x, step.part[p][feature] + 2 * k + lane / 16 * 16);
#pragma unroll
          for (unsigned t = 0; t < 8; ++t) multiply_add(sum[m][t], x, w[t]);
        }
      }
    }
  }
#pragma unroll
  for (unsigned m = 0; m < 2; ++m) {
#pragma unroll
    for (unsigned n = 0; n < 4; ++n) {
      const std::size_t f = slice + first_feature + 16 * m + lane / 4 + n / 2 * 8;
      if (f >= args.out.nrows) continue;
#pragma unroll
      for (unsigned t = 0; t < 8; ++t) {
        const std::size_t j = 32 * (block_word + first_word) + 8 * t + 2 * (lane % 4) + n % 2;
        if (j < args.out.ncols) partial[(blockIdx.y * args.out.nrows + f) * args.out.ncols + j] = sum[m][t][n];
      }
    }
  }
}

__global__ void __launch_bounds__(sum_threads)
    sign_gradient_sum(DenseView<float> out, const float* partial, std::size_t parts) {
  const std::size_t size = out.nrows * out.ncols;
  const std::size_t n = std::size_t{blockIdx.x} * sum_threads + threadIdx.x;
  if (n >= size) return;
  float sum = 0;
#pragma unroll 8
  for (std::size_t part = 0; part < parts; ++part) sum += partial[part * size + n];
  out.data[n / out.ncols * out.stride + n % out.ncols] = sum;
}

template <unsigned FeatureWarps, bool Masked>
void start(const SignGradientArgs& args, const Parts& parts, float* partial, cudaStream_t stream) {
  const dim3 grid(parts.columns, static_cast<unsigned>(parts.count), parts.slices);
  constexpr std::size_t bytes = sizeof(Step<FeatureWarps, Masked>);
  static_assert(bytes <= 48 * 1024, "shared memory that needs no asking");
  sign_gradient_part<FeatureWarps, Masked><<<grid, parts.threads(), bytes, stream>>>(args, partial, parts.rows);
  cuda_check_launch("sign_gradient_part");
}

template <unsigned FeatureWarps>
void start(const SignGradientArgs& args, const Parts& parts, float* partial, cudaStream_t stream) {
  if (args.keep.words != nullptr) return start<FeatureWarps, true>(args, parts, partial, stream);
  start<FeatureWarps, false>(args, parts, partial, stream);
}

}  // namespace

}  // namespace gemm_cuda

void sign_gradient(const Cuda& backend, const SignGradientArgs& args) {
  using namespace gemm_cuda;
  const std::size_t size = args.out.nrows * args.out.ncols;
  if (size == 0) return;
  const Device& device = backend.device;
  const ScopedCudaDevice scope(device.index());
  const cudaStream_t stream = stream_of(device);
  const Parts parts(args);
  auto* const partial = static_cast<float*>(device.workspace(parts.count * size * sizeof(float)));
  switch (parts.feature_warps) {
    case 1: start<1>(args, parts, partial, stream); break;
    case 2: start<2>(args, parts, partial, stream); break;
    default: start<4>(args, parts, partial, stream); break;
  }
  sign_gradient_sum<<<blocks_for(size, sum_threads), sum_threads, 0, stream>>>(args.out, partial, parts.count);
  cuda_check_launch("sign_gradient_sum");
}

}  // namespace bitgraph
