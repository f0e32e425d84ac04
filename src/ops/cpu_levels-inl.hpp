// SPDX-License-Identifier: Apache-2.0
// From numbers to packed levels, and the end of products and aggregations of levels: sums of a row become values, and
// those levels. Included once for each instruction set (Highway's convention: the guard toggles).
#if defined(BITGRAPH_OPS_CPU_LEVELS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef BITGRAPH_OPS_CPU_LEVELS_INL_HPP
#undef BITGRAPH_OPS_CPU_LEVELS_INL_HPP
#else
#define BITGRAPH_OPS_CPU_LEVELS_INL_HPP
#endif

#include <hwy/highway.h>

#include "ops/cpu_partial-inl.hpp"
#include "ops/level_epilogue.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// a where it is greater than b; else b, also where a is not a number.
template <class V>
HWY_INLINE V greater_of(V a, V b) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return hn::Max(a, b);  // the processor's maximum is the second one where there is none
#else
  return hn::IfThenElse(hn::Gt(a, b), a, b);
#endif
}

/// a where it is smaller than b; else b, also where a is not a number.
template <class V>
HWY_INLINE V smaller_of(V a, V b) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return hn::Min(a, b);
#else
  return hn::IfThenElse(hn::Lt(a, b), a, b);
#endif
}

/// Floats that int32 can hold as whole numbers. Highway's conversions mend those that it cannot hold, in three
/// instructions each.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
HWY_INLINE hn::Vec512<std::int32_t> nearest(hn::Vec512<float> v) { return {_mm512_cvtps_epi32(v.raw)}; }
HWY_INLINE hn::Vec512<std::int32_t> towards_zero(hn::Vec512<float> v) { return {_mm512_cvttps_epi32(v.raw)}; }
#endif
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
HWY_INLINE hn::Vec256<std::int32_t> nearest(hn::Vec256<float> v) { return {_mm256_cvtps_epi32(v.raw)}; }
HWY_INLINE hn::Vec256<std::int32_t> towards_zero(hn::Vec256<float> v) { return {_mm256_cvttps_epi32(v.raw)}; }
#else
template <class V>
HWY_INLINE auto nearest(V v) {
  return hn::NearestInt(v);
}
template <class V>
HWY_INLINE auto towards_zero(V v) {
  return hn::ConvertTo(hn::RebindToSigned<hn::DFromV<V> >(), v);
}
#endif

/// Places that are levels but for rounding. Where they may be below 0, what becomes of them is at most 0.
template <bool floors, class V>
HWY_INLINE auto rounded(V place) {
  if constexpr (floors) {
    return towards_zero(place);
  } else {
    return nearest(place);
  }
}

/// a b + c, rounded once.
template <class V>
HWY_INLINE V fused(V a, V b, V c) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || \
    (HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64)
  return hn::MulAdd(a, b, c);
#else
  const hn::DFromV<V> d;  // others have no such instruction, and Highway rounds twice
  HWY_ALIGN float of_a[hn::MaxLanes(d)], of_b[hn::MaxLanes(d)], of_c[hn::MaxLanes(d)];
  hn::Store(a, d, of_a), hn::Store(b, d, of_b), hn::Store(c, d, of_c);
  for (std::size_t n = 0; n < hn::Lanes(d); ++n) of_c[n] = std::fma(of_a[n], of_b[n], of_c[n]);
  return hn::Load(d, of_c);
