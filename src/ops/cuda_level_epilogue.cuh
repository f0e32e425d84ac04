// SPDX-License-Identifier: Apache-2.0
// The end of products and aggregations of levels on a CUDA device: sums become values, and those levels. The same
// float32 operations in the same order as level_views.hpp has them; the build fuses none of them.
#pragma once

#include "ops/level_views.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bitgraph::level_cuda {

/// A step or an offset of a scale, as device code reads it.
__device__ inline float at_or(const float* values, bool single, std::size_t n, float otherwise) {
  return values == nullptr ? otherwise : __ldg(values + (single ? 0 : n));
}

/// What a column of the output needs: see LevelEpilogue.
struct ColumnPlace {
  float factor = 0;
  float shift = 0;
  float least = 0;

  ColumnPlace() = default;
  __device__ ColumnPlace(const LevelEpilogue& epilogue, std::size_t column) {
    const float out_offset = at_or(epilogue.out.offsets, epilogue.out.single, column, 0);
    const float bias = epilogue.bias == nullptr ? 0.0F : __ldg(epilogue.bias + column);
    factor = 1.0F / at_or(epilogue.out.steps, epilogue.out.single, column, 1);
    shift = (bias - out_offset) * factor;
    least = epilogue.relu ? fmaxf(-out_offset * factor, 0.0F) : 0.0F;
  }
};

/// What multiplies a column's sum of levels and its count of neighbours, and what comes behind.
struct SumPlace {
  float by_step = 0;
  float by_offset = 0;
  float shift = 0;
  float least = 0;

  SumPlace() = default;
  /// Zeros for a column behind the last one.
  __device__ SumPlace(const LevelSumEnd& end, std::size_t ncols, std::size_t column) {
    if (column >= ncols) return;
    const ColumnPlace place(end.epilogue, column);
    by_step = at_or(end.x_scale.steps, end.x_scale.single, column, 1) * place.factor;
    by_offset = at_or(end.x_scale.offsets, end.x_scale.single, column, 0) * place.factor;
    shift = place.shift;
    least = place.least;
  }

  /// Without offsets what they multiply is 0, and left out.
  template <bool offsets>
  [[nodiscard]] __device__ float place(float sum, float count, float row_scale) const {
    if constexpr (!offsets) return row_scale * (by_step * sum) + shift;
    return row_scale * (by_step * sum + by_offset * count) + shift;
  }
};

/// Where levels are stored, and how values become levels.
struct LevelRule {
  float most;
  bool nearest;
  bool relu;

  explicit __device__ LevelRule(const LevelEpilogue& epilogue, int bits)
      : most(static_cast<float>((1U << bits) - 1)),
        nearest(epilogue.rounding == Rounding::nearest),
        relu(epilogue.relu) {}

  /// The level in the lowest 16 bits; above them, what does not count. Of two floats the maximum is the one that is a
  /// number. Below 2^22 the lowest bits of a float that begins with 1.5 * 2^23 are the nearest whole number, or the
  /// next one below, as the addition rounds.
  template <bool to_nearest>
  [[nodiscard]] __device__ std::uint32_t low_bits(float place, float least) const {
    const float within = fminf(fmaxf(place, least), most);
    constexpr float whole = 12582912.0F;
    return __float_as_uint(to_nearest ? __fadd_rn(within, whole) : __fadd_rd(within, whole));
  }
  template <bool to_nearest>
  [[nodiscard]] __device__ std::uint32_t level(float place, float least) const {
    return low_bits<to_nearest>(place, least) & 0xFFFFU;
  }
  [[nodiscard]] __device__ std::uint32_t level(float place, float least) const {
    return nearest ? level<true>(place, least) : level<false>(place, least);
  }
  [[nodiscard]] __device__ float value(float place) const { return !relu || place > 0 ? place : 0.0F; }
};

/// A whole number below 2^23 as a float, by two cheap instructions: conversions run at half of their rate.
__device__ inline float small_float(std::uint32_t number) { return __uint_as_float(0x4B000000U | number) - 8388608.0F; }

