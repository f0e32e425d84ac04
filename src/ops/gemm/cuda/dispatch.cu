// SPDX-License-Identifier: Apache-2.0
// Binary gemm on a CUDA device: the launch of what plan.hpp chooses, and the kernel for many long rows and for masks.
// There a block has 64 outputs, one word of a binary result, whose weights stand in shared memory; each of its warps
// has rows of X of its own, read once from memory in the order that the instruction wants.
#include "ops/gemm/cuda/bits.cuh"
#include "ops/gemm/cuda/problem.hpp"

#include <cstdint>
#include <type_traits>

namespace bitgraph {

namespace {

using namespace gemm_cuda;

constexpr unsigned block_threads = cuda_gemm_tuning().block_threads;
constexpr unsigned block_warps = block_threads / 32;
constexpr unsigned group_outputs = 64;
constexpr unsigned output_tiles = group_outputs / 8;              ///< a tile of outputs is 8 wide
constexpr unsigned chunk_words = cuda_gemm_tuning().chunk_words;  ///< words of W in shared memory at a time
constexpr unsigned chunk_stride = chunk_words + 4;                ///< no two rows of a tile meet in a bank

template <class Args>
inline constexpr bool to_bits = std::is_same_v<Args, GemmToBits>;

/// What a block shares.
struct Weights {
  std::uint64_t word[group_outputs][chunk_stride];
  int ones[group_outputs];
};

/// The words first .. first + chunk_words of the block's outputs, zero where there are none, and how many ones there
/// are.
template <class Args>
__device__ void load_weights(Weights& weights, const Args& args, std::size_t first_output, std::size_t first) {
  const unsigned n = threadIdx.x / 4;
  const bool exists = first_output + n < args.w.nrows;
  int ones = 0;
  const auto left = static_cast<unsigned>(min(std::size_t{chunk_words}, args.w.words_per_row - first));
  for (unsigned word = threadIdx.x % 4; word < (left + 3) / 4 * 4; word += 4) {
    const std::size_t at = first + word;
    const std::uint64_t bits =
        exists && at < args.w.words_per_row ? __ldg(args.w.words + (first_output + n) * args.w.words_per_row + at) : 0;
    weights.word[n][word] = bits;
    ones += __popcll(bits);
  }
  ones += __shfl_xor_sync(full_warp, ones, 1);
  ones += __shfl_xor_sync(full_warp, ones, 2);
  if (threadIdx.x % 4 == 0) weights.ones[n] = first == 0 ? ones : weights.ones[n] + ones;
}

template <class View>
__device__ RowWords load_rows(const View& x, std::size_t row, std::size_t word) {
  RowWords words{0, 0};
  if (word < x.words_per_row) {
    if (row < x.nrows) words.upper = __ldg(x.words + row * x.words_per_row + word);
    if (row + 8 < x.nrows) words.lower = __ldg(x.words + (row + 8) * x.words_per_row + word);
  }
  return words;
}

/// Products of 16 rows with the block's outputs. A thread has, of tile t, the outputs 8 t + 2 q and the next, q its
/// place among four, of the rows g and g + 8, g its four's place.
template <bool Masked>
struct RowTile {
  int common[output_tiles][4] = {};                ///< ones that X and W have in common
  int counted[Masked ? output_tiles : 1][4] = {};  ///< ones of W that count
  int ones[2] = {};                                ///< of the two rows
  int terms[2] = {};                               ///< elements that count

  template <class Args>
  __device__ void load(const Args& args, std::size_t row, std::size_t word) {
    x_ = load_rows(args.x, row, word);
    if constexpr (Masked) {
      keep_ = load_rows(args.keep, row, word);
      x_.upper &= keep_.upper;
      x_.lower &= keep_.lower;
      terms[0] += __popcll(keep_.upper);
      terms[1] += __popcll(keep_.lower);
    }
    ones[0] += __popcll(x_.upper);
    ones[1] += __popcll(x_.lower);
  }