#endif
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
/// Four vectors of numbers of 0 to 255 as one of bytes, in their order. One by one they take three times as many
/// shuffles, and loads of a whole vector behind stores of its parts wait for them.
template <class V>
HWY_INLINE hn::VFromD<hn::Full512<std::uint8_t> > bytes_of_four(V a, V b, V c, V d) {
  const hn::Full512<std::int16_t> pairs;
  const hn::Full512<std::uint16_t> words;
  const hn::Full512<std::uint8_t> bytes;
  const hn::Full512<std::uint32_t> fours;
  HWY_ALIGN static constexpr std::uint8_t of_block[16] = {0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15};
  HWY_ALIGN static constexpr std::int32_t order[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
  // Packing leaves the fours of a and b, and those of c and d, side by side in each block of 16 bytes.
  const auto ab = hn::BitCast(words, hn::ReorderDemote2To(pairs, a, b));
  const auto cd = hn::BitCast(words, hn::ReorderDemote2To(pairs, c, d));
  const auto all = hn::BitCast(bytes, hn::Or(ab, hn::ShiftLeft<8>(cd)));
  const auto blocks = hn::TableLookupBytes(all, hn::LoadDup128(bytes, of_block));
  return hn::BitCast(bytes, hn::TableLookupLanes(hn::BitCast(fours, blocks), hn::SetTableIndices(fours, order)));
}
#endif

/// Two bytes each become one, the first one its lower half.
HWY_INLINE void pack_nibbles(const std::uint8_t* levels, std::size_t bytes, std::uint8_t* to) {
  std::size_t n = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<std::int16_t> d;
  const hn::Rebind<std::uint8_t, decltype(d)> half;
  const hn::Repartition<std::uint8_t, decltype(d)> whole;
  for (; n + hn::Lanes(d) <= bytes; n += hn::Lanes(d)) {
    const auto pair = hn::BitCast(d, hn::LoadU(whole, levels + 2 * n));
    const auto both = hn::Or(pair, hn::ShiftRight<4>(pair));
    hn::StoreU(hn::DemoteTo(half, hn::And(both, hn::Set(d, std::int16_t{0xFF}))), half, to + n);
  }
#endif
  for (; n < bytes; ++n) to[n] = static_cast<std::uint8_t>(levels[2 * n] | levels[2 * n + 1] << 4);
}

/// Levels of up to 8 bits, a byte each, to their places in a row, from an even column on. Returns the bytes that they
/// take. There is room for one byte behind the levels.
HWY_INLINE std::size_t store_levels(std::uint8_t* levels, std::size_t count, int bits, std::uint8_t* to) {
  if (bits > 4) {
    for (std::size_t j = 0; j < count; ++j) to[j] = levels[j];
    return count;
  }
  levels[count] = 0;  // beside the last one where they are odd
  pack_nibbles(levels, (count + 1) / 2, to);
  return (count + 1) / 2;
}

/// The same of 16 bits.
HWY_INLINE std::size_t store_levels(const std::uint16_t* levels, std::size_t count, std::uint8_t* to) {
  for (std::size_t j = 0; j < count; ++j) {
    to[2 * j] = static_cast<std::uint8_t>(levels[j]);
    to[2 * j + 1] = static_cast<std::uint8_t>(levels[j] >> 8);
  }
  return 2 * count;
}

/// Levels of 2 bits, a byte each, to whole pieces of a row in planes. There is room to fill the last piece with zeros.
HWY_INLINE void store_planes(std::uint8_t* levels, std::size_t count, std::uint8_t* to) {
  for (; count % plane_piece_columns != 0; ++count) levels[count] = 0;
  for (std::size_t first = 0; first < count; first += plane_piece_columns, to += plane_piece_bytes) {
#if HWY_TARGET == HWY_SCALAR
    for (std::size_t j = 0; j < plane_piece_columns; ++j) put_plane_level(to, j, levels[first + j]);
#else
    const hn::CappedTag<std::uint8_t, plane_piece_columns> d;
    for (std::size_t j = 0; j < plane_piece_columns; j += hn::Lanes(d)) {
      const auto v = hn::LoadU(d, levels + first + j);
      hn::StoreMaskBits(d, hn::TestBit(v, hn::Set(d, std::uint8_t{1})), to + j / 8);
      hn::StoreMaskBits(d, hn::TestBit(v, hn::Set(d, std::uint8_t{2})), to + plane_word_bytes + j / 8);
    }
#endif
  }
}

/// Outputs that are finished together: whole pieces of planes.
inline constexpr std::size_t slice_outputs = 256;

using Floats = hn::ScalableTag<float>;

HWY_INLINE hn::Vec<Floats> as_floats(const std::int32_t* sums) {
  return hn::ConvertTo(Floats(), hn::LoadU(hn::RebindToSigned<Floats>(), sums));
}
HWY_INLINE hn::Vec<Floats> as_floats(const std::uint16_t* sums) {
  const hn::RebindToSigned<Floats> d;
  return hn::ConvertTo(Floats(), hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint16_t, Floats>(), sums)));
}
HWY_INLINE hn::Vec<Floats> as_floats(const std::int64_t* sums) {
  HWY_ALIGN float values[HWY_MAX_BYTES / 4];
  for (std::size_t n = 0; n < hn::Lanes(Floats()); ++n) values[n] = static_cast<float>(sums[n]);
  return hn::Load(Floats(), values);
}

/// What an epilogue has for each output of a slice.
struct SliceEpilogue {
  HWY_ALIGN float shift[slice_outputs];
  HWY_ALIGN float least[slice_outputs];

