// SPDX-License-Identifier: Apache-2.0
// What the votes over CSR rows and over SELL chunks share: how words of neighbors are loaded into the lanes of a
// vector, and how counts become signs or floats. Included once for each instruction set (Highway's convention: the
// guard toggles).
#if defined(BITGRAPH_OPS_SPMM_CPU_VOTE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef BITGRAPH_OPS_SPMM_CPU_VOTE_INL_HPP
#undef BITGRAPH_OPS_SPMM_CPU_VOTE_INL_HPP
#else
#define BITGRAPH_OPS_SPMM_CPU_VOTE_INL_HPP
#endif

#include <hwy/highway.h>

#include <bit>
#include <utility>

#include "ops/spmm/cpu/bit_slices-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// The number of rows of N words that fill a vector; 1 where a vector has one lane.
template <std::size_t N>
constexpr std::size_t rows_in_vector = HWY_TARGET == HWY_SCALAR || N * 8 >= HWY_MAX_BYTES ? 1 : HWY_MAX_BYTES / 8 / N;

/// N words of each of R rows.
template <std::size_t N, std::size_t R>
using Lanes = hn::CappedTag<std::uint64_t, N * R>;

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
HWY_INLINE __m512i lowest_row(const std::uint64_t* words, std::integral_constant<std::size_t, 1>) {
  return _mm512_castsi128_si512(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(words)));
}
HWY_INLINE __m512i lowest_row(const std::uint64_t* words, std::integral_constant<std::size_t, 2>) {
  return _mm512_castsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words)));
}
HWY_INLINE __m512i lowest_row(const std::uint64_t* words, std::integral_constant<std::size_t, 4>) {
  return _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(words)));
}
template <unsigned Row>
HWY_INLINE __m512i put_row(__m512i v, const std::uint64_t* words, std::integral_constant<std::size_t, 1>) {
  return _mm512_mask_set1_epi64(v, static_cast<__mmask8>(1U << Row), static_cast<long long>(*words));
}
template <unsigned Row>
HWY_INLINE __m512i put_row(__m512i v, const std::uint64_t* words, std::integral_constant<std::size_t, 2>) {
  return _mm512_mask_broadcast_i64x2(v, static_cast<__mmask8>(3U << (2 * Row)),
                                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(words)));
}
template <unsigned Row>
HWY_INLINE __m512i put_row(__m512i v, const std::uint64_t* words, std::integral_constant<std::size_t, 4>) {
  return _mm512_mask_broadcast_i64x4(v, static_cast<__mmask8>(15U << (4 * Row)),
                                     _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words)));
}

/// One word of each row, at row_words(r), in the lanes of a vector. Each lane is filled by a broadcast under a mask,
/// which is a load and a blend. An insertion would be a shuffle, and the processor has one shuffle a cycle.
template <std::size_t N, std::size_t R, class RowWords>
HWY_INLINE __m512i masked_rows(const RowWords& row_words) {
  constexpr std::integral_constant<std::size_t, N> n;
  __m512i v = lowest_row(row_words(0), n);
  v = put_row<1>(v, row_words(1), n);
  if constexpr (R > 2) v = put_row<3>(put_row<2>(v, row_words(2), n), row_words(3), n);
  if constexpr (R > 4) v = put_row<5>(put_row<4>(v, row_words(4), n), row_words(5), n);
  if constexpr (R > 4) v = put_row<7>(put_row<6>(v, row_words(6), n), row_words(7), n);
  return v;
}
#endif

/// N words of each of the rows First .. First + R - 1, at row_words(r), in the lanes of a vector.
template <std::size_t N, std::size_t R, std::size_t First = 0, class RowWords>
HWY_INLINE hn::Vec<Lanes<N, R>> load_rows(const RowWords& row_words) {
  if constexpr (R == 1) {
    return hn::LoadU(Lanes<N, 1>(), row_words(First));
  } else {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
    if constexpr (N * R == 8) return hn::Vec<Lanes<N, R>>{masked_rows<N, R>(row_words)};
#endif
#if HWY_TARGET != HWY_SCALAR
    return hn::Combine(Lanes<N, R>(), load_rows<N, R / 2, First + R / 2>(row_words),
                       load_rows<N, R / 2, First>(row_words));
#endif
  }
}

