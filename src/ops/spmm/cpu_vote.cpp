// SPDX-License-Identifier: Apache-2.0
// Aggregation of bits as a vote. The bits of a row's neighbours are added, all columns of a word at once, into counters
// held in bit slices (slice k has bit k of every column's count): a full adder over words costs two three-input logic
// instructions, so a neighbour costs about two instructions a vector whatever the number of columns in it. The
// comparison with half the degree is done on the slices too. Nothing is unpacked or transposed.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/spmm/cpu_vote.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/spmm/cpu.hpp"
#include "ops/spmm/cpu_bit_slices-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using spmm_cpu::max_block_rows;
using spmm_cpu::RowBlock;

/// Degrees below this are sorted exactly, so that rows of one degree follow one another and no branch is mispredicted.
constexpr std::size_t sorted_degrees = 64;

/// Longer rows are sorted by what is left of their degree after blocks of sixteen: their last neighbours take one path.
constexpr std::size_t tails = 16;
constexpr std::size_t num_keys = sorted_degrees + tails;

/// Longest run of neighbours that the widest counters (12 slices) hold.
constexpr std::size_t longest_count = 4095;

/// The rows of a block by degree: rows of degree d < sorted_degrees are order[start[d]] .. order[start[d + 1]], longer
/// ones come last.
struct DegreeOrder {
  std::uint16_t order[max_block_rows];
  std::uint32_t start[num_keys + 1];

  explicit DegreeOrder(const RowBlock& rows) {
    for (auto& s : start) s = 0;
    for (std::size_t r = 0; r < rows.count; ++r) ++start[key(rows, r) + 1];
    for (std::size_t d = 0; d < num_keys; ++d) start[d + 1] += start[d];
    std::uint32_t next[num_keys];
    for (std::size_t d = 0; d < num_keys; ++d) next[d] = start[d];
    for (std::size_t r = 0; r < rows.count; ++r) order[next[key(rows, r)]++] = static_cast<std::uint16_t>(r);
  }

  static std::size_t key(const RowBlock& rows, std::size_t r) {
    const EdgeOffset degree = rows.row_ptr[r + 1] - rows.row_ptr[r];
    return static_cast<std::size_t>(degree < sorted_degrees ? degree : sorted_degrees + degree % tails);
  }
};

/// The words of one row's neighbours, N at a time. Stride is the number of words of a row of X where that is known,
/// else 0.
template <std::size_t N, std::size_t Stride>
struct RowLoader {
  const hn::CappedTag<std::uint64_t, N> d;
  const NodeId* HWY_RESTRICT cols;
  const std::uint64_t* HWY_RESTRICT words;
  std::size_t stride;

  HWY_INLINE auto operator()(std::size_t e) const {
    return hn::LoadU(d, words + std::size_t{cols[e]} * (Stride == 0 ? stride : Stride));
  }
};

#if HWY_TARGET != HWY_SCALAR  // there a vector has one lane: no group
/// The words of the same neighbour of R rows side by side in one vector of N * R lanes.
template <std::size_t N, std::size_t R, std::size_t Stride>
struct GroupLoader {
  const NodeId* cols[R];
  const std::uint64_t* HWY_RESTRICT words;
  std::size_t stride;

  template <std::size_t First, std::size_t Count>
  HWY_INLINE auto rows(std::size_t e) const {
    const hn::CappedTag<std::uint64_t, N * Count> d;
    if constexpr (Count == 1) {
      return hn::LoadU(d, words + std::size_t{cols[First][e]} * (Stride == 0 ? stride : Stride));
    } else {
      return hn::Combine(d, rows<First + Count / 2, Count / 2>(e), rows<First, Count / 2>(e));
    }
  }
  HWY_INLINE auto operator()(std::size_t e) const { return rows<0, R>(e); }
};

#endif

/// Where the lanes of a vector of counters belong: N words of each of R rows, from `word` on.
template <std::size_t N, std::size_t R>
struct Place {
  std::size_t rows[R];
  std::size_t word;
};

/// Compares the counts with half the degree.
struct ToBits {
  static constexpr bool wants_known_stride = true;  ///< worth kernels of its own
  const BitsOut& out;

  template <std::size_t N, std::size_t R, std::size_t S, class V>
  struct Run {
    const BitsOut& out;
    Threshold<S, V> half;

    HWY_INLINE void operator()(const Place<N, R>& place, const V (&slices)[S], std::size_t) const {
      const hn::DFromV<V> d;
      if constexpr (R == 1) {
        hn::StoreU(half.reached(slices), d, out.row(place.rows[0]) + place.word);
      } else {
        HWY_ALIGN std::uint64_t lanes[N * R];
        hn::Store(half.reached(slices), d, lanes);
        for (std::size_t r = 0; r < R; ++r) {
          for (std::size_t n = 0; n < N; ++n) out.row(place.rows[r])[place.word + n] = lanes[r * N + n];
        }
      }
    }
  };

