// SPDX-License-Identifier: Apache-2.0
// Binary gemm: d - 2 popcount(x xor w). A vector holds the same word of as many outputs as it has lanes, so a word of x
// is broadcast and nothing is summed across lanes. The outputs' words are brought into that order on the stack, as many
// outputs at a time as fit, and a block of rows goes through all of them while it is near.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/cpu/dispatch.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "ops/cpu_partial-inl.hpp"
#include "ops/gemm/gemm.hpp"
#include "ops/gemm/tuning.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Words of 32 bits where one instruction counts their ones: the counts are then as wide as floats.
using Word = std::conditional_t<HWY_TARGET == HWY_AVX3_DL, std::uint32_t, std::uint64_t>;
constexpr std::size_t word_bits = 8 * sizeof(Word);
using D = hn::ScalableTag<Word>;
using V = hn::Vec<D>;
using DF = hn::Rebind<float, D>;
using DI = hn::Rebind<std::int32_t, D>;
constexpr std::size_t lanes = HWY_LANES(Word);

/// Vectors of packed words on the stack: 32 KiB with vectors of 64 bytes. Longer rows are added piece by piece.
constexpr std::size_t packed_vectors = cpu_gemm_tuning().packed_vectors;

/// Rows handled together, sharing the loads of w, and rows that all outputs on the stack are taken for.
constexpr std::size_t group_rows = sizeof(Word) == 4 ? 8 : 4;
constexpr std::size_t block_rows = cpu_gemm_tuning().block_rows;

HWY_INLINE Word load_word(const std::uint64_t* row, std::size_t word) {
  Word value;
  hwy::CopyBytes<sizeof(Word)>(reinterpret_cast<const std::uint8_t*>(row) + word * sizeof(Word), &value);
  return value;
}

/// The words that hold columns.
template <class Args>
HWY_INLINE std::size_t words_of(const Args& args) {
  return (args.x.ncols + word_bits - 1) / word_bits;
}

/// Words begin .. begin + count of outputs first .. first + lanes, word by word; missing outputs are zero.
template <class Args>
void pack_outputs(const Args& args, std::size_t first, std::size_t begin, std::size_t count, Word* packed) {
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::uint64_t* from = first + lane < args.w.nrows ? args.w.row(first + lane) : nullptr;
    for (std::size_t word = 0; word < count; ++word)
      packed[word * lanes + lane] = from == nullptr ? 0 : load_word(from, begin + word);
  }
}

/// Adds the popcounts of x xor w over `count` words from `begin` on, of R rows.
template <std::size_t R, bool kMasked>
HWY_INLINE void add_differences(const std::uint64_t* const* rows, const std::uint64_t* const* masks, std::size_t begin,
                                const Word* HWY_RESTRICT packed, std::size_t count, V (&sums)[R]) {
  const D d;
  for (std::size_t word = 0; word < count; ++word) {
    const V w = hn::Load(d, packed + word * lanes);
    for (std::size_t r = 0; r < R; ++r) {
      V different = hn::Xor(w, hn::Set(d, load_word(rows[r], begin + word)));
      if constexpr (kMasked) different = hn::And(different, hn::Set(d, load_word(masks[r], begin + word)));
      sums[r] = hn::Add(sums[r], hn::PopulationCount(different));
    }
  }
}

template <class Counts>
HWY_INLINE hn::Vec<DI> narrowed(Counts counts) {
  if constexpr (sizeof(Word) == 4) {
    return hn::BitCast(DI(), counts);
  } else {
    return hn::BitCast(DI(), hn::TruncateTo(hn::Rebind<std::uint32_t, hn::DFromV<Counts>>(), counts));
  }
}

/// y of one row and `lanes` outputs; the scales behind the last output are not read.
template <class Args>
HWY_INLINE hn::Vec<DF> finish(const Args& args, std::size_t i, std::size_t first, std::size_t terms, V differences) {
  const DF df;
  const auto count = narrowed(differences);
  const auto bits = hn::Set(DI(), static_cast<std::int32_t>(terms));
  auto y = hn::ConvertTo(df, hn::Sub(bits, hn::Add(count, count)));
  const std::size_t outputs = args.w.nrows - first;
  if (args.col_scale != nullptr) y = hn::Mul(y, load_first(df, args.col_scale + first, outputs));
  if (args.row_scale != nullptr) y = hn::Mul(y, hn::Set(df, args.row_scale[i]));
  if (args.bias != nullptr) y = hn::Add(y, load_first(df, args.bias + first, outputs));
  return y;
}

HWY_INLINE void store(const GemmToFloats& args, std::size_t i, std::size_t first, hn::Vec<DF> y) {
  store_first(DF(), y, args.out.row(i) + first, args.w.nrows - first);
}

HWY_INLINE void store(const GemmToBits& args, std::size_t i, std::size_t first, hn::Vec<DF> y) {
  const DF df;
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(df, hn::Ge(y, hn::Zero(df)), bytes);
  std::uint64_t bits = std::uint64_t{bytes[0]} | (std::uint64_t{bytes[1]} << 8U);
  if (first + lanes > args.w.nrows) bits &= (std::uint64_t{1} << (args.w.nrows - first)) - 1;
  std::uint64_t& word = args.out.row(i)[first / 64];
  word = first % 64 == 0 ? bits : word | (bits << (first % 64));
}

