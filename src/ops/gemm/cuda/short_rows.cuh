// SPDX-License-Identifier: Apache-2.0
// Binary gemm of rows of up to 1,024 columns on a CUDA device: what a warp does that has 16 rows as bits in its
// registers. A block has up to 256 outputs, whose weights stand in shared memory in the order of the instruction, and
// the warp goes through all of them. Which output is which column of a product is free: for bits those of a thread are
// neighbours in a word, so that it is put together without asking other threads; for floats four are.
#pragma once

#include "ops/gemm/cuda/bits.cuh"
#include "ops/gemm/cuda/image.cuh"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <type_traits>

namespace bitgraph::gemm_cuda {

template <class Args>
inline constexpr bool to_bits = std::is_same_v<decltype(Args::out), BitMatrixView<PlusMinusOne, std::uint64_t>>;

constexpr unsigned group_tiles = 8;  ///< tiles of outputs of one word

/// The outputs of a block.
struct Outputs {
  std::size_t first;
  unsigned count;
  unsigned tiles;  ///< of 8 outputs

  /// Blocks that follow one another have the groups of outputs by turns.
  template <class Args>
  __device__ explicit Outputs(const Args& args)
      : first(blockIdx.x % groups(args.w.nrows) * block_outputs),
        count(static_cast<unsigned>(min(args.w.nrows - first, std::size_t{block_outputs}))),
        tiles((count + 63) / 64 * group_tiles) {}

  [[nodiscard]] static __host__ __device__ std::size_t groups(std::size_t outputs) {
    return (outputs + block_outputs - 1) / block_outputs;
  }

  /// The output that is column n of tile t.
  template <class Args>
  __device__ unsigned at(unsigned t, unsigned n) const {
    if constexpr (to_bits<Args>) return 2 * tiles * (n / 2) + 2 * t + n % 2;
    return 16 * (t / 2) + 4 * (n / 2) + 2 * (t % 2) + n % 2;
  }
};

/// A thread's words of rows eight apart.
template <unsigned Steps>
struct Rows {
  std::uint64_t upper[Steps];
  std::uint64_t lower[Steps];

  /// A product with ones counts, too, and leaves the units that count words alone.
  __device__ void count(int (&ones)[2]) const {
    int sum[4] = {};
#pragma unroll
    for (unsigned step = 0; step < Steps; ++step) multiply_add(sum, {upper[step], lower[step]}, ~std::uint64_t{0});
    ones[0] = sum[0];
    ones[1] = sum[2];
  }
};

/// Bytes of the images of all warps.
template <Finish How, class Args>
std::size_t image_bytes(const Args& args, unsigned warps) {
  return How == Finish::by_way_of_an_image ? warps * 16 * args.w.nrows * sizeof(float) : 0;
}

/// What a block shares: the words of the tiles, step by step, a thread's of a pair of steps side by side; then what the
/// outputs add, [tile][column] each.
template <unsigned Steps>
struct Shared {
  std::uint64_t* words;
  int* terms;  ///< -2 ones of w, less the least sum where that alone is asked
  float* scale;
  float* bias;   ///< for bits what scaled sums have to reach
  float* parts;  ///< -2 ones of w in sum_unit

  __device__ Shared(std::uint64_t* raw, unsigned tiles)
      : words(raw),
        terms(reinterpret_cast<int*>(raw + tiles * Steps * 32)),
        scale(reinterpret_cast<float*>(terms + 8 * tiles)),
        bias(scale + 8 * tiles),
        parts(bias + 8 * tiles) {}
  static constexpr std::size_t bytes(std::size_t tiles) { return tiles * (Steps * 32 * 8 + 4 * 8 * 4); }

  /// The warp's image, behind the rest.
  __device__ float* image(const Outputs& outputs) const {
    return parts + 8 * outputs.tiles + threadIdx.x / 32 * 16 * outputs.count;
  }

  __device__ void read(unsigned t, std::uint64_t (&w)[Steps]) const {
    const std::uint64_t* const tile = words + t * Steps * 32;
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned step = 0; step < Steps; step += 2) {
      if (step + 1 == Steps) {
        w[step] = tile[32 * step + lane];
      } else {
        const ulonglong2 both = *reinterpret_cast<const ulonglong2*>(tile + 32 * step + 2 * lane);
        w[step] = both.x;
        w[step + 1] = both.y;
      }
    }
  }