  template <std::size_t N, std::size_t R, std::size_t S, class V>
  HWY_INLINE Run<N, R, S, V> run(std::size_t degree) const {
    return {out, Threshold<S, V>((degree + 1) / 2)};
  }
};

/// Counts to floats, 2 count - degree, through the epilogue, to floats or signs.
template <class Out>
struct ToEpilogue {
  static constexpr bool wants_known_stride = false;
  const Out& out;
  const SpmmEpilogue& epilogue;
  std::size_t ncols;

  template <std::size_t N, std::size_t R, std::size_t S, class V>
  struct Run {
    const ToEpilogue& to;

    HWY_INLINE void operator()(const Place<N, R>& place, const V (&slices)[S], std::size_t degree) const {
      const hn::DFromV<V> d;
      HWY_ALIGN std::uint64_t words[S][HWY_MAX_BYTES / 8];
      for (std::size_t k = 0; k < S; ++k) hn::Store(slices[k], d, words[k]);
      for (std::size_t lane = 0; lane < N * R; ++lane) {
        std::uint64_t column[S];
        for (std::size_t k = 0; k < S; ++k) column[k] = words[k][lane];
        expand_word(to.out, to.epilogue, place.rows[lane / N], (place.word + lane % N) * 64, to.ncols,
                    [&](auto df, std::size_t bit) HWY_ATTR { return votes(df, column, bit, degree); });
      }
    }
  };

  template <std::size_t N, std::size_t R, std::size_t S, class V>
  HWY_INLINE Run<N, R, S, V> run(std::size_t) const {
    return {*this};
  }
};

#if HWY_TARGET != HWY_SCALAR
template <std::size_t N, std::size_t R, std::size_t Stride>
HWY_INLINE GroupLoader<N, R, Stride> group_loader(const RowBlock& rows, const std::uint16_t* order, const BitsIn& x,
                                                  std::size_t word) {
  GroupLoader<N, R, Stride> loader;
  for (std::size_t r = 0; r < R; ++r) loader.cols[r] = rows.cols + rows.row_ptr[order[r]];
  loader.words = x.words + word;
  loader.stride = x.words_per_row;
  return loader;
}
#endif

/// Rows of one degree below 2^S, in groups that fill a vector, then one by one.
template <std::size_t N, std::size_t S, std::size_t Stride, class Finish>
HWY_NOINLINE void count_rows(const RowBlock& rows, const std::uint16_t* order, std::size_t num_rows, std::size_t degree,
                             const BitsIn& x, std::size_t word, const Finish& finish) {
  std::size_t n = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr std::size_t R = HWY_MAX_BYTES / 8 / N;
  if constexpr (R > 1) {
    using V = hn::Vec<hn::CappedTag<std::uint64_t, N * R>>;
    const auto run = finish.template run<N, R, S, V>(degree);
    for (; n + R <= num_rows; n += R) {
      Place<N, R> place;
      place.word = word;
      for (std::size_t r = 0; r < R; ++r) place.rows[r] = rows.first_row + order[n + r];
      V slices[S];
      count_bits(group_loader<N, R, Stride>(rows, order + n, x, word), degree, slices);
      run(place, slices, degree);
    }
  }
#endif
  const hn::CappedTag<std::uint64_t, N> d;
  using V = hn::Vec<decltype(d)>;
  const auto run = finish.template run<N, 1, S, V>(degree);
  for (; n < num_rows; ++n) {
    const std::size_t r = order[n];
    V slices[S];
    count_bits(RowLoader<N, Stride>{d, rows.cols + rows.row_ptr[r], x.words + word, x.words_per_row}, degree, slices);
    run(Place<N, 1>{{rows.first_row + r}, word}, slices, degree);
  }
}

/// A row of more than longest_count neighbours, in pieces; the pieces' counts are added as slices of a wide counter.
template <std::size_t N, class Finish>
HWY_NOINLINE void count_long_row(const RowBlock& rows, std::size_t r, const BitsIn& x, std::size_t word,
                                 const Finish& finish) {
  const hn::CappedTag<std::uint64_t, N> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::size_t total_slices = 32;
  V total[total_slices];
  for (auto& slice : total) slice = hn::Zero(d);
  const EdgeOffset end = rows.row_ptr[r + 1];
  const auto degree = static_cast<std::size_t>(end - rows.row_ptr[r]);
  for (EdgeOffset begin = rows.row_ptr[r]; begin < end; begin += longest_count) {
    V slices[12];
    count_bits(RowLoader<N, 0>{d, rows.cols + begin, x.words + word, x.words_per_row},
               HWY_MIN(longest_count, static_cast<std::size_t>(end - begin)), slices);
    add_slices(total, slices);
  }
  finish.template run<N, 1, total_slices, V>(degree)(Place<N, 1>{{rows.first_row + r}, word}, total, degree);
}