  HWY_INLINE void set(std::size_t place, const LevelEpilogue& epilogue, std::size_t output, float factor) {
    shift[place] = epilogue.shift(output, factor);
    least[place] = epilogue.least(output, factor);
  }
};

/// Outputs first .. first + count - 1 of row i of levels; in planes whole pieces. place(f) has those of vector f, in
/// slice order, and least(f) the least ones.
template <bool floors, class Place, class Least>
HWY_INLINE void finish_levels(const QuantizedView<std::uint8_t>& out, std::size_t i, std::size_t first,
                              std::size_t count, const Place& place, const Least& least) {
  const Floats d;
  const hn::Rebind<std::uint8_t, Floats> byte;
  const hn::Rebind<std::uint16_t, Floats> word;
  HWY_ALIGN std::uint8_t bytes[slice_outputs + HWY_MAX_BYTES];
  HWY_ALIGN std::uint16_t words[slice_outputs + HWY_MAX_BYTES];
  const auto most = hn::Set(d, static_cast<float>((1U << out.bits) - 1));
  const auto level = [&](std::size_t f) HWY_ATTR {
    return rounded<floors>(hn::Max(smaller_of(place(f), most), hn::Min(least(f), most)));
  };
  std::size_t f = 0;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  for (; out.bits <= 8 && f + 4 * hn::Lanes(d) <= count; f += 4 * hn::Lanes(d)) {
    const hn::Repartition<std::uint8_t, Floats> whole;
    const auto packed =
        bytes_of_four(level(f), level(f + hn::Lanes(d)), level(f + 2 * hn::Lanes(d)), level(f + 3 * hn::Lanes(d)));
    hn::StoreU(packed, whole, bytes + f);
  }
#endif
  for (; f < count; f += hn::Lanes(d)) {
    if (out.bits > 8) {
      hn::StoreU(hn::DemoteTo(word, level(f)), word, words + f);
    } else {
      hn::StoreU(hn::DemoteTo(byte, level(f)), byte, bytes + f);
    }
  }
  std::uint8_t* const row = out.row(i);
  if (out.in_planes()) return store_planes(bytes, count, row + first / plane_piece_columns * plane_piece_bytes);
  std::size_t used = first * static_cast<std::size_t>(level_place_bits(out.bits)) / 8;
  used += out.bits > 8 ? store_levels(words, count, row + used) : store_levels(bytes, count, out.bits, row + used);
  if (first + count < out.ncols) return;
  for (; used < out.row_bytes; ++used) row[used] = 0;
}

/// Late levels: their places are those of values, with the activation, on the late scale.
template <bool floors, class Value>
HWY_INLINE void finish_late_levels(const LevelOut& out, const LevelEpilogue& epilogue, std::size_t i, std::size_t first,
                                   std::size_t count, const Value& value) {
  const Floats d;
  const bool is_tanh = epilogue.activation == Activation::tanh;
  const auto finish = [&](const auto& factor, const auto& shift, const auto& least) HWY_ATTR {
    const auto place = [&](std::size_t f) HWY_ATTR {
      return fused(is_tanh ? for_each_lane(value(f), tanh_of) : value(f), factor(f), shift(f));
    };
    finish_levels<floors>(out.levels, i, first, count, place, least);
  };
  if (epilogue.late_by_rows || epilogue.late.single) {
    const OnScale scale = epilogue.late_scale(i, first);
    const auto factor = hn::Set(d, scale.factor), shift = hn::Set(d, scale.shift);
    const auto least = hn::Set(d, scale.least(epilogue.rectifies()));
    return finish([&](std::size_t) HWY_ATTR { return factor; }, [&](std::size_t) HWY_ATTR { return shift; },
                  [&](std::size_t) HWY_ATTR { return least; });
  }
  HWY_ALIGN float factor[slice_outputs], shift[slice_outputs], least[slice_outputs];
  for (std::size_t n = 0; n < slice_outputs; ++n) {
    const OnScale scale = epilogue.late_scale(i, first + HWY_MIN(n, count - 1));
    factor[n] = scale.factor, shift[n] = scale.shift, least[n] = scale.least(epilogue.rectifies());
  }
  finish([&](std::size_t f) HWY_ATTR { return hn::Load(d, factor + f); },
         [&](std::size_t f) HWY_ATTR { return hn::Load(d, shift + f); },
         [&](std::size_t f) HWY_ATTR { return hn::Load(d, least + f); });
}

