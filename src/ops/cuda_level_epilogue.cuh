// SPDX-License-Identifier: Apache-2.0
// The end of products and aggregations of levels on a CUDA device: sums become places, and those levels. The same
// float32 operations in the same order as level_views.hpp has them; the build fuses none but those that are written so.
//
// Two instructions of the device do most of the work:
//   - The least denormal number times a place is, in bits, the nearest whole number. For a denormal number is its bits
//     times the least one, and products are rounded to it. What is below 0 has the sign bit. What is beyond 2^23 is
//     larger than any level, and what is not a number too.
//   - A conversion packs whole numbers of 32 bits to 4, 8 or 16 bits, and brings them into range.
// So levels that use all bits of their places need no comparison.
#pragma once

#include "ops/level_views.hpp"

#include <algorithm>
#include <cmath>
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
  float least = 0;  ///< of late levels: what that of their scale is multiplied by

  ColumnPlace() = default;
  __device__ ColumnPlace(const LevelEpilogue& epilogue, std::size_t column) {
    const float out_offset = at_or(epilogue.out.offsets, epilogue.out.single, column, 0);
    const float bias = epilogue.bias == nullptr ? 0.0F : __ldg(epilogue.bias + column);
    factor = 1.0F / at_or(epilogue.out.steps, epilogue.out.single, column, 1);
    shift = (bias - out_offset) * factor;
    const bool late = epilogue.is_late();
    least = late ? 1.0F : epilogue.rectifies() ? fmaxf(-out_offset * factor, 0.0F) : 0.0F;
  }
};

/// Where a row of values is stored: LevelOut::value_row().
__device__ inline std::size_t value_row_of(const LevelOut& out, std::size_t row) {
  return out.value_rows == nullptr ? row : __ldg(out.value_rows + row);
}

/// The nearest whole number, or the next one below: exact below 2^23; more than 2^23 beyond and for what is not a
/// number; negative for what is less than 0.
template <bool to_nearest>
[[nodiscard]] __device__ inline int whole_number(float place) {
  const float one = __uint_as_float(1);
  return __float_as_int(to_nearest ? __fmul_rn(place, one) : __fmul_rd(place, one));
}

/// LevelEpilogue::late_scale() of row or column `n`.
__device__ inline OnScale late_scale_of(const LevelEpilogue& epilogue, std::size_t n) {
  const float factor = 1.0F / at_or(epilogue.late.steps, epilogue.late.single, n, 1);
  return {factor, -at_or(epilogue.late.offsets, epilogue.late.single, n, 0) * factor};
}

/// Long and rare: it is there once.
__device__ __noinline__ inline float call_tanh(float x) { return tanh_of(x); }

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

  /// `count` is that of neighbours, by the scale of the row. Without offsets what they multiply is 0, and left out.
  template <bool offsets>
  [[nodiscard]] __device__ float place(float sum, float count, float row_scale) const {
    const float rest = offsets ? __fmaf_rn(by_offset, count, shift) : shift;
    return __fmaf_rn(by_step * row_scale, sum, rest);
  }
};

/// The level of 0 on a scale, as zero_level() of the host has it.
[[nodiscard]] __device__ inline int zero_level_of(float step, float offset, int bits) {
  const float place = (0.0F - offset) / step;
  return __float2int_rn(fminf(fmaxf(place, 0.0F), static_cast<float>((1U << bits) - 1)));
}

/// A row of X of a product, as the epilogue needs it.
struct RowOfX {
  float step, offset;
  float sum;  ///< of levels, in steps

  __device__ RowOfX(float its_step, float its_offset, float sum_of_levels)
      : step(its_step), offset(its_offset), sum(step * sum_of_levels) {}
};

/// What an output of a product needs: see level_gemm.hpp. One that is not there has the first level, whatever the
/// scale.
struct ProductPlace {
  float by_step = 0;
  float by_offset = 0;
  float of_w = 0;
  float shift = -INFINITY;