/// Loads neighbors of R rows, or of R parts of one row. Slot e has one neighbor of each: their columns lie at
/// cols[e * Pitch] and behind it. Stride is the number of words of a row of X where it is known at compile time, else
/// 0.
template <std::size_t N, std::size_t R, std::size_t Pitch, std::size_t Stride, class Index = NodeId>
struct SlotLoader {
  const Index* HWY_RESTRICT cols;
  const std::uint64_t* HWY_RESTRICT words;
  std::size_t stride;

  HWY_INLINE const std::uint64_t* words_of(Index column) const {
    return words + std::size_t{column} * (Stride == 0 ? stride : Stride);
  }
  HWY_INLINE auto operator()(std::size_t e) const {
    if constexpr (N == 1 && R == 8 && sizeof(Index) == 4) {
      // Narrow rows are bound by the load ports, so two column indices are loaded at a time.
      std::uint64_t pairs[R / 2];
      hwy::CopyBytes<sizeof(pairs)>(cols + e * Pitch, pairs);
      return load_rows<N, R>([&](std::size_t r)
                                 HWY_ATTR { return words_of(static_cast<NodeId>(pairs[r / 2] >> (32 * (r % 2)))); });
    } else {
      return load_rows<N, R>([&](std::size_t r) HWY_ATTR { return words_of(cols[e * Pitch + r]); });
    }
  }
  /// The first `count` neighbors of slot e; zeros in the other lanes.
  HWY_INLINE auto first(std::size_t e, std::size_t count) const {
    HWY_ALIGN std::uint64_t lanes[N * R] = {};
    for (std::size_t r = 0; r < count; ++r) {
      for (std::size_t n = 0; n < N; ++n) lanes[r * N + n] = words_of(cols[e * Pitch + r])[n];
    }
    return hn::Load(Lanes<N, R>(), lanes);
  }
};

/// Which part of the output a vector of counters stands for: N words of each of R rows, from `word` on. Nothing is
/// stored for a row that does not exist.
template <std::size_t N, std::size_t R>
struct Place {
  static constexpr std::size_t no_row = ~std::size_t{0};
  std::size_t rows[R];
  std::size_t degrees[R];
  std::size_t word;
};

/// Stores signs: compares each count with half of the row's degree.
struct ToBits {
  static constexpr bool wants_known_stride = true;  ///< kernels for each stride are faster here
  const BitsOut& out;

  /// For vectors of rows that all have one degree and all exist.
  template <std::size_t N, std::size_t R, std::size_t S, class V>
  struct Run {
    const BitsOut* out;
    Threshold<S, V> half;

    HWY_INLINE void operator()(const Place<N, R>& place, const V (&slices)[S]) const {
      const hn::DFromV<V> d;
      if constexpr (R == 1) {
        hn::StoreU(half.reached(slices), d, out->row(place.rows[0]) + place.word);
      } else {
        HWY_ALIGN std::uint64_t lanes[N * R];
        hn::Store(half.reached(slices), d, lanes);
        for (std::size_t r = 0; r < R; ++r) {
          for (std::size_t n = 0; n < N; ++n) out->row(place.rows[r])[place.word + n] = lanes[r * N + n];
        }
      }
    }
  };

  template <std::size_t N, std::size_t R, std::size_t S, class V>
  HWY_INLINE Run<N, R, S, V> run(std::size_t degree) const {
    return {&out, Threshold<S, V>((degree + 1) / 2)};
  }