  __device__ void write(unsigned t, const std::uint64_t (&w)[Steps]) const {
    std::uint64_t* const tile = words + t * Steps * 32;
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned step = 0; step < Steps; step += 2) {
      if (step + 1 == Steps) {
        tile[32 * step + lane] = w[step];
      } else {
        *reinterpret_cast<ulonglong2*>(tile + 32 * step + 2 * lane) = ulonglong2{w[step], w[step + 1]};
      }
    }
  }
};

/// In which sums are made where only their signs are asked for.
constexpr float sum_unit = 0x1p-24F;

/// The least sum of up to 1,024 signs whose output is not negative; of a scale that is not negative, and no scale of
/// rows.
__device__ inline int least_sum(const OutputScale& scale) {
  constexpr int beyond = 2048;
  const auto reaches = [&](int sum) { return static_cast<float>(sum) * scale.scale + scale.bias >= 0; };
  int low = -beyond;  // below all sums
  int high = beyond;
  while (low < high) {
    const int middle = (low + high) >> 1;
    if (reaches(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// The least sum times scales that is not negative with the bias added: nothing is, where the bias is minus infinity,
/// and where it is infinity all is but minus infinity, for their sum is no number.
__device__ inline float least_scaled(float bias) {
  if (bias == INFINITY) return -FLT_MAX;
  return bias == -INFINITY ? NAN : -(bias + 0.0F);  // never 0 with a plus: -0 less that is -0
}

/// Whether no product of 1,024 signs with this scale and that of any row that is finite, and the bias, is no number.
__device__ inline bool is_tame(const OutputScale& scale) {
  return fabsf(scale.scale) <= 0x1p60F && fabsf(scale.bias) <= FLT_MAX;
}

/// Puts the words of a tile's outputs where they belong, and what the outputs add. Whether that is tame is returned.
template <unsigned Steps, bool WithScales, class Args>
__device__ bool put_weights(const Shared<Steps>& shared, const Args& args, const Outputs& outputs, unsigned t,
                            const std::uint64_t (&w)[Steps]) {
  const unsigned n = threadIdx.x % 32 / 4;
  shared.write(t, w);
  int ones = 0;
#pragma unroll
  for (unsigned step = 0; step < Steps; ++step) ones += __popcll(w[step]);
  ones = add_quad(ones);
  const unsigned output = outputs.template at<Args>(t, n);
  const OutputScale scale(args, outputs.first + min(output, outputs.count - 1));
  if (threadIdx.x % 4 != 0) return is_tame(scale);
  if constexpr (!WithScales) {
    shared.terms[8 * t + n] = -2 * ones - least_sum({fabsf(scale.scale), scale.bias});
  } else {
    shared.terms[8 * t + n] = -2 * ones;
    shared.parts[8 * t + n] = static_cast<float>(-2 * ones) * sum_unit;
    shared.scale[8 * t + n] = to_bits<Args> ? scale.scale / sum_unit : scale.scale;
    shared.bias[8 * t + n] = to_bits<Args> ? least_scaled(scale.bias) : scale.bias;
  }
  return is_tame(scale);
}

/// common += the products of all steps.
template <unsigned Steps>
__device__ void multiply(const Rows<Steps>& x, const std::uint64_t (&w)[Steps], int (&common)[4]) {
#pragma unroll
  for (unsigned step = 0; step < Steps; ++step) multiply_add(common, {x.upper[step], x.lower[step]}, w[step]);
}

/// A thread's bits of a row: those of its outputs, the last one first.
__device__ inline void put_in_front(std::uint32_t& bits, int sign) {
  bits = __funnelshift_l(static_cast<std::uint32_t>(sign), bits, 1);
}

/// Signs of the sums themselves: bits of two rows, negative ones set.
template <unsigned Steps>
struct PlainSigns {
  const Shared<Steps>& shared;
  int row_terms[2];

  __device__ PlainSigns(const Shared<Steps>& all, std::size_t ncols, const int (&ones)[2]) : shared(all) {
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) row_terms[half] = static_cast<int>(ncols) - 2 * ones[half];
  }

  __device__ void add(const Rows<Steps>& x, unsigned t, std::uint32_t (&bits)[2]) const {
    std::uint64_t w[Steps];
    shared.read(t, w);
    const int2 terms = *reinterpret_cast<const int2*>(shared.terms + 8 * t + 2 * (threadIdx.x % 4));
    int common[4] = {};
    multiply(x, w, common);
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      put_in_front(bits[half], 4 * common[2 * half + 1] + (row_terms[half] + terms.y));
      put_in_front(bits[half], 4 * common[2 * half] + (row_terms[half] + terms.x));
    }
  }
};

/// All bits set where x is below y, or one of them is no number.
__device__ inline int below_or_no_number(float x, float y) {
  int mask;
  asm("set.ltu.s32.f32 %0, %1, %2;" : "=r"(mask) : "f"(x), "f"(y));
  return mask;
}

/// Sums through the scales. Where all of them are tame no sum is NaN, and its sign bit says its sign.
template <unsigned Steps, bool Tame = false>
struct Scaled {
  const Shared<Steps>& shared;
  int row_terms[2];
  float row_parts[2];
  float row_scale[2];

  /// Of rows with so many ones.
  __device__ Scaled(const Shared<Steps>& all, std::size_t ncols, const int (&ones)[2], const float (&scale)[2])
      : shared(all), row_scale{scale[0], scale[1]} {
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      row_terms[half] = static_cast<int>(ncols) - 2 * ones[half];
      row_parts[half] = static_cast<float>(row_terms[half]) * sum_unit;
    }
  }

  /// y[half][which] of tile t.
  __device__ void values(const Rows<Steps>& x, unsigned t, float (&y)[2][2]) const {
    std::uint64_t w[Steps];
    shared.read(t, w);
    const unsigned at = 8 * t + 2 * (threadIdx.x % 4);
    const int2 terms = *reinterpret_cast<const int2*>(shared.terms + at);
    const float2 scale = *reinterpret_cast<const float2*>(shared.scale + at);
    const float2 bias = *reinterpret_cast<const float2*>(shared.bias + at);
    int common[4] = {};
    multiply(x, w, common);
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      const auto first = static_cast<float>(4 * common[2 * half] + (row_terms[half] + terms.x));
      const auto second = static_cast<float>(4 * common[2 * half + 1] + (row_terms[half] + terms.y));
      y[half][0] = first * scale.x * row_scale[half] + bias.x;
      y[half][1] = second * scale.y * row_scale[half] + bias.y;
    }
  }

  /// The signs alone. A count is a float as it is, of 2^-149 for each, and sums are made of it in 2^-24: exactly, as
  /// whole numbers are, and in fewer instructions than by converting it.
  __device__ void add(const Rows<Steps>& x, unsigned t, std::uint32_t (&bits)[2]) const {
    std::uint64_t w[Steps];
    shared.read(t, w);
    const unsigned at = 8 * t + 2 * (threadIdx.x % 4);
    const float2 terms = *reinterpret_cast<const float2*>(shared.parts + at);
    const float2 scale = *reinterpret_cast<const float2*>(shared.scale + at);
    const float2 least = *reinterpret_cast<const float2*>(shared.bias + at);
    int common[4] = {};
    multiply(x, w, common);
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      const auto sign = [&](int count, float term, float of_output, float at_least) {
        const float sum = __fmaf_rn(__int_as_float(count), 0x1p127F, row_parts[half] + term);
        const float scaled = sum * of_output * row_scale[half];
        return Tame ? __float_as_int(scaled - at_least) : below_or_no_number(scaled, at_least);
      };
      put_in_front(bits[half], sign(common[2 * half + 1], terms.y, scale.y, least.y));
      put_in_front(bits[half], sign(common[2 * half], terms.x, scale.x, least.x));
    }
  }
};