template <std::size_t N, std::size_t Stride, class Finish>
void count_block(const RowBlock& rows, const DegreeOrder& sorted, const BitsIn& x, std::size_t word,
                 const Finish& finish) {
  const auto run = [&](auto slices, std::size_t first_degree, std::size_t end_degree) {
    for (std::size_t degree = first_degree; degree < end_degree; ++degree) {
      const std::size_t begin = sorted.start[degree];
      const std::size_t end = sorted.start[degree + 1];
      if (begin != end)
        count_rows<N, slices(), Stride>(rows, sorted.order + begin, end - begin, degree, x, word, finish);
    }
  };
  run(std::integral_constant<std::size_t, 3>{}, 1, 8);
  run(std::integral_constant<std::size_t, 4>{}, 8, 16);
  run(std::integral_constant<std::size_t, 5>{}, 16, 32);
  run(std::integral_constant<std::size_t, 6>{}, 32, 64);
  for (std::size_t n = sorted.start[sorted_degrees]; n < sorted.start[num_keys]; ++n) {
    const std::size_t r = sorted.order[n];
    const auto degree = static_cast<std::size_t>(rows.row_ptr[r + 1] - rows.row_ptr[r]);
    if (degree < 256) {
      count_rows<N, 8, Stride>(rows, sorted.order + n, 1, degree, x, word, finish);
    } else if (degree <= longest_count) {
      count_rows<N, 12, Stride>(rows, sorted.order + n, 1, degree, x, word, finish);
    } else {
      count_long_row<N>(rows, r, x, word, finish);
    }
  }
}

/// The words of a row in as wide vectors as there are, then narrower ones for the rest.
template <class Finish>
void count_words(const RowBlock& rows, const DegreeOrder& sorted, const BitsIn& x, const Finish& finish) {
  std::size_t word = 0;
  const auto blocks_of = [&](auto lanes) {
    constexpr std::size_t N = lanes();
    if constexpr (N * 8 <= HWY_MAX_BYTES) {
      if (Finish::wants_known_stride && x.words_per_row == N) {
        count_block<N, Finish::wants_known_stride ? N : 0>(rows, sorted, x, 0, finish);
        word = N;
      }
      for (; word + N <= x.words_per_row; word += N) count_block<N, 0>(rows, sorted, x, word, finish);
    }
  };
  blocks_of(std::integral_constant<std::size_t, 8>{});
  blocks_of(std::integral_constant<std::size_t, 4>{});
  blocks_of(std::integral_constant<std::size_t, 2>{});
  blocks_of(std::integral_constant<std::size_t, 1>{});
}

void vote_to_bits(const RowBlock& rows, const BitsIn& x, const BitsOut& out) {
  const DegreeOrder sorted(rows);
  count_words(rows, sorted, x, ToBits{out});
  const std::uint64_t last = x.ncols % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << (x.ncols % 64)) - 1;
  for (std::size_t n = 0; n < sorted.start[1]; ++n) {  // no neighbour: a tie, +1
    std::uint64_t* row = out.row(rows.first_row + sorted.order[n]);
    for (std::size_t word = 0; word < out.words_per_row; ++word) row[word] = ~std::uint64_t{0};
    if (out.words_per_row != 0) row[out.words_per_row - 1] &= last;
  }
}

template <class Out>
void vote_through_epilogue(const RowBlock& rows, const BitsIn& x, const Out& out, const SpmmEpilogue& epilogue) {
  const DegreeOrder sorted(rows);
  const ToEpilogue<Out> finish{out, epilogue, x.ncols};
  count_words(rows, sorted, x, finish);
  const hn::CappedTag<std::uint64_t, 1> d;
  const hn::Vec<decltype(d)> nothing[1] = {hn::Zero(d)};
  for (std::size_t n = 0; n < sorted.start[1]; ++n) {
    for (std::size_t word = 0; word < x.words_per_row; ++word) {
      finish.template run<1, 1, 1, hn::Vec<decltype(d)>>(0)(Place<1, 1>{{rows.first_row + sorted.order[n]}, word},
                                                            nothing, 0);
    }
  }
}

void vote_to_signs(const RowBlock& rows, const BitsIn& x, const BitsOut& out, const SpmmEpilogue& epilogue) {
  vote_through_epilogue(rows, x, out, epilogue);
}

void vote_to_floats(const RowBlock& rows, const BitsIn& x, const FloatOut& out, const SpmmEpilogue& epilogue) {
  vote_through_epilogue(rows, x, out, epilogue);
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

void vote_rows(const RowBlock& rows, const BitsIn& x, const BitsOut& out, const SpmmEpilogue& epilogue) {
  if (epilogue.is_identity()) {
    HWY_DYNAMIC_DISPATCH(vote_to_bits)(rows, x, out);
  } else {
    HWY_DYNAMIC_DISPATCH(vote_to_signs)(rows, x, out, epilogue);
  }
}

void vote_rows(const RowBlock& rows, const BitsIn& x, const FloatOut& out, const SpmmEpilogue& epilogue) {
  HWY_DYNAMIC_DISPATCH(vote_to_floats)(rows, x, out, epilogue);
}

}  // namespace bitgraph::spmm_cpu
#endif  // HWY_ONCE
