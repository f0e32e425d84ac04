// SPDX-License-Identifier: Apache-2.0
// The vote over a graph in SELL-C-sigma whose columns are cut into strips: a strip's counts are added to counters in
// memory, and a row's results are made of these when all strips are done.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/spmm/cpu/strips.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstring>

#include "ops/spmm/cpu/kernels.hpp"
#include "ops/spmm/cpu/sell-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

using spmm_cpu::SellWindows;
using spmm_cpu::Sink;

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
template <unsigned Row>
HWY_INLINE void take_row(__m512i v, std::uint64_t* words, std::integral_constant<std::size_t, 2>) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(words), _mm512_extracti64x2_epi64(v, Row));
}
template <unsigned Row>
HWY_INLINE void take_row(__m512i v, std::uint64_t* words, std::integral_constant<std::size_t, 4>) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(words), _mm512_extracti64x4_epi64(v, Row));
}
#endif

/// The opposite of load_rows.
template <std::size_t N, std::size_t R, class V, class RowWords>
HWY_INLINE void store_rows(V v, const RowWords& row_words) {
  const hn::DFromV<V> d;
  if constexpr (R == 1) {
    hn::StoreU(v, d, row_words(0));
  } else {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
    if constexpr (N * R == 8 && N > 1) {
      constexpr std::integral_constant<std::size_t, N> n;
      take_row<0>(v.raw, row_words(0), n);
      take_row<1>(v.raw, row_words(1), n);
      if constexpr (R > 2) take_row<R - 2>(v.raw, row_words(R - 2), n);
      if constexpr (R > 2) take_row<R - 1>(v.raw, row_words(R - 1), n);
      return;
    }
#endif
    HWY_ALIGN std::uint64_t lanes[N * R];
    hn::Store(v, d, lanes);
    for (std::size_t r = 0; r < R; ++r) hwy::CopyBytes<N * sizeof(std::uint64_t)>(lanes + r * N, row_words(r));
  }
}

/// Adds counts to counters in memory: for each row from first_row on, `bits` slices of N words. Behind those of the
/// last row there are some for lanes without a row.
struct ToCounters {
  static constexpr bool wants_known_stride = false;
  std::uint64_t* counters;
  std::size_t first_row, num_rows, bits;

  template <std::size_t N>
  HWY_INLINE std::uint64_t* of(std::size_t row) const {
    return counters + HWY_MIN(row - first_row, num_rows) * bits * N;
  }

  template <std::size_t N, std::size_t R, std::size_t S, class V>
  HWY_INLINE void finish(const Place<N, R>& place, const V (&slices)[S]) const {
    const hn::DFromV<V> d;
    std::uint64_t* rows[R];
    for (std::size_t r = 0; r < R; ++r) rows[r] = of<N>(place.rows[r]);
    V carry = hn::Zero(d);
    const auto add = [&](std::size_t k, V more) HWY_ATTR {
      const auto words = [&](std::size_t r) HWY_ATTR { return rows[r] + k * N; };
      V sum = load_rows<N, R>(words);
      carry = full_add(sum, more, carry);
      store_rows<N, R>(sum, words);
    };
    for (std::size_t k = 0; k < S; ++k) {
      if (k < bits) add(k, slices[k]);
    }
    for (std::size_t k = S; k < bits && !hn::AllTrue(d, hn::Eq(carry, hn::Zero(d))); ++k) add(k, hn::Zero(d));
  }

  template <std::size_t N, std::size_t R, std::size_t S, class V>
  HWY_INLINE AsItIs<ToCounters> run(std::size_t) const {
    return {this};
  }
};

/// Results of R rows from their counters, of which the lowest S are in use.
template <std::size_t N, std::size_t R, std::size_t S, class Finish>
HWY_INLINE void finish_counted(const ToCounters& counted, const Place<N, R>& place, const Finish& finish) {
  hn::Vec<Lanes<N, R>> slices[S];
  for (std::size_t k = 0; k < S; ++k) {
    slices[k] = hn::Zero(Lanes<N, R>());
    if (k < counted.bits) {
      slices[k] = load_rows<N, R>([&](std::size_t r) HWY_ATTR { return counted.of<N>(place.rows[r]) + k * N; });
    }
  }
  finish.finish(place, slices);
}

template <std::size_t N, class Finish>
HWY_NOINLINE void finish_rows(const SellView& a, const ToCounters& counted, std::size_t word, const Finish& finish) {
  constexpr std::size_t R = rows_in_vector<N>;
  const std::size_t end = counted.first_row + counted.num_rows;
  for (std::size_t row = counted.first_row; row < end; row += R) {
    Place<N, R> place;
    place.word = word;
    std::size_t longest = 0;
    for (std::size_t r = 0; r < R; ++r) {
      const bool exists = row + r < end;
      place.rows[r] = exists ? row + r : Place<N, R>::no_row;
      place.degrees[r] = exists ? a.row_degrees[row + r] : 0;
      longest = HWY_MAX(longest, place.degrees[r]);
    }
    if (longest < 1024) {
      finish_counted<N, R, 10>(counted, place, finish);
    } else {
      finish_counted<N, R, 32>(counted, place, finish);
    }
  }
}

template <class Finish>
void vote(const SellView& a, const SellWindows& windows, const BitsIn& x, const Finish& finish) {
  const std::size_t first_row = windows.begin * a.window_rows;
  const std::size_t end_row = HWY_MIN(std::size_t{a.nrows}, windows.end * a.window_rows);
  const ToCounters counted{windows.counters, first_row, end_row - first_row, a.counter_bits};
  const auto vote_words = [&](auto n, auto, std::size_t word) {
    const std::size_t words = (counted.num_rows + 1) * counted.bits * n();
    std::memset(windows.counters, 0, words * sizeof(std::uint64_t));
    for (std::size_t strip = 0; strip < a.num_strips; ++strip) {
      BitsIn of_strip = x;
      of_strip.words += strip * a.strip_columns * x.words_per_row;
      for (std::size_t window = windows.begin; window < windows.end; ++window) {
        const std::size_t section = window * a.num_strips + strip;
        const SellPart part{a.section_long_rows[section], a.section_long_rows[section + 1], a.section_chunks[section],
                            a.section_chunks[section + 1]};
        count_part<n(), 0, std::uint16_t>(a, part, of_strip, word, counted);
      }
    }
    finish_rows<n()>(a, counted, word, finish);
  };
  // Without entries there are no counters, and perhaps no rows of x.
  if (counted.bits != 0) for_each_word_block<false>(x.words_per_row, vote_words);
  for (std::size_t row = first_row; row < end_row; ++row) {
    if (a.row_degrees[row] == 0) finish.finish_empty(row);
  }
}

void vote_to(const SellView& a, const SellWindows& windows, const BitsIn& x, const Sink& sink) {
  with_finish(sink, x.ncols, [&](const auto& finish) { vote(a, windows, x, finish); });
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bitgraph::spmm_cpu {
namespace {
HWY_EXPORT(vote_to);
}  // namespace

void vote_windows(const SellView& a, const SellWindows& windows, const BitsIn& x, const Sink& sink) {
  HWY_DYNAMIC_DISPATCH(vote_to)(a, windows, x, sink);
}

}  // namespace bitgraph::spmm_cpu
#endif  // HWY_ONCE