/// A thread's bits of a row, 16 for each word that the block has, in sequence.
template <class Args>
__device__ void store_row(const Args& args, const Outputs& outputs, std::size_t row, std::uint64_t bits) {
  if (row >= args.x.nrows) return;
  const unsigned words = outputs.tiles / group_tiles;
  const unsigned q = threadIdx.x % 4;
  std::uint64_t* const out = args.out.words + row * args.out.words_per_row + outputs.first / 64;
  if (words == 4) {
    out[q] = bits;
  } else if (words == 2) {
    reinterpret_cast<std::uint32_t*>(out)[q] = static_cast<std::uint32_t>(bits);
  } else {
    for (unsigned k = 0; k < words; ++k) {
      reinterpret_cast<std::uint16_t*>(out)[q * words + k] = static_cast<std::uint16_t>(bits >> (16 * k));
    }
  }
}

template <unsigned Steps, class Args, class Epilogue>
__device__ void store_bits(const Args& args, const Outputs& outputs, const Epilogue& epilogue, const Rows<Steps>& x,
                           std::size_t row) {
  const unsigned mine = 2 * outputs.tiles * (threadIdx.x % 4);
  const unsigned exist = outputs.count > mine ? min(outputs.count - mine, 2 * outputs.tiles) : 0;
  const std::uint64_t mask = exist == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << exist) - 1;
  std::uint64_t negative[2] = {};
  for (unsigned group = outputs.tiles / group_tiles; group-- != 0;) {
    std::uint32_t bits[2] = {};
#pragma unroll
    for (unsigned t = group_tiles; t-- != 0;) epilogue.add(x, group_tiles * group + t, bits);
    negative[0] = negative[0] << 16 | bits[0];
    negative[1] = negative[1] << 16 | bits[1];
  }
  store_row(args, outputs, row, ~negative[0] & mask);
  store_row(args, outputs, row + 8, ~negative[1] & mask);
}

