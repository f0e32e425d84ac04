// SPDX-License-Identifier: Apache-2.0
// Counters in bit slices, and the way from sums to outputs. Included once for each instruction set (Highway's
// convention: the guard toggles).
#if defined(BITGRAPH_OPS_SPMM_CPU_BIT_SLICES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef BITGRAPH_OPS_SPMM_CPU_BIT_SLICES_INL_HPP
#undef BITGRAPH_OPS_SPMM_CPU_BIT_SLICES_INL_HPP
#else
#define BITGRAPH_OPS_SPMM_CPU_BIT_SLICES_INL_HPP
#endif

#include <hwy/highway.h>

#include "ops/cpu_partial-inl.hpp"
#include "ops/spmm/cpu/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
HWY_INLINE __m128i ternary_majority(__m128i a, __m128i b, __m128i c) { return _mm_ternarylogic_epi64(a, b, c, 0xE8); }
HWY_INLINE __m256i ternary_majority(__m256i a, __m256i b, __m256i c) {
  return _mm256_ternarylogic_epi64(a, b, c, 0xE8);
}
HWY_INLINE __m512i ternary_majority(__m512i a, __m512i b, __m512i c) {
  return _mm512_ternarylogic_epi64(a, b, c, 0xE8);
}
HWY_INLINE __m128i ternary_xor(__m128i a, __m128i b, __m128i c) { return _mm_ternarylogic_epi64(a, b, c, 0x96); }
HWY_INLINE __m256i ternary_xor(__m256i a, __m256i b, __m256i c) { return _mm256_ternarylogic_epi64(a, b, c, 0x96); }
HWY_INLINE __m512i ternary_xor(__m512i a, __m512i b, __m512i c) { return _mm512_ternarylogic_epi64(a, b, c, 0x96); }

template <class V>
HWY_INLINE V majority(V a, V b, V c) {
  return V{ternary_majority(a.raw, b.raw, c.raw)};
}
template <class V>
HWY_INLINE V parity(V a, V b, V c) {
  return V{ternary_xor(a.raw, b.raw, c.raw)};
}
#else
template <class V>
HWY_INLINE V majority(V a, V b, V c) {
  return hn::Or(hn::And(a, b), hn::And(c, hn::Xor(a, b)));
}
template <class V>
HWY_INLINE V parity(V a, V b, V c) {
  return hn::Xor(a, hn::Xor(b, c));
}
#endif

/// sum + a + b: the low bits stay in sum, the carries are returned.
template <class V>
HWY_INLINE V full_add(V& sum, V a, V b) {
  const V carry = majority(sum, a, b);
  sum = parity(sum, a, b);
  return carry;
}

/// Adds bits of weight 2^From.
template <std::size_t From, std::size_t S, class V>
HWY_INLINE void add_bits(V (&slices)[S], V bits) {
  for (std::size_t k = From; k < S; ++k) {
    const V carry = hn::And(slices[k], bits);
    slices[k] = hn::Xor(slices[k], bits);
    bits = carry;
  }
}

/// slices += other, S at least as many as T.
template <std::size_t S, std::size_t T, class V>
HWY_INLINE void add_slices(V (&slices)[S], const V (&other)[T]) {
  V carry = hn::Xor(slices[0], slices[0]);
  for (std::size_t k = 0; k < T; ++k) carry = full_add(slices[k], other[k], carry);
  add_bits<T>(slices, carry);
}

/// Adds four neighbours to the two lowest slices; returns the carries, of weight four.
template <class Loader, class V>
HWY_INLINE V add_four(const Loader& neighbor, std::size_t e, V& ones, V& twos) {
  const V twos_a = full_add(ones, neighbor(e), neighbor(e + 1));
  const V twos_b = full_add(ones, neighbor(e + 2), neighbor(e + 3));
  return full_add(twos, twos_a, twos_b);
}

/// Counts, column by column, the bits of n neighbours: slices[k] gets bit k of the counts. n < 2^S. `neighbor(e)` loads
/// the words of neighbour e.
template <class Loader, std::size_t S, class V>
HWY_INLINE void count_bits(const Loader& neighbor, std::size_t n, V (&slices)[S]) {
  for (std::size_t k = 0; k < S; ++k) slices[k] = hn::Zero(hn::DFromV<V>());
  std::size_t e = 0;
  if constexpr (S > 4) {
    for (; e + 16 <= n; e += 16) {
      const V fours_a = add_four(neighbor, e, slices[0], slices[1]);
      const V eights_a = full_add(slices[2], fours_a, add_four(neighbor, e + 4, slices[0], slices[1]));
      const V fours_b = add_four(neighbor, e + 8, slices[0], slices[1]);
      const V eights_b = full_add(slices[2], fours_b, add_four(neighbor, e + 12, slices[0], slices[1]));
      add_bits<4>(slices, full_add(slices[3], eights_a, eights_b));
    }
  }
  if constexpr (S > 3) {
    if (e + 8 <= n) {
      const V fours = add_four(neighbor, e, slices[0], slices[1]);
      add_bits<3>(slices, full_add(slices[2], fours, add_four(neighbor, e + 4, slices[0], slices[1])));
      e += 8;
    }
  }
  if ((n & 4U) != 0) {
    add_bits<2>(slices, add_four(neighbor, e, slices[0], slices[1]));
    e += 4;
  }
  if ((n & 2U) != 0) {
    add_bits<1>(slices, full_add(slices[0], neighbor(e), neighbor(e + 1)));
    e += 2;
  }
  if ((n & 1U) != 0) add_bits<0>(slices, neighbor(e));
}