  __device__ void multiply(unsigned t, std::uint64_t w) {
    multiply_add(common[t], x_, w);
    if constexpr (Masked) multiply_add(counted[t], keep_, w);
  }

  /// After the last word: terms becomes what an output has before its own ones and those in common count.
  __device__ void finish(std::size_t ncols) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int counting = Masked ? add_quad(terms[half]) : static_cast<int>(ncols);
      terms[half] = counting - 2 * add_quad(ones[half]);
    }
  }

  /// s of an output: of the upper row (half 0) or the lower, the thread's first or second one of tile t.
  __device__ int product(unsigned t, unsigned half, unsigned which, int ones_of_w) const {
    const unsigned n = 2 * half + which;
    return terms[half] - 2 * (Masked ? counted[Masked ? t : 0][n] : ones_of_w) + 4 * common[t][n];
  }

 private:
  RowWords x_;
  RowWords keep_;
};

/// Rows of a warp, in tiles of 16.
template <bool Masked>
constexpr unsigned warp_tiles = Masked ? 1 : 2;

/// Bits of a row: those of the thread's outputs of tiles 0 to 3, and of tiles 4 to 7.
__device__ inline std::uint64_t row_bits(const std::uint32_t (&half_words)[2], unsigned quad) {
  std::uint64_t bits = (std::uint64_t{half_words[1]} << 32 | half_words[0]) << (2 * quad);
  bits |= __shfl_xor_sync(full_warp, bits, 1);
  return bits | __shfl_xor_sync(full_warp, bits, 2);
}

/// fn(m, half) for the rows of a thread: of tile m the upper (half 0) or the lower.
template <unsigned Tiles, class Fn>
__device__ void for_rows(const Fn& fn) {
#pragma unroll
  for (unsigned m = 0; m < Tiles; ++m) {
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) fn(m, half);
  }
}

/// Where a thread's results go.
struct Place {
  std::size_t first_row;     ///< the upper one of tile 0
  std::size_t first_output;  ///< of the block
  std::size_t outputs;       ///< from there on
  unsigned quad;

  template <class Args>
  __device__ Place(const Args& args, std::size_t row, std::size_t output)
      : first_row(row), first_output(output), outputs(args.w.nrows - output), quad(threadIdx.x % 4) {}

  [[nodiscard]] __device__ std::size_t row(unsigned m, unsigned half) const { return first_row + 16 * m + 8 * half; }
};

template <unsigned Tiles>
__device__ void store_bits(const GemmToBits& args, const Place& place, const std::uint32_t (&bits)[Tiles][2][2]) {
  const std::uint64_t exist = place.outputs >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << place.outputs) - 1;
  for_rows<Tiles>([&](unsigned m, unsigned half) {
    const std::size_t row = place.row(m, half);
    const std::uint64_t word = row_bits(bits[m][half], place.quad) & exist;
    if (place.quad == 0 && row < args.x.nrows) {
      args.out.words[row * args.out.words_per_row + place.first_output / 64] = word;
    }
  });
}

/// Signs of s itself, where nothing stands around it.
template <bool Masked, unsigned Tiles>
__device__ void store_signs(const GemmToBits& args, const Place& place, const RowTile<Masked> (&tile)[Tiles],
                            const Weights& weights) {
  std::uint32_t bits[Tiles][2][2] = {};
#pragma unroll
  for (unsigned t = 0; t < output_tiles; ++t) {
#pragma unroll
    for (unsigned which = 0; which < 2; ++which) {
      const int ones = Masked ? 0 : weights.ones[8 * t + 2 * place.quad + which];
      for_rows<Tiles>([&](unsigned m, unsigned half) {
        const auto negative = static_cast<std::uint32_t>(tile[m].product(t, half, which, ones)) >> 31;
        bits[m][half][t / 4] |= (negative ^ 1U) << (8 * (t % 4) + which);
      });
    }
  }
  store_bits(args, place, bits);
}