/// The end of outputs first .. first + count - 1 of row i, a multiple of slice_outputs on. sums has room for a whole
/// vector behind them; place(f) has the places of vector f on the output's scale, least(f) the least ones for levels.
template <class Total, class Place, class Least>
HWY_INLINE void finish_slice(const LevelOut& out, const LevelEpilogue& epilogue, std::size_t i, std::size_t first,
                             std::size_t count, const Total* sums, const Place& place_of, const Least& least) {
  const Floats d;
  const float* const addend = epilogue.adds() ? epilogue.addend.row(i) + first : nullptr;
  const auto place = [&](std::size_t f) HWY_ATTR {
    return addend == nullptr ? place_of(f) : hn::Add(place_of(f), load_first(d, addend + f, count - f));
  };
  if (out.sums.data != nullptr) {
    std::int32_t* const to = out.sums.row(i) + first;
    for (std::size_t f = 0; f < count; ++f) to[f] = static_cast<std::int32_t>(sums[f]);
    return;
  }
  if (out.wide_sums.data != nullptr) {
    std::int64_t* const to = out.wide_sums.row(i) + first;
    for (std::size_t f = 0; f < count; ++f) to[f] = sums[f];
    return;
  }
  if (out.values.data != nullptr) {
    float* const to = out.values.row(out.value_row(i)) + first;
    for (std::size_t f = 0; f < count; f += hn::Lanes(d)) {
      auto value = place(f);
      if (epilogue.rectifies()) value = greater_of(value, hn::Zero(d));
      if (epilogue.activation == Activation::tanh) value = for_each_lane(value, tanh_of);
      store_first(d, value, to + f, count - f);
    }
  } else if (epilogue.is_late()) {
    epilogue.rounding == Rounding::floor ? finish_late_levels<true>(out, epilogue, i, first, count, place)
                                         : finish_late_levels<false>(out, epilogue, i, first, count, place);
  } else if (epilogue.rounding == Rounding::floor) {
    finish_levels<true>(out.levels, i, first, count, place, least);
  } else {
    finish_levels<false>(out.levels, i, first, count, place, least);
  }
}

/// Columns of sums over neighbours that end together, each at a place of its own; places without a column have zeros,
/// and no level above 0 whatever the scale of a row.
struct SumSlice {
  std::size_t first, columns;
  HWY_ALIGN float steps[slice_outputs];
  HWY_ALIGN float offsets[slice_outputs];
  HWY_ALIGN float most[slice_outputs];  ///< the greatest level, where levels go out
  SliceEpilogue epilogue;

  template <class PlaceOf>
  SumSlice(const LevelSumEnd& end, std::size_t ncols, std::size_t first_column, std::size_t places,
           const PlaceOf& place_of)
      : first(first_column), columns(HWY_MIN(places, ncols - first_column)) {
    for (std::size_t place = columns == places ? places : 0; place < places; ++place)
      steps[place] = offsets[place] = most[place] = epilogue.shift[place] = epilogue.least[place] = 0;
    const QuantizedView<std::uint8_t>& levels = end.out.levels;
    const float greatest = levels.data == nullptr ? 0 : static_cast<float>((1U << levels.bits) - 1);
    for (std::size_t column = 0; column < columns; ++column) {
      const std::size_t place = place_of(column), j = first + column;
      const float factor = end.epilogue.factor(j);
      steps[place] = end.x_scale.step(j) * factor;
      offsets[place] = end.x_scale.offset(j) * factor;
      most[place] = greatest;
      epilogue.set(place, end.epilogue, j, factor);
    }
  }
};

/// The end of the columns of a slice, in their order, of a row of so many neighbours. sums has room for a whole vector
/// behind them.
template <class Total>
HWY_INLINE void finish_sums(const LevelSumEnd& end, const SumSlice& slice, std::size_t i, std::size_t neighbors,
                            const Total* sums) {
  const Floats d;
  const float scale = end.row_scale_of(i);
  const auto row_scale = hn::Set(d, scale), count = hn::Set(d, scale * static_cast<float>(neighbors));
  const auto place = [&](std::size_t f) HWY_ATTR {
    const auto rest = fused(hn::Load(d, slice.offsets + f), count, hn::Load(d, slice.epilogue.shift + f));
    return fused(hn::Mul(hn::Load(d, slice.steps + f), row_scale), as_floats(sums + f), rest);
  };
  const auto least = [&](std::size_t f) HWY_ATTR { return hn::Load(d, slice.epilogue.least + f); };
  finish_slice(end.out, end.epilogue, i, slice.first, slice.columns, sums, place, least);
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