/// Where rows of floats begin at multiples of 16 bytes a thread stores four at a time, else one, or into the image.
template <Finish How, unsigned Steps, class Args, class Epilogue>
__device__ void store_floats(const Args& args, const Outputs& outputs, const Epilogue& epilogue, const Rows<Steps>& x,
                             std::size_t row, float* image) {
  constexpr bool has_image = How == Finish::by_way_of_an_image;
  const bool aligned =
      !has_image && args.out.stride % 4 == 0 && reinterpret_cast<std::uintptr_t>(args.out.data) % sizeof(float4) == 0;
  const unsigned q = threadIdx.x % 4;
  float* const out = args.out.data + row * args.out.stride + outputs.first;
#pragma unroll 4
  for (unsigned pair = 0; pair < (outputs.count + 15) / 16; ++pair) {
    float y[2][2][2];
    epilogue.values(x, 2 * pair, y[0]);
    epilogue.values(x, 2 * pair + 1, y[1]);
    const unsigned at = 16 * pair + 4 * q;
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      if (row + 8 * half >= args.x.nrows) continue;
      float* const to = out + 8 * half * args.out.stride + at;
      const float four[4] = {y[0][half][0], y[0][half][1], y[1][half][0], y[1][half][1]};
      if (aligned && at + 4 <= outputs.count) {
        __stcs(reinterpret_cast<float4*>(to), float4{four[0], four[1], four[2], four[3]});
      } else {
#pragma unroll
        for (unsigned k = 0; k < 4; ++k) {
          if (at + k >= outputs.count) continue;
          if constexpr (has_image) {
            image[(threadIdx.x % 32 / 4 + 8 * half) * outputs.count + at + k] = four[k];
          } else {
            to[k] = four[k];
          }
        }
      }
    }
  }
  if constexpr (has_image) store_image(args.out, row - threadIdx.x % 32 / 4, image);
}

/// Goes through the outputs with rows `row` and `row` + 8 of the warp's 16.
template <Finish How, unsigned Steps, class Args, class Epilogue>
__device__ void finish_rows(const Args& args, const Outputs& outputs, const Epilogue& epilogue, const Rows<Steps>& x,
                            std::size_t row, float* image) {
  if constexpr (to_bits<Args>) {
    store_bits(args, outputs, epilogue, x, row);
  } else {
    store_floats<How>(args, outputs, epilogue, x, row, image);
  }
}

}  // namespace bitgraph::gemm_cuda