/// Two neighbouring outputs of a row; `paired` where rows begin at even places.
__device__ inline void store_pair(const GemmToFloats& args, std::size_t row, std::size_t f, bool paired,
                                  const float (&y)[2]) {
  if (row >= args.x.nrows) return;
  float* const out = args.out.data + row * args.out.stride + f;
  if (paired && f + 1 < args.w.nrows) {
    *reinterpret_cast<float2*>(out) = {y[0], y[1]};
  } else {
    if (f < args.w.nrows) out[0] = y[0];
    if (f + 1 < args.w.nrows) out[1] = y[1];
  }
}

/// The rows of a thread through the scales to the output.
template <bool Masked, unsigned Tiles, class Args>
__device__ void store_scaled(const Args& args, const Place& place, const RowTile<Masked> (&tile)[Tiles],
                             const Weights& weights) {
  float row_scale[Tiles][2];
  for_rows<Tiles>([&](unsigned m, unsigned half) {
    const std::size_t row = min(place.row(m, half), args.x.nrows - 1);
    row_scale[m][half] = args.row_scale == nullptr ? 1.0F : __ldg(args.row_scale + row);
  });
  [[maybe_unused]] std::uint32_t bits[Tiles][2][2] = {};
  [[maybe_unused]] bool paired = false;
  if constexpr (!to_bits<Args>) {
    paired = args.out.stride % 2 == 0 && reinterpret_cast<std::uintptr_t>(args.out.data) % sizeof(float2) == 0;
  }
#pragma unroll
  for (unsigned t = 0; t < output_tiles; ++t) {
    const unsigned output = 8 * t + 2 * place.quad;
    const OutputScale scale[2] = {
        OutputScale(args, place.first_output + min(std::size_t{output}, place.outputs - 1)),
        OutputScale(args, place.first_output + min(std::size_t{output + 1}, place.outputs - 1))};
    for_rows<Tiles>([&](unsigned m, unsigned half) {
      float y[2];
#pragma unroll
      for (unsigned which = 0; which < 2; ++which) {
        const int ones = Masked ? 0 : weights.ones[output + which];
        const auto s = static_cast<float>(tile[m].product(t, half, which, ones));
        y[which] = s * scale[which].scale * row_scale[m][half] + scale[which].bias;
        if constexpr (to_bits<Args>) bits[m][half][t / 4] |= (y[which] >= 0 ? 1U : 0U) << (8 * (t % 4) + which);
      }
      if constexpr (!to_bits<Args>) store_pair(args, place.row(m, half), place.first_output + output, paired, y);
    });
  }
  if constexpr (to_bits<Args>) store_bits(args, place, bits);
}

template <bool Masked, unsigned Tiles, class Args>
__device__ void store(const Args& args, const Place& place, const RowTile<Masked> (&tile)[Tiles],
                      const Weights& weights) {
  if constexpr (to_bits<Args>) {
    if (args.row_scale == nullptr && args.col_scale == nullptr && args.bias == nullptr) {
      return store_signs(args, place, tile, weights);
    }
  }
  store_scaled(args, place, tile, weights);
}

