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

/// Longest run of neighbours that the widest counters (12 slices) hold.
constexpr std::size_t longest_count = 4095;

/// The rows of a block by degree: rows of degree d < sorted_degrees are order[start[d]] .. order[start[d + 1]], longer
/// ones come last.
struct DegreeOrder {
  std::uint16_t order[max_block_rows];
  std::uint32_t start[sorted_degrees + 2];

  explicit DegreeOrder(const RowBlock& rows) {
    for (auto& s : start) s = 0;
    for (std::size_t r = 0; r < rows.count; ++r) ++start[key(rows, r) + 1];
    for (std::size_t d = 0; d <= sorted_degrees; ++d) start[d + 1] += start[d];
    std::uint32_t next[sorted_degrees + 1];
    for (std::size_t d = 0; d <= sorted_degrees; ++d) next[d] = start[d];
    for (std::size_t r = 0; r < rows.count; ++r) order[next[key(rows, r)]++] = static_cast<std::uint16_t>(r);
  }

  static std::size_t key(const RowBlock& rows, std::size_t r) {
    const EdgeOffset degree = rows.row_ptr[r + 1] - rows.row_ptr[r];
    return degree < sorted_degrees ? static_cast<std::size_t>(degree) : sorted_degrees;
  }
};

/// What to do with the counts of one row: N words starting at word `word`.
struct ToBits {
  const BitsOut& out;

  template <std::size_t S, class V>
  HWY_INLINE void operator()(std::size_t row, std::size_t word, const V (&slices)[S], std::size_t degree) const {
    const hn::DFromV<V> d;
    hn::StoreU(at_least(slices, (degree + 1) / 2), d, out.row(row) + word);
  }
};

/// Counts to floats, 2 count - degree, through the epilogue, to floats or signs.
template <class Out>
struct ToEpilogue {
  const Out& out;
  const SpmmEpilogue& epilogue;
  std::size_t ncols;

  template <std::size_t S, class V>
  HWY_INLINE void operator()(std::size_t row, std::size_t word, const V (&slices)[S], std::size_t degree) const {
    const hn::DFromV<V> d;
    HWY_ALIGN std::uint64_t words[S][HWY_MAX_BYTES / 8];
    for (std::size_t k = 0; k < S; ++k) hn::Store(slices[k], d, words[k]);
    for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane) {
      std::uint64_t column[S];
      for (std::size_t k = 0; k < S; ++k) column[k] = words[k][lane];
      expand_word(out, epilogue, row, (word + lane) * 64, ncols,
                  [&](auto df, std::size_t bit) HWY_ATTR { return votes(df, column, bit, degree); });
    }
  }
};

template <std::size_t N, std::size_t S, class Finish>
HWY_NOINLINE void count_rows(const RowBlock& rows, const std::uint16_t* order, std::size_t num_rows, const BitsIn& x,
                             std::size_t word, const Finish& finish) {
  const hn::CappedTag<std::uint64_t, N> d;
  using V = hn::Vec<decltype(d)>;
  const std::uint64_t* words = x.words + word;
  for (std::size_t n = 0; n < num_rows; ++n) {
    const std::size_t r = order[n];
    const EdgeOffset begin = rows.row_ptr[r];
    const auto degree = static_cast<std::size_t>(rows.row_ptr[r + 1] - begin);
    V slices[S];
    count_bits(d, rows.cols + begin, degree, words, x.words_per_row, slices);
    finish(rows.first_row + r, word, slices, degree);
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
  for (EdgeOffset begin = rows.row_ptr[r]; begin < end; begin += longest_count) {
    const std::size_t piece = HWY_MIN(longest_count, static_cast<std::size_t>(end - begin));
    V slices[12];
    count_bits(d, rows.cols + begin, piece, x.words + word, x.words_per_row, slices);
    add_slices(total, slices);
  }
  finish(rows.first_row + r, word, total, static_cast<std::size_t>(end - rows.row_ptr[r]));
}

template <std::size_t N, class Finish>
void count_block(const RowBlock& rows, const DegreeOrder& sorted, const BitsIn& x, std::size_t word,
                 const Finish& finish) {
  const auto run = [&](auto slices, std::size_t first_degree, std::size_t end_degree) {
    const std::size_t begin = sorted.start[first_degree];
    const std::size_t end = sorted.start[end_degree];
    if (begin != end) count_rows<N, slices()>(rows, sorted.order + begin, end - begin, x, word, finish);
  };
  run(std::integral_constant<std::size_t, 3>{}, 1, 8);
  run(std::integral_constant<std::size_t, 4>{}, 8, 16);
  run(std::integral_constant<std::size_t, 5>{}, 16, 32);
  run(std::integral_constant<std::size_t, 6>{}, 32, 64);
  for (std::size_t n = sorted.start[sorted_degrees]; n < sorted.start[sorted_degrees + 1]; ++n) {
    const std::size_t r = sorted.order[n];
    const EdgeOffset degree = rows.row_ptr[r + 1] - rows.row_ptr[r];
    if (degree < 256) {
      count_rows<N, 8>(rows, sorted.order + n, 1, x, word, finish);
    } else if (degree <= longest_count) {
      count_rows<N, 12>(rows, sorted.order + n, 1, x, word, finish);
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
      for (; word + N <= x.words_per_row; word += N) count_block<N>(rows, sorted, x, word, finish);
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
    for (std::size_t word = 0; word < x.words_per_row; ++word)
      finish(rows.first_row + sorted.order[n], word, nothing, 0);
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
