// SPDX-License-Identifier: Apache-2.0
// Aggregation of bits as a vote. The bits of a row's neighbours are added, all columns of a word at once, into counters
// held in bit slices (slice k has bit k of every column's count): a full adder over words costs two three-input logic
// instructions, so a neighbour costs about two instructions a vector whatever the number of columns in it. The
// comparison with half the degree is done on the slices too. Nothing is unpacked or transposed.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/spmm/cpu/vote.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/spmm/cpu/kernels.hpp"
#include "ops/spmm/cpu/vote-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using spmm_cpu::max_block_rows;
using spmm_cpu::RowBlock;
using spmm_cpu::Sink;

/// Degrees below this are sorted exactly, so that rows of one degree follow one another and no branch is mispredicted.
constexpr std::size_t sorted_degrees = cpu_spmm_tuning().sorted_degrees;

/// Longer rows are sorted by what is left of their degree after blocks of `tails`: their last neighbours take one path.
constexpr std::size_t tails = cpu_spmm_tuning().sorted_tails;
constexpr std::size_t num_keys = sorted_degrees + tails;

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

/// The same neighbour of R rows side by side.
template <std::size_t N, std::size_t R, std::size_t Stride>
struct GroupLoader {
  const NodeId* cols[R];
  const std::uint64_t* HWY_RESTRICT words;
  std::size_t stride;

  HWY_INLINE GroupLoader(const RowBlock& rows, const std::uint16_t* order, const BitsIn& x, std::size_t word)
      : words(x.words + word), stride(x.words_per_row) {
    for (std::size_t r = 0; r < R; ++r) cols[r] = rows.cols + rows.row_ptr[order[r]];
  }
  HWY_INLINE auto operator()(std::size_t e) const {
    return load_rows<N, R>([&](std::size_t r)
                               HWY_ATTR { return words + std::size_t{cols[r][e]} * (Stride == 0 ? stride : Stride); });
  }
};

/// Rows of one degree below 2^S, in groups that fill a vector, then one by one.
template <std::size_t N, std::size_t S, std::size_t Stride, class Finish>
HWY_NOINLINE void count_rows(const RowBlock& rows, const std::uint16_t* order, std::size_t num_rows, std::size_t degree,
                             const BitsIn& x, std::size_t word, const Finish& finish) {
  std::size_t n = 0;
  constexpr std::size_t R = rows_in_vector<N>;
  if constexpr (R > 1) {
    using V = hn::Vec<Lanes<N, R>>;
    const auto run = finish.template run<N, R, S, V>(degree);
    for (; n + R <= num_rows; n += R) {
      Place<N, R> place;
      place.word = word;
      for (std::size_t r = 0; r < R; ++r) {
        place.rows[r] = rows.first_row + order[n + r];
        place.degrees[r] = degree;
      }
      V slices[S];
      count_bits(GroupLoader<N, R, Stride>(rows, order + n, x, word), degree, slices);
      run(place, slices);
    }
  }
  using V = hn::Vec<Lanes<N, 1>>;
  const auto run = finish.template run<N, 1, S, V>(degree);
  for (; n < num_rows; ++n) {
    V slices[S];
    count_bits(GroupLoader<N, 1, Stride>(rows, order + n, x, word), degree, slices);
    run(Place<N, 1>{{rows.first_row + order[n]}, {degree}, word}, slices);
  }
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
    } else {
      count_long_row<N>(rows.first_row + r, rows.cols + rows.row_ptr[r], degree, x, word, finish);
    }
  }
}

template <class Finish>
void vote(const RowBlock& rows, const BitsIn& x, const Finish& finish) {
  const DegreeOrder sorted(rows);
  for_each_word_block<Finish::wants_known_stride>(x.words_per_row, [&](auto n, auto stride, std::size_t word) {
    count_block<n(), stride()>(rows, sorted, x, word, finish);
  });
  for (std::size_t n = 0; n < sorted.start[1]; ++n) finish.finish_empty(rows.first_row + sorted.order[n]);
}

void vote_to(const RowBlock& rows, const BitsIn& x, const Sink& sink) {
  with_finish(sink, x.ncols, [&](const auto& finish) { vote(rows, x, finish); });
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bitgraph::spmm_cpu {
namespace {
HWY_EXPORT(vote_to);
}  // namespace

void vote_rows(const RowBlock& rows, const BitsIn& x, const Sink& sink) {
  HWY_DYNAMIC_DISPATCH(vote_to)(rows, x, sink);
}

}  // namespace bitgraph::spmm_cpu
#endif  // HWY_ONCE