/// A block goes through rows of X a step of all blocks apart; weights that fit in shared memory stay there.
template <bool Masked, class Args>
__global__ void __launch_bounds__(block_threads, cuda_gemm_tuning().blocks) gemm_bits(Args args) {
  constexpr unsigned tiles = warp_tiles<Masked>;
  constexpr std::size_t block_rows = block_warps * 16 * tiles;
  __shared__ Weights weights;
  const unsigned lane = threadIdx.x % 32;
  const std::size_t first_output = std::size_t{blockIdx.y} * group_outputs;
  const bool fits = args.x.words_per_row <= chunk_words;
  for (std::size_t block = blockIdx.x; block * block_rows < args.x.nrows; block += gridDim.x) {
    const std::size_t first_row = block * block_rows + threadIdx.x / 32 * (16 * tiles) + lane / 4;
    RowTile<Masked> tile[tiles];
    for (std::size_t first = 0; first < max(args.x.words_per_row, std::size_t{1}); first += chunk_words) {
      if (!fits || block == blockIdx.x) {
        __syncthreads();
        load_weights(weights, args, first_output, first);
        __syncthreads();
      }
      const auto words = static_cast<unsigned>(min(std::size_t{chunk_words}, args.x.words_per_row - first));
#pragma unroll 2
      for (unsigned word = 0; word < words; word += step_words) {
#pragma unroll
        for (unsigned m = 0; m < tiles; ++m) tile[m].load(args, first_row + 16 * m, first + word + lane % 4);
#pragma unroll
        for (unsigned t = 0; t < output_tiles; ++t) {
          const std::uint64_t w = weights.word[8 * t + lane / 4][word + lane % 4];
#pragma unroll
          for (unsigned m = 0; m < tiles; ++m) tile[m].multiply(t, w);
        }
      }
    }
#pragma unroll
    for (unsigned m = 0; m < tiles; ++m) tile[m].finish(args.x.ncols);
    store(args, Place(args, first_row, first_output), tile, weights);
  }
}

template <bool Masked, class Args>
void launch(const Device& device, const Args& args) {
  // As many steps for every block as fill the device once, two blocks a multiprocessor.
  const unsigned columns = blocks_for(args.w.nrows, group_outputs);
  const unsigned rows = blocks_for(args.x.nrows, block_warps * 16 * warp_tiles<Masked>);
  const std::size_t places = 2 * cuda_limits(device).multiprocessors;
  const auto steps = static_cast<unsigned>((std::size_t{rows} * columns + places - 1) / places);
  const dim3 grid(blocks_for(rows, steps), columns);
  gemm_bits<Masked><<<grid, block_threads, 0, stream_of(device)>>>(args);
  cuda_check_launch("gemm_bits");
}

template <class Args>
void run(const Cuda& backend, const Args& args) {
  if (args.x.nrows == 0 || args.w.nrows == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  const Device& device = backend.device;
  const Plan chosen = plan(problem_of(args, Factors::bits, cuda_limits(device).multiprocessors));
  switch (chosen.kernel) {
    case Kernel::masked_bits: return launch<true>(device, args);
    case Kernel::short_rows: return multiply_short_rows(device, args, chosen);
    case Kernel::few_rows: return multiply_few_rows(device, args);
    default: return launch<false>(device, args);
  }
}

__global__ void multiply_values(float* values, const float* factors, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) values[i] *= factors[i];
}

__global__ void scale_values(GemmToFloats args) {
  const std::size_t n = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n >= args.out.nrows * args.out.ncols) return;
  const std::size_t i = n / args.out.ncols;
  const std::size_t f = n % args.out.ncols;
  float& y = args.out.data[i * args.out.stride + f];
  y = args.apply(i, f, y);
}

}  // namespace

void gemm(const Cuda& backend, const GemmToBits& args) { run(backend, args); }
void gemm(const Cuda& backend, const GemmToFloats& args) { run(backend, args); }

void multiply_by(const Cuda& backend, float* values, const float* factors, std::size_t n) {
  if (n == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  multiply_values<<<blocks_for(n, block_threads), block_threads, 0, stream_of(backend.device)>>>(values, factors, n);
  cuda_check_launch("multiply_values");
}

void apply_scales(const Cuda& backend, const GemmToFloats& args) {
  const std::size_t n = args.out.nrows * args.out.ncols;
  if (n == 0 || (args.row_scale == nullptr && args.col_scale == nullptr && args.bias == nullptr)) return;
  const ScopedCudaDevice scope(backend.device.index());
  scale_values<<<blocks_for(n, block_threads), block_threads, 0, stream_of(backend.device)>>>(args);
  cuda_check_launch("scale_values");
}

}  // namespace bitgraph