/// A threshold t, 0 < t < 2^S, made ready for comparisons: all bits or none for each bit of 2^S - t.
template <std::size_t S, class V>
struct Threshold {
  V bits[S];

  /// One for all lanes.
  HWY_INLINE explicit Threshold(std::size_t threshold) {
    const hn::DFromV<V> d;
    const std::uint64_t complement = (std::uint64_t{1} << S) - threshold;
    for (std::size_t k = 0; k < S; ++k) bits[k] = hn::Set(d, std::uint64_t{0} - ((complement >> k) & 1U));
  }

  /// One for each lane.
  HWY_INLINE explicit Threshold(V thresholds) {
    const hn::DFromV<V> d;
    const V complement = hn::Sub(hn::Set(d, std::uint64_t{1} << S), thresholds);
    for (std::size_t k = 0; k < S; ++k)
      bits[k] = hn::VecFromMask(d, hn::TestBit(complement, hn::Set(d, std::uint64_t{1} << k)));
  }

  /// The columns whose count is at least t: the carry out of count + (2^S - t).
  HWY_INLINE V reached(const V (&slices)[S]) const {
    V carry = hn::Zero(hn::DFromV<V>());
    for (std::size_t k = 0; k < S; ++k) carry = majority(slices[k], carry, bits[k]);
    return carry;
  }
};

/// 2 count - degree of the columns bit .. bit + Lanes(df) of a word, whose counters' slices are `column`.
template <class DF, std::size_t S>
HWY_INLINE hn::Vec<DF> votes(DF df, const std::uint64_t (&column)[S], std::size_t bit, std::size_t degree) {
  const hn::RebindToSigned<DF> di;
  auto count = hn::Zero(di);
  for (std::size_t k = 0; k < S; ++k) {
    const std::uint64_t bits = column[k] >> bit;
    const auto mask = hn::LoadMaskBits(di, reinterpret_cast<const std::uint8_t*>(&bits));
    count = hn::Add(count, hn::IfThenElseZero(mask, hn::Set(di, static_cast<std::int32_t>(std::uint32_t{1} << k))));
  }
  const auto degrees = hn::Set(di, static_cast<std::int32_t>(degree));
  return hn::ConvertTo(df, hn::Sub(hn::Add(count, count), degrees));
}

/// y of columns first .. first + Lanes(df), of which `count` exist.
template <class DF>
HWY_INLINE hn::Vec<DF> epilogue_of(DF df, const SpmmEpilogue& epilogue, std::size_t row, std::size_t first,
                                   std::size_t count, hn::Vec<DF> v) {
  if (epilogue.feature_scale != nullptr) v = hn::Mul(v, load_first(df, epilogue.feature_scale + first, count));
  if (epilogue.feature_offset != nullptr) v = hn::Add(v, load_first(df, epilogue.feature_offset + first, count));
  if (epilogue.row_scale != nullptr) v = hn::Mul(v, hn::Set(df, epilogue.row_scale[row]));
  if (epilogue.bias != nullptr) v = hn::Add(v, load_first(df, epilogue.bias + first, count));
  return v;
}

/// The signs of the lanes as bits, 1 for y >= 0.
template <class DF>
HWY_INLINE std::uint64_t sign_bits(DF df, hn::Vec<DF> y) {
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(df, hn::Ge(y, hn::Zero(df)), bytes);
  std::uint64_t bits = 0;
  for (std::size_t b = 0; b < (hn::Lanes(df) + 7) / 8; ++b) bits |= std::uint64_t{bytes[b]} << (8 * b);
  return bits;
}

/// One word of 64 columns from `first` on: value(df, bit) gives the sums of Lanes(df) columns, which go through the
/// epilogue to the output.
template <class Value>
HWY_INLINE void expand_word(const FloatOut& out, const SpmmEpilogue& epilogue, std::size_t row, std::size_t first,
                            std::size_t ncols, const Value& value) {
  const hn::ScalableTag<float> df;
  for (std::size_t bit = 0; bit < 64 && first + bit < ncols; bit += hn::Lanes(df)) {
    const std::size_t count = ncols - first - bit;
    const auto y = epilogue_of(df, epilogue, row, first + bit, count, value(df, bit));
    store_first(df, y, out.row(row) + first + bit, count);
  }
}

template <class Value>
HWY_INLINE void expand_word(const BitsOut& out, const SpmmEpilogue& epilogue, std::size_t row, std::size_t first,
                            std::size_t ncols, const Value& value) {
  const hn::ScalableTag<float> df;
  std::uint64_t word = 0;
  for (std::size_t bit = 0; bit < 64 && first + bit < ncols; bit += hn::Lanes(df)) {
    const std::size_t count = ncols - first - bit;
    std::uint64_t bits = sign_bits(df, epilogue_of(df, epilogue, row, first + bit, count, value(df, bit)));
    if (count < hn::Lanes(df)) bits &= (std::uint64_t{1} << count) - 1;
    word |= bits << bit;
  }
  out.row(row)[first / 64] = word;
}

/// use(output) with the one that the sink has.
template <class Use>
HWY_INLINE void with_output(const spmm_cpu::Sink& sink, const Use& use) {
  if (sink.bits != nullptr) {
    use(*sink.bits);
  } else {
    use(*sink.floats);
  }
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