  /// For rows of different degrees.
  template <std::size_t N, std::size_t R, std::size_t S, class V>
  HWY_INLINE void finish(const Place<N, R>& place, const V (&slices)[S]) const {
    const hn::DFromV<V> d;
    HWY_ALIGN std::uint64_t lanes[N * R];
    for (std::size_t lane = 0; lane < N * R; ++lane) lanes[lane] = (place.degrees[lane / N] + 1) / 2;
    hn::Store(Threshold<S, V>(hn::Load(d, lanes)).reached(slices), d, lanes);
    for (std::size_t lane = 0; lane < N * R; ++lane) {
      const std::size_t row = place.rows[lane / N];
      if (row != Place<N, R>::no_row) out.row(row)[place.word + lane % N] = lanes[lane];
    }
  }

  /// A row without neighbors: its vote is a tie, and a tie is +1.
  void finish_empty(std::size_t row) const {
    std::uint64_t* words = out.row(row);
    for (std::size_t word = 0; word < out.words_per_row; ++word) words[word] = ~std::uint64_t{0};
    if (out.ncols % 64 != 0) words[out.words_per_row - 1] = (std::uint64_t{1} << (out.ncols % 64)) - 1;
  }
};

/// The run() of a finish that prepares nothing for rows of one degree.
template <class Finish>
struct AsItIs {
  const Finish* to;
  template <std::size_t N, std::size_t R, std::size_t S, class V>
  HWY_INLINE void operator()(const Place<N, R>& place, const V (&slices)[S]) const {
    to->finish(place, slices);
  }
};

/// Turns counts into sums of signs, 2 count - degree, applies the epilogue, and stores floats or signs.
template <class Out>
struct ToEpilogue {
  static constexpr bool wants_known_stride = false;
  const Out& out;
  const SpmmEpilogue& epilogue;
  std::size_t ncols;

  template <std::size_t N, std::size_t R, std::size_t S, class V>
  HWY_INLINE void finish(const Place<N, R>& place, const V (&slices)[S]) const {
    const hn::DFromV<V> d;
    HWY_ALIGN std::uint64_t words[S][HWY_MAX_BYTES / 8];
    for (std::size_t k = 0; k < S; ++k) hn::Store(slices[k], d, words[k]);
    for (std::size_t lane = 0; lane < N * R; ++lane) {
      if (place.rows[lane / N] == Place<N, R>::no_row) continue;
      std::uint64_t column[S];
      for (std::size_t k = 0; k < S; ++k) column[k] = words[k][lane];
      expand_word(out, epilogue, place.rows[lane / N], (place.word + lane % N) * 64, ncols,
                  [&](auto df, std::size_t bit) HWY_ATTR { return votes(df, column, bit, place.degrees[lane / N]); });
    }
  }

  template <std::size_t N, std::size_t R, std::size_t S, class V>
  HWY_INLINE AsItIs<ToEpilogue> run(std::size_t) const {
    return {this};
  }

  void finish_empty(std::size_t row) const {
    const Lanes<1, 1> d;
    const hn::Vec<Lanes<1, 1>> nothing[1] = {hn::Zero(d)};
    for (std::size_t word = 0; word < (ncols + 63) / 64; ++word) finish(Place<1, 1>{{row}, {0}, word}, nothing);
  }
};

/// Calls use(finish) with the finish that the sink needs.
template <class Use>
HWY_INLINE void with_finish(const spmm_cpu::Sink& sink, std::size_t ncols, const Use& use) {
  if (sink.bits != nullptr && sink.epilogue.is_identity()) return use(ToBits{*sink.bits});
  with_output(sink, [&]<class Out>(const Out& out) HWY_ATTR { use(ToEpilogue<Out>{out, sink.epilogue, ncols}); });
}

/// Adds up the counters of R parts of one row, which stand side by side in a vector, and calls use(counters) with the
/// sum, of N lanes.
template <std::size_t N, std::size_t R, std::size_t S, class V, class Use>
HWY_INLINE void add_parts(const V (&slices)[S], const Use& use) {
  if constexpr (R == 1) {
    use(slices);
  } else {
#if HWY_TARGET != HWY_SCALAR
    const Lanes<N, R / 2> half;
    hn::Vec<Lanes<N, R / 2>> sum[S + 1];
    hn::Vec<Lanes<N, R / 2>> upper[S];
    for (std::size_t k = 0; k < S; ++k) {
      sum[k] = hn::LowerHalf(half, slices[k]);
      upper[k] = hn::UpperHalf(half, slices[k]);
    }
    sum[S] = hn::Zero(half);
    add_slices(sum, upper);
    add_parts<N, R / 2>(sum, use);
#endif
  }
}