  ProductPlace() = default;
  /// `inputs` are the columns of X.
  __device__ ProductPlace(const LevelScaleView& w_scale, const std::int64_t* w_sums, std::size_t inputs,
                          std::size_t output, const ColumnPlace& column) {
    const float w_step = w_scale.steps[output];
    const float w_offset = w_scale.offsets == nullptr ? 0.0F : w_scale.offsets[output];
    by_step = w_step * column.factor;
    by_offset = w_offset * column.factor;
    const float w_by_step = w_step * static_cast<float>(w_sums[output]);
    const float w_by_offset = w_offset * static_cast<float>(inputs);
    of_w = (w_by_step + w_by_offset) * column.factor;
    shift = column.shift;
  }

  /// What offsets that are not there multiply is 0, and left out.
  template <bool w_offsets, bool x_offsets>
  [[nodiscard]] __device__ float place(float sum, const RowOfX& x) const {
    float rest = shift;
    if constexpr (x_offsets) rest = __fmaf_rn(x.offset, of_w, rest);
    if constexpr (w_offsets) rest = __fmaf_rn(by_offset, x.sum, rest);
    return __fmaf_rn(by_step * x.step, sum, rest);
  }
};

/// What is to be done to places before they are packed.
enum class Limits : unsigned char {
  none,      ///< nothing: packing brings them into range
  greatest,  ///< levels have less bits than their places
  both       ///< and the least one is not 0
};

/// Where levels are stored, and how places become levels.
struct LevelRule {
  float most;
  bool nearest;
  Activation activation;
  Limits limits;

  __device__ LevelRule(const LevelEpilogue& epilogue, int bits, int place_bits)
      : most(static_cast<float>((1U << bits) - 1)),
        nearest(epilogue.rounding == Rounding::nearest),
        activation(epilogue.activation),
        limits(epilogue.rectifies() && epilogue.out.offsets != nullptr ? Limits::both
               : bits == place_bits                                    ? Limits::none
                                                                       : Limits::greatest) {}
  __device__ LevelRule(const LevelEpilogue& epilogue, int bits) : LevelRule(epilogue, bits, level_place_bits(bits)) {}

  /// A whole number that is the level once it is brought into the range of its place. Of two floats the minimum is the
  /// one that is a number.
  template <bool to_nearest, Limits its>
  [[nodiscard]] __device__ int unlimited(float place, float least) const {
    if constexpr (its != Limits::none) place = fminf(place, most);
    if constexpr (its == Limits::both) place = fmaxf(place, fminf(least, most));
    return whole_number<to_nearest>(place);
  }
  /// The level.
  template <bool to_nearest>
  [[nodiscard]] __device__ int level(float place, float least) const {
    return unlimited<to_nearest, Limits::both>(place, least);
  }
  [[nodiscard]] __device__ int level(float place, float least) const {
    return nearest ? level<true>(place, least) : level<false>(place, least);
  }
  /// A value. Without the code for tanh unless `may_be_tanh`.
  template <bool may_be_tanh = true>
  [[nodiscard]] __device__ float value(float place) const {
    if constexpr (may_be_tanh) {
      if (activation == Activation::tanh) return call_tanh(place);
    }
    return activation == Activation::none || place > 0 ? place : 0.0F;
  }

  /// Calls do_with with how places are rounded and limited, known when it is compiled.
  template <class Do>
  __device__ void dispatch(const Do& do_with) const {
    if (!nearest) return do_with.template operator()<false, Limits::both>();
    switch (limits) {
      case Limits::none: return do_with.template operator()<true, Limits::none>();
      case Limits::greatest: return do_with.template operator()<true, Limits::greatest>();
      default: return do_with.template operator()<true, Limits::both>();
    }
  }
};

/// A value of a product and what is added to it, of a row and an output that are there.
[[nodiscard]] __device__ inline float with_addend(const LevelEpilogue& epilogue, std::size_t row, std::size_t output,
                                                  float value) {
  if (!epilogue.adds()) return value;
  return __fadd_rn(value, __ldg(epilogue.addend.data + row * epilogue.addend.stride + output));
}