/// Elements of row i of x that count.
template <class Args>
HWY_INLINE std::size_t terms_of(const Args& args, std::size_t i) {
  if (args.keep.words == nullptr) return args.x.ncols;
  std::size_t terms = 0;
  for (std::size_t word = 0; word < args.keep.words_per_row; ++word) terms += hwy::PopCount(args.keep.row(i)[word]);
  return terms;
}

template <std::size_t R, bool kMasked, class Args>
HWY_INLINE void multiply_rows(const Args& args, std::size_t i, std::size_t first, const Word* packed) {
  const D d;
  const std::uint64_t* rows[R];
  const std::uint64_t* masks[R];
  V sums[R];
  for (std::size_t r = 0; r < R; ++r) {
    rows[r] = args.x.row(i + r);
    masks[r] = kMasked ? args.keep.row(i + r) : nullptr;
    sums[r] = hn::Zero(d);
  }
  add_differences<R, kMasked>(rows, masks, 0, packed, words_of(args), sums);
  for (std::size_t r = 0; r < R; ++r) {
    store(args, i + r, first, finish(args, i + r, first, terms_of(args, i + r), sums[r]));
  }
}

/// Rows too long for the stack: piece by piece, row by row.
template <bool kMasked, class Args>
HWY_NOINLINE void multiply_long_rows(const Args& args, std::size_t begin, std::size_t end, std::size_t first,
                                     Word* packed) {
  for (std::size_t i = begin; i < end; ++i) {
    V sums[1] = {hn::Zero(D())};
    for (std::size_t word = 0; word < words_of(args); word += packed_vectors) {
      const std::size_t count = HWY_MIN(packed_vectors, words_of(args) - word);
      pack_outputs(args, first, word, count, packed);
      const std::uint64_t* row[1] = {args.x.row(i)};
      const std::uint64_t* mask[1] = {kMasked ? args.keep.row(i) : nullptr};
      add_differences<1, kMasked>(row, mask, word, packed, count, sums);
    }
    store(args, i, first, finish(args, i, first, terms_of(args, i), sums[0]));
  }
}

/// Rows begin .. end and the outputs whose words are packed.
template <bool kMasked, class Args>
HWY_NOINLINE void multiply_packed(const Args& args, std::size_t begin, std::size_t end, std::size_t first,
                                  std::size_t end_output, const Word* packed) {
  for (std::size_t block = begin; block < end; block += block_rows) {
    const std::size_t block_end = HWY_MIN(end, block + block_rows);
    const Word* from = packed;
    for (std::size_t f = first; f < end_output; f += lanes) {
      std::size_t i = block;
      for (; i + group_rows <= block_end; i += group_rows) multiply_rows<group_rows, kMasked>(args, i, f, from);
      for (; i < block_end; ++i) multiply_rows<1, kMasked>(args, i, f, from);
      from += words_of(args) * lanes;
    }
  }
}

template <bool kMasked, class Args>
HWY_INLINE void multiply(const Args& args, std::size_t begin, std::size_t end) {
  HWY_ALIGN Word packed[packed_vectors * lanes];
  const std::size_t words = HWY_MAX(words_of(args), std::size_t{1});
  const std::size_t outputs = packed_vectors / words * lanes;  // that fit
  if (outputs == 0) {
    for (std::size_t first = 0; first < args.w.nrows; first += lanes)
      multiply_long_rows<kMasked>(args, begin, end, first, packed);
    return;
  }
  for (std::size_t first = 0; first < args.w.nrows; first += outputs) {
    const std::size_t end_output = HWY_MIN(args.w.nrows, first + outputs);
    for (std::size_t f = first; f < end_output; f += lanes)
      pack_outputs(args, f, 0, words_of(args), packed + (f - first) * words);
    multiply_packed<kMasked>(args, begin, end, first, end_output, packed);
  }
}

template <class Args>
HWY_INLINE void multiply_either(const Args& args, std::size_t begin, std::size_t end) {
  if (args.keep.words == nullptr) {
    multiply<false>(args, begin, end);
  } else {
    multiply<true>(args, begin, end);
  }
}

void multiply_to_bits(const GemmToBits& args, std::size_t begin, std::size_t end) { multiply_either(args, begin, end); }
void multiply_to_floats(const GemmToFloats& args, std::size_t begin, std::size_t end) {
  multiply_either(args, begin, end);
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/threads/parallel.hpp"
#include "ops/gemm/cpu/amx.hpp"

namespace bitgraph {

namespace {
HWY_EXPORT(multiply_to_bits);
HWY_EXPORT(multiply_to_floats);

constexpr std::size_t grain = 64;
}  // namespace

void gemm(const Cpu& backend, const GemmToBits& args) {
  if (gemm_cpu::plan(gemm_cpu::problem_of(args)) == gemm_cpu::Kernel::bits_by_tiles) {
    return gemm_by_tiles(backend, args);
  }
  parallel_ranges(backend.device, args.x.nrows, grain, [&](Range rows) {
    HWY_DYNAMIC_DISPATCH(multiply_to_bits)(args, rows.begin, rows.end);
  });
}

void gemm(const Cpu& backend, const GemmToFloats& args) {
  parallel_ranges(backend.device, args.x.nrows, grain, [&](Range rows) {
    HWY_DYNAMIC_DISPATCH(multiply_to_floats)(args, rows.begin, rows.end);
  });
}

}  // namespace bitgraph
#endif  // HWY_ONCE
