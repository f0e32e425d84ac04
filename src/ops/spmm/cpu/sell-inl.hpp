// SPDX-License-Identifier: Apache-2.0
// Votes over the chunks and long rows of a SellView. Eight rows of nearly one degree stand side by side: slot after
// slot their neighbours' words go into the lanes of a vector and from there into bit-sliced counters, as in
// vote.cpp, but along one stream of column indices, and with nothing to sort. Included once for each instruction
// set (Highway's convention: the guard toggles).
#if defined(BITGRAPH_OPS_SPMM_CPU_SELL_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef BITGRAPH_OPS_SPMM_CPU_SELL_INL_HPP
#undef BITGRAPH_OPS_SPMM_CPU_SELL_INL_HPP
#else
#define BITGRAPH_OPS_SPMM_CPU_SELL_INL_HPP
#endif

#include <hwy/highway.h>

#include "ops/spmm/cpu/kernels.hpp"
#include "ops/spmm/cpu/vote-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using spmm_cpu::SellPart;

/// The column indices of a SellView, of either width.
template <class Index>
struct Columns;
template <>
struct Columns<NodeId> {
  static const NodeId* of(const SellView& a) { return a.col_ind; }
  static const NodeId* of_long_rows(const SellView& a) { return a.long_col_ind; }
};
template <>
struct Columns<std::uint16_t> {
  static const std::uint16_t* of(const SellView& a) { return a.short_col_ind; }
  static const std::uint16_t* of_long_rows(const SellView& a) { return a.short_long_col_ind; }
};

/// Of eight rows of a chunk, R; the number of words of a row of X is not known.
template <std::size_t N, std::size_t R, class Index>
using AnyLoader = SlotLoader<N, R, SellView::lanes, 0, Index>;

/// Where a call does not matter: one kernel for all that becomes of counts.
template <std::size_t N, std::size_t R, std::size_t S, class Index, class V>
HWY_NOINLINE void count_even(const AnyLoader<N, R, Index>& loader, NodeId degree, V (&slices)[S]) {
  count_bits(loader, degree, slices);
}

/// R rows of several degrees, never rising: the slots that all have, then those that only the first have.
template <std::size_t N, std::size_t R, std::size_t S, class Index, class V>
HWY_NOINLINE void count_uneven(const AnyLoader<N, R, Index>& loader, const NodeId* degrees, V (&slices)[S]) {
  const NodeId common = degrees[R - 1];
  count_even<N, R, S, Index>(loader, common, slices);
  // An empty place names a column that is there: whatever it holds is masked away.
  const auto of_first = [&](std::size_t slot) HWY_ATTR {
    const std::size_t e = common + slot;
    std::size_t active = 0;
    for (std::size_t r = 0; r < R; ++r) active += degrees[r] > e ? N : 0;
    return hn::IfThenElseZero(hn::FirstN(hn::DFromV<V>(), active), loader(e));
  };
  V rest[S];
  count_bits(of_first, degrees[0] - common, rest);
  add_slices(slices, rest);
}

/// Nothing is stored of rows without entries.
template <std::size_t N, std::size_t R>
HWY_INLINE Place<N, R> place_of(const NodeId* rows, const NodeId* degrees, std::size_t word) {
  Place<N, R> place;
  place.word = word;
  for (std::size_t r = 0; r < R; ++r) {
    place.rows[r] = degrees[r] == 0 ? Place<N, R>::no_row : rows[r];
    place.degrees[r] = degrees[r];
  }
  return place;
}

/// Chunks from `chunk` on, as long as their longest rows have `least` to 2^S - 1 entries: N words of each row from
/// `word` on. Returns the next chunk.
template <std::size_t N, std::size_t S, std::size_t Stride, class Index, class Finish>
HWY_NOINLINE std::size_t count_chunks(const SellView& a, std::size_t chunk, std::size_t end, std::size_t least,
                                      const BitsIn& x, std::size_t word, const Finish& finish) {
  constexpr std::size_t R = rows_in_vector<N>;
  constexpr NodeId limit = NodeId{1} << S;
  using V = hn::Vec<Lanes<N, R>>;
  NodeId degree = a.degrees[chunk * SellView::lanes];
  auto run = finish.template run<N, R, S, V>(degree);
  for (; chunk < end; ++chunk) {
    const NodeId longest = a.degrees[chunk * SellView::lanes];
    if (longest < least || longest >= limit) break;
    for (std::size_t lane = 0; lane < SellView::lanes; lane += R) {
      const NodeId* degrees = a.degrees + chunk * SellView::lanes + lane;
      if (degrees[0] == 0) break;
      const Place<N, R> place = place_of<N, R>(a.rows + chunk * SellView::lanes + lane, degrees, word);
      const Index* cols = Columns<Index>::of(a) + a.chunk_ptr[chunk] + lane;
      const AnyLoader<N, R, Index> any{cols, x.words + word, x.words_per_row};
      const bool even = degrees[0] == degrees[R - 1];  // nearly always
      V slices[S];
      if constexpr (Finish::wants_known_stride) {
        if (even) {
          if (degrees[0] != degree) {
            degree = degrees[0];
            run = finish.template run<N, R, S, V>(degree);
          }
          count_bits(SlotLoader<N, R, SellView::lanes, Stride, Index>{cols, any.words, any.stride}, degree, slices);
          run(place, slices);
          continue;
        }
      }
      if (even) {
        count_even<N, R, S, Index>(any, degrees[0], slices);
      } else {
        count_uneven<N, R, S, Index>(any, degrees, slices);
      }
      finish.finish(place, slices);
    }
  }
  return chunk;
}

template <std::size_t N, std::size_t Stride, class Index, class Finish>
void count_part(const SellView& a, const SellPart& part, const BitsIn& x, std::size_t word, const Finish& finish) {
  for (std::size_t n = part.first_long_row; n < part.end_long_row; ++n) {
    count_long_row<N>(a.long_rows[n], Columns<Index>::of_long_rows(a) + a.long_ptr[n],
                      static_cast<std::size_t>(a.long_ptr[n + 1] - a.long_ptr[n]), x, word, finish);
  }
  for (std::size_t chunk = part.first_chunk; chunk < part.end_chunk;) {
    const auto run = [&](auto slices, std::size_t least) {
      chunk = count_chunks<N, slices(), Stride, Index>(a, chunk, part.end_chunk, least, x, word, finish);
    };
    const NodeId longest = a.degrees[chunk * SellView::lanes];
    if (longest < 8) {
      run(std::integral_constant<std::size_t, 3>{}, 0);
    } else if (longest < 16) {
      run(std::integral_constant<std::size_t, 4>{}, 8);
    } else if (longest < 32) {
      run(std::integral_constant<std::size_t, 5>{}, 16);
    } else if (longest < 64) {
      run(std::integral_constant<std::size_t, 6>{}, 32);
    } else if (longest < 256) {
      run(std::integral_constant<std::size_t, 8>{}, 64);
    } else {
      run(std::integral_constant<std::size_t, 10>{}, 256);
    }
  }
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