/// A row of late levels. Without the code for tanh unless `may_be_tanh`; then scales are by rows.
template <bool may_be_tanh = true>
struct LateRow {
  const LevelEpilogue& epilogue;
  OnScale scale;  ///< of the row

  __device__ LateRow(const LevelEpilogue& of, std::size_t row) : epilogue(of) {
    if (!may_be_tanh || of.late_by_rows) scale = late_scale_of(of, row);
  }
  __device__ LateRow(const LevelEpilogue& of, const OnScale& of_row) : epilogue(of), scale(of_row) {}

  /// LevelEpilogue::late_level() of a value. A column that is not there has `exists` 0 and a value of -infinity: level
  /// 0.
  [[nodiscard]] __device__ int level(const LevelRule& rule, float value, std::size_t column, float exists = 1) const {
    if constexpr (may_be_tanh) {
      const bool is_tanh = rule.activation == Activation::tanh;
      if (is_tanh || !epilogue.late_by_rows) {
        if (exists == 0) return 0;
        const OnScale its = epilogue.late_by_rows ? scale : late_scale_of(epilogue, column);
        if (is_tanh) return rule.level(place(its, call_tanh(value)), 0);
        return rule.level(place(its, value), its.least(rule.activation == Activation::relu));
      }
    }
    return rule.level(place(scale, value), scale.least(rule.activation == Activation::relu) * exists);
  }
  /// The same without a tanh, to the nearest level, and with the least place of the row: where that is known, all is
  /// code without a question.
  [[nodiscard]] __device__ int nearest_level(const LevelRule& rule, float value, float least, float exists) const {
    return rule.template level<true>(place(scale, value), least * exists);
  }

 private:
  [[nodiscard]] static __device__ float place(const OnScale& on, float value) {
    return __fmaf_rn(value, on.factor, on.shift);
  }
};

/// A whole number below 2^23 as a float, by two cheap instructions: conversions run at half of their rate.
__device__ inline float small_float(std::uint32_t number) { return __uint_as_float(0x4B000000U | number) - 8388608.0F; }

/// `above` moved up by two places of `Bits` bits, and there two numbers, brought into their range.
template <unsigned Bits>
__device__ std::uint32_t pack_two(int lower, int upper, std::uint32_t above = 0) {
  std::uint32_t packed;
  if constexpr (Bits == 2) {
    asm("cvt.pack.sat.u2.s32.b32 %0, %1, %2, %3;" : "=r"(packed) : "r"(upper), "r"(lower), "r"(above));
  } else if constexpr (Bits == 4) {
    asm("cvt.pack.sat.u4.s32.b32 %0, %1, %2, %3;" : "=r"(packed) : "r"(upper), "r"(lower), "r"(above));
  } else if constexpr (Bits == 8) {
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(packed) : "r"(upper), "r"(lower), "r"(above));
  } else {
    asm("cvt.pack.sat.u16.s32 %0, %1, %2;" : "=r"(packed) : "r"(upper), "r"(lower));
  }
  return packed;
}

/// As many numbers of `Bits` bits as a word holds, number_of(n), brought into their range.
template <unsigned Bits, class NumberOf>
__device__ std::uint32_t word_of_levels(const NumberOf& number_of) {
  constexpr unsigned pairs = 16 / Bits;
  std::uint32_t word = 0;
#pragma unroll
  for (unsigned n = pairs; n-- != 0;) word = pack_two<Bits>(number_of(2 * n), number_of(2 * n + 1), word);
  return word;
}

/// Writes `Count` consecutive levels of a row, level_of(n), whose places are of `Bits` bits each and together fill
/// whole words; only the bytes that the row has. Numbers are brought into the range of their places.
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
  if (out.levels.in_planes()) return out.levels.row_bytes / plane_piece_bytes * plane_piece_columns;
  return std::max(ncols, out.levels.row_bytes * 8 / static_cast<std::size_t>(level_place_bits(out.levels.bits)));
}

}  // namespace bitgraph::level_cuda
