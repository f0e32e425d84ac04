// SPDX-License-Identifier: Apache-2.0
// Binary gemm: d - 2 popcount(x xor w). A vector holds the same word of as many outputs as it has lanes, so a word of x
// is broadcast and nothing is summed across lanes. The outputs' words are brought into that order block by block, on
// the stack.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/cpu_partial-inl.hpp"
#include "ops/gemm/gemm.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<std::uint64_t>;
using V = hn::Vec<D>;
using DF = hn::Rebind<float, D>;
using DI = hn::Rebind<std::int32_t, D>;
using DU = hn::Rebind<std::uint32_t, D>;
constexpr std::size_t lanes = HWY_LANES(std::uint64_t);

/// Words of x handled in one go; longer rows are added piece by piece.
constexpr std::size_t block_words = 512;

/// Rows handled together, sharing the loads of w.
constexpr std::size_t block_rows = 4;

/// Words begin .. begin + count of outputs first .. first + lanes, word by word; missing outputs are zero.
template <class Args>
void pack_outputs(const Args& args, std::size_t first, std::size_t begin, std::size_t count, std::uint64_t* packed) {
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::uint64_t* from = first + lane < args.w.nrows ? args.w.row(first + lane) + begin : nullptr;
    for (std::size_t word = 0; word < count; ++word) packed[word * lanes + lane] = from == nullptr ? 0 : from[word];
  }
}

/// Adds the popcounts of x xor w over `count` words of R rows.
template <std::size_t R, bool kMasked>
HWY_INLINE void add_differences(const std::uint64_t* const* rows, const std::uint64_t* const* masks,
                                const std::uint64_t* HWY_RESTRICT packed, std::size_t count, V (&sums)[R]) {
  const D d;
  for (std::size_t word = 0; word < count; ++word) {
    const V w = hn::Load(d, packed + word * lanes);
    for (std::size_t r = 0; r < R; ++r) {
      V different = hn::Xor(w, hn::Set(d, rows[r][word]));
      if constexpr (kMasked) different = hn::And(different, hn::Set(d, masks[r][word]));
      sums[r] = hn::Add(sums[r], hn::PopulationCount(different));
    }
  }
}

/// y of one row and `lanes` outputs; the scales behind the last output are not read.
template <class Args>
HWY_INLINE hn::Vec<DF> finish(const Args& args, std::size_t i, std::size_t first, std::size_t terms, V differences) {
  const DF df;
  const DI di;
  const auto count = hn::BitCast(di, hn::TruncateTo(DU(), differences));
  const auto bits = hn::Set(di, static_cast<std::int32_t>(terms));
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
  std::uint64_t bits = bytes[0];
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
HWY_INLINE void multiply_rows(const Args& args, std::size_t i, std::size_t first, const std::uint64_t* packed) {
  const D d;
  const std::uint64_t* rows[R];
  const std::uint64_t* masks[R];
  V sums[R];
  for (std::size_t r = 0; r < R; ++r) {
    rows[r] = args.x.row(i + r);
    masks[r] = kMasked ? args.keep.row(i + r) : nullptr;
    sums[r] = hn::Zero(d);
  }
  add_differences<R, kMasked>(rows, masks, packed, args.x.words_per_row, sums);
  for (std::size_t r = 0; r < R; ++r) {
    store(args, i + r, first, finish(args, i + r, first, terms_of(args, i + r), sums[r]));
  }
}

/// Rows too long for the packed block: piece by piece, row by row.
template <bool kMasked, class Args>
HWY_NOINLINE void multiply_long_rows(const Args& args, std::size_t begin, std::size_t end, std::size_t first,
                                     std::uint64_t* packed) {
  for (std::size_t i = begin; i < end; ++i) {
    V sums[1] = {hn::Zero(D())};
    for (std::size_t word = 0; word < args.x.words_per_row; word += block_words) {
      const std::size_t count = HWY_MIN(block_words, args.x.words_per_row - word);
      pack_outputs(args, first, word, count, packed);
      const std::uint64_t* row[1] = {args.x.row(i) + word};
      const std::uint64_t* mask[1] = {kMasked ? args.keep.row(i) + word : nullptr};
      add_differences<1, kMasked>(row, mask, packed, count, sums);
    }
    store(args, i, first, finish(args, i, first, terms_of(args, i), sums[0]));
  }
}

template <bool kMasked, class Args>
HWY_INLINE void multiply(const Args& args, std::size_t begin, std::size_t end) {
  HWY_ALIGN std::uint64_t packed[block_words * lanes];
  for (std::size_t first = 0; first < args.w.nrows; first += lanes) {
    if (args.x.words_per_row > block_words) {
      multiply_long_rows<kMasked>(args, begin, end, first, packed);
      continue;
    }
    pack_outputs(args, first, 0, args.x.words_per_row, packed);
    std::size_t i = begin;
    for (; i + block_rows <= end; i += block_rows) multiply_rows<block_rows, kMasked>(args, i, first, packed);
    for (; i < end; ++i) multiply_rows<1, kMasked>(args, i, first, packed);
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
#include "core/parallel.hpp"

namespace bitgraph {

namespace {
HWY_EXPORT(multiply_to_bits);
HWY_EXPORT(multiply_to_floats);

constexpr std::size_t grain = 64;
}  // namespace

void gemm(const Cpu& backend, const GemmToBits& args) {
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
