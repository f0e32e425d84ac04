// SPDX-License-Identifier: Apache-2.0
// The vote over a graph in SELL-C-sigma. Eight rows of nearly one degree stand side by side: slot after slot their
// neighbours' words go into the lanes of a vector and from there into bit-sliced counters, as in cpu_vote.cpp, but
// along one stream of column indices, and with nothing to sort.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/spmm/cpu_sell.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/spmm/cpu.hpp"
#include "ops/spmm/cpu_vote-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using spmm_cpu::SellPart;

/// R rows of several degrees, never rising: the slots that all have, then those that only the first have.
template <std::size_t N, std::size_t R, class Loader, std::size_t S, class V>
HWY_INLINE void count_uneven(const Loader& loader, const NodeId* degrees, V (&slices)[S]) {
  count_bits(loader, degrees[R - 1], slices);
  std::size_t active = R;
  for (NodeId e = degrees[R - 1]; e < degrees[0]; ++e) {
    while (degrees[active - 1] <= e) --active;
    // An empty place names column 0, which is there: whatever it holds is masked away.
    add_bits<0>(slices, hn::IfThenElseZero(hn::FirstN(hn::DFromV<V>(), active * N), loader(e)));
  }
}

template <std::size_t N, std::size_t R>
HWY_INLINE Place<N, R> place_of(const NodeId* rows, const NodeId* degrees, std::size_t word) {
  Place<N, R> place;
  place.word = word;
  for (std::size_t r = 0; r < R; ++r) {
    place.rows[r] = rows[r];
    place.degrees[r] = degrees[r];
  }
  return place;
}

/// Chunks from `chunk` on, as long as their longest rows have `least` to 2^S - 1 entries: N words of each row from
/// `word` on. Returns the next chunk.
template <std::size_t N, std::size_t S, std::size_t Stride, class Finish>
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
      const NodeId* rows = a.rows + chunk * SellView::lanes + lane;
      const NodeId* degrees = a.degrees + chunk * SellView::lanes + lane;
      if (degrees[0] == 0) break;
      const SlotLoader<N, R, SellView::lanes, Stride> loader{a.col_ind + a.chunk_ptr[chunk] + lane, x.words + word,
                                                             x.words_per_row};
      V slices[S];
      if (degrees[0] == degrees[R - 1]) {  // nearly always
        if (degrees[0] != degree) {
          degree = degrees[0];
          run = finish.template run<N, R, S, V>(degree);
        }
        count_bits(loader, degree, slices);
        run(place_of<N, R>(rows, degrees, word), slices);
      } else {
        count_uneven<N, R>(loader, degrees, slices);
        Place<N, R> place = place_of<N, R>(rows, degrees, word);
        for (std::size_t r = 0; r < R; ++r) {
          if (degrees[r] == 0) place.rows[r] = Place<N, R>::no_row;
        }
        finish.finish(place, slices);
      }
    }
  }
  return chunk;
}

template <std::size_t N, std::size_t Stride, class Finish>
void count_part(const SellView& a, const SellPart& part, const BitsIn& x, std::size_t word, const Finish& finish) {
  for (std::size_t n = part.first_long_row; n < part.end_long_row; ++n) {
    count_long_row<N>(a.long_rows[n], a.long_col_ind + a.long_ptr[n],
                      static_cast<std::size_t>(a.long_ptr[n + 1] - a.long_ptr[n]), x, word, finish);
  }
  for (std::size_t chunk = part.first_chunk; chunk < part.end_chunk;) {
    const auto run = [&](auto slices, std::size_t least) {
      chunk = count_chunks<N, slices(), Stride>(a, chunk, part.end_chunk, least, x, word, finish);
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

template <class Finish>
void vote(const SellView& a, const SellPart& part, const BitsIn& x, const Finish& finish) {
  for_each_word_block<Finish::wants_known_stride>(x.words_per_row, [&](auto n, auto stride, std::size_t word) {
    count_part<n(), stride()>(a, part, x, word, finish);
  });
  for (std::size_t n = part.first_chunk * SellView::lanes; n < part.end_chunk * SellView::lanes; ++n) {
    if (a.degrees[n] == 0 && a.rows[n] != a.nrows) finish.finish_empty(a.rows[n]);
  }
}

void vote_to_bits(const SellView& a, const SellPart& part, const BitsIn& x, const BitsOut& out) {
  vote(a, part, x, ToBits{out});
}

void vote_to_signs(const SellView& a, const SellPart& part, const BitsIn& x, const BitsOut& out,
                   const SpmmEpilogue& epilogue) {
  vote(a, part, x, ToEpilogue<BitsOut>{out, epilogue, x.ncols});
}

void vote_to_floats(const SellView& a, const SellPart& part, const BitsIn& x, const FloatOut& out,
                    const SpmmEpilogue& epilogue) {
  vote(a, part, x, ToEpilogue<FloatOut>{out, epilogue, x.ncols});
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bitgraph::spmm_cpu {
namespace {
HWY_EXPORT(vote_to_bits);
HWY_EXPORT(vote_to_signs);
HWY_EXPORT(vote_to_floats);
}  // namespace

void vote_chunks(const SellView& a, const SellPart& part, const BitsIn& x, const BitsOut& out,
                 const SpmmEpilogue& epilogue) {
  if (epilogue.is_identity()) {
    HWY_DYNAMIC_DISPATCH(vote_to_bits)(a, part, x, out);
  } else {
    HWY_DYNAMIC_DISPATCH(vote_to_signs)(a, part, x, out, epilogue);
  }
}

void vote_chunks(const SellView& a, const SellPart& part, const BitsIn& x, const FloatOut& out,
                 const SpmmEpilogue& epilogue) {
  HWY_DYNAMIC_DISPATCH(vote_to_floats)(a, part, x, out, epilogue);
}

}  // namespace bitgraph::spmm_cpu
#endif  // HWY_ONCE