/// The slices that the sum of R counters of S slices needs.
template <std::size_t N, std::size_t S>
constexpr std::size_t slices_of_row = S + std::bit_width(rows_in_vector<N>) - 1;

/// Counts the bits of up to (2^S - 2) * R neighbors of one row, R at a time. It does not depend on the finish, so it is
/// compiled once for all of them.
template <std::size_t N, std::size_t S, class Index>
HWY_NOINLINE void count_parts(const Index* cols, std::size_t size, const BitsIn& x, std::size_t word,
                              hn::Vec<Lanes<N, 1>> (&counts)[slices_of_row<N, S>]) {
  constexpr std::size_t R = rows_in_vector<N>;
  const SlotLoader<N, R, R, 0, Index> loader{cols, x.words + word, x.words_per_row};
  hn::Vec<Lanes<N, R>> slices[S];
  count_bits(loader, size / R, slices);
  if (size % R != 0) add_bits<0>(slices, loader.first(size / R, size % R));
  add_parts<N, R>(slices, [&](const auto& sums) HWY_ATTR {
    for (std::size_t k = 0; k < slices_of_row<N, S>; ++k) counts[k] = sums[k];
  });
}

/// Counts a row of many neighbors. R parts of it stand side by side in a vector. A row that overflows even their
/// counters is counted in pieces.
template <std::size_t N, class Index, class Finish>
HWY_NOINLINE void count_long_row(std::size_t row, const Index* cols, std::size_t degree, const BitsIn& x,
                                 std::size_t word, const Finish& finish) {
  using V = hn::Vec<Lanes<N, 1>>;
  constexpr std::size_t R = rows_in_vector<N>;
  constexpr std::size_t piece = ((std::size_t{1} << 12) - 2) * R;  // neighbors that counters of 12 slices can count
  const Place<N, 1> place{{row}, {degree}, word};
  if (degree / R < 255) {
    V counts[slices_of_row<N, 8>];
    count_parts<N, 8>(cols, degree, x, word, counts);
    finish.finish(place, counts);
    return;
  }
  V counts[slices_of_row<N, 12>];
  count_parts<N, 12>(cols, HWY_MIN(piece, degree), x, word, counts);
  if (degree <= piece) return finish.finish(place, counts);
  V total[32];
  for (auto& slice : total) slice = hn::Zero(Lanes<N, 1>());
  add_slices(total, counts);
  for (std::size_t begin = piece; begin < degree; begin += piece) {
    count_parts<N, 12>(cols + begin, HWY_MIN(piece, degree - begin), x, word, counts);
    add_slices(total, counts);
  }
  finish.finish(place, total);
}

/// Goes through the words of a row with the widest vectors, then with narrower ones for the rest. Calls
/// run(words in a vector, stride or 0, first word).
template <bool KnownStride, class Run>
HWY_INLINE void for_each_word_block(std::size_t words_per_row, const Run& run) {
  std::size_t word = 0;
  const auto blocks_of = [&](auto lanes) HWY_ATTR {
    constexpr std::size_t N = lanes();
    if constexpr (N * 8 <= HWY_MAX_BYTES) {
      if (KnownStride && words_per_row == N) {
        run(lanes, std::integral_constant < std::size_t, KnownStride ? N : 0 > {}, 0);
        word = N;
      }
      for (; word + N <= words_per_row; word += N) run(lanes, std::integral_constant<std::size_t, 0>{}, word);
    }
  };
  blocks_of(std::integral_constant<std::size_t, 8>{});
  blocks_of(std::integral_constant<std::size_t, 4>{});
  blocks_of(std::integral_constant<std::size_t, 2>{});
  blocks_of(std::integral_constant<std::size_t, 1>{});
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