/// Two levels of 4 bits in the lowest byte, and four such bytes in a word. What lies above bit 16 of a level does not
/// count.
__device__ inline std::uint32_t nibbles(std::uint32_t first, std::uint32_t second) { return first + (second << 4); }
__device__ inline std::uint32_t four_bytes(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}

/// As many levels of `Bits` bits as a word holds, level_of(n), of which the lowest 16 bits count.
template <unsigned Bits, class LevelOf>
__device__ std::uint32_t word_of_levels(const LevelOf& level_of) {
  if constexpr (Bits == 4) {
    const auto byte = [&](unsigned n) { return nibbles(level_of(2 * n), level_of(2 * n + 1)); };
    return four_bytes(byte(0), byte(1), byte(2), byte(3));
  } else if constexpr (Bits == 8) {
    return four_bytes(level_of(0), level_of(1), level_of(2), level_of(3));
  } else {
    return __byte_perm(level_of(0), level_of(1), 0x5410);
  }
}

/// Writes `Count` consecutive levels of a row, level_of(n), whose places are of `Bits` bits each and together fill
/// whole words; only the bytes that the row has. Of a level the lowest 16 bits count.
template <unsigned Count, unsigned Bits, class LevelOf>
__device__ void store_levels(std::uint8_t* row, std::size_t row_bytes, std::size_t first, const LevelOf& level_of) {
  static_assert(Count * Bits % 32 == 0);
  constexpr unsigned a_word = 32 / Bits;
  constexpr unsigned words = Count / a_word;
  std::uint32_t word[words];
#pragma unroll
  for (unsigned w = 0; w < words; ++w)
    word[w] = word_of_levels<Bits>([&](unsigned k) { return level_of(w * a_word + k); });
  const std::size_t at = first * Bits / 8;
  if (at >= row_bytes) return;
  auto* const to = reinterpret_cast<std::uint32_t*>(row + at);
  // Rows begin and end at multiples of eight bytes.
  if constexpr (words % 4 == 0) {
    if (at + 4 * words <= row_bytes && reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
#pragma unroll
      for (unsigned w = 0; w < words; w += 4)
        *reinterpret_cast<uint4*>(to + w) = {word[w], word[w + 1], word[w + 2], word[w + 3]};
      return;
    }
  }
  if constexpr (words % 2 == 0) {
#pragma unroll
    for (unsigned w = 0; w < words; w += 2) {
      if (at + 4 * w < row_bytes) *reinterpret_cast<uint2*>(to + w) = {word[w], word[w + 1]};
    }
  } else {
#pragma unroll
    for (unsigned w = 0; w < words; ++w) {
      if (at + 4 * w < row_bytes) to[w] = word[w];
    }
  }
}

/// The same with places as wide as `bits` of the output need.
template <unsigned Count, class LevelOf>
__device__ void store_levels(const QuantizedView<std::uint8_t>& out, std::size_t row, std::size_t first,
                             const LevelOf& level_of) {
  std::uint8_t* const to = out.row(row);
  if (out.bits <= 4) {
    store_levels<Count, 4>(to, out.row_bytes, first, level_of);
  } else if (out.bits <= 8) {
    store_levels<Count, 8>(to, out.row_bytes, first, level_of);
  } else {
    store_levels<Count, 16>(to, out.row_bytes, first, level_of);
  }
}

/// One level of any width.
__device__ inline std::uint32_t level_of(const QuantizedView<>& x, std::size_t row, std::size_t column) {
  const std::uint8_t* const levels = x.data + row * x.row_bytes;
  if (x.bits <= 4) return __ldg(levels + column / 2) >> (4 * (column % 2)) & 0xFU;
  if (x.bits <= 8) return __ldg(levels + column);
  return __ldg(reinterpret_cast<const std::uint16_t*>(levels) + column);
}

/// Columns that have a place in an output of `ncols`, behind the last one too.
inline std::size_t stored_columns(const LevelOut& out, std::size_t ncols) {
  if (out.levels.data == nullptr) return ncols;
  return std::max(ncols, out.levels.row_bytes * 8 / static_cast<std::size_t>(level_place_bits(out.levels.bits)));
}

}  // namespace bitgraph::level_cuda
