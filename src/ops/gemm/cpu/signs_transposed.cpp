// SPDX-License-Identifier: Apache-2.0
// Floats, transposed, times signs. Of four rows of floats all 16 sums with signs are made once, a few features wide; a
// column then adds the one that its four bits name: a fourth of the additions, and no multiplication (Arlazarov, Dinic,
// Kronrod and Faradzhev 1970). Bits are transposed a block of 64 rows and columns at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/cpu/signs_transposed.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "formats/bits/bit_transpose.hpp"
#include "ops/cpu_partial-inl.hpp"
#include "ops/gemm/gemm.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr std::size_t lanes = HWY_LANES(float);

constexpr std::size_t group_rows = 4;
constexpr std::size_t groups = 8;  ///< whose tables are there at a time: with two vectors of 64 bytes, 16 KiB
constexpr std::size_t choices = 16;
constexpr std::size_t most_words = 2;  ///< of columns

/// Bits of 64 rows, a word a column: of what is added, and of what is taken off.
struct ColumnBits {
  std::uint64_t plus[64 * most_words];
  std::uint64_t minus[64 * most_words];
};

HWY_INLINE void transpose_words(const std::uint64_t (&rows)[64], std::uint64_t* columns) {
  std::array<std::uint64_t, 64> block;
  for (std::size_t r = 0; r < 64; ++r) block[r] = rows[r];
  transpose_bits<64>(block);
  for (std::size_t c = 0; c < 64; ++c) columns[c] = block[c];
}

HWY_INLINE void take_bits(const SignGradientArgs& args, std::size_t first_row, std::size_t word, std::size_t at,
                          ColumnBits& bits) {
  std::uint64_t plus[64] = {};
  std::uint64_t minus[64] = {};
  const bool masked = args.keep.words != nullptr;
  const std::size_t rows = HWY_MIN(std::size_t{64}, args.g.nrows - first_row);
  for (std::size_t r = 0; r < rows; ++r) {
    const std::uint64_t signs = args.x.row(first_row + r)[word];
    const std::uint64_t kept = masked ? args.keep.row(first_row + r)[word] : ~std::uint64_t{0};
    plus[r] = signs & kept;
    minus[r] = ~signs & kept;
  }
  transpose_words(plus, bits.plus + 64 * at);
  if (masked) transpose_words(minus, bits.minus + 64 * at);
}

/// The sums of all choices of four rows, M vectors of features from `f` on. A row that is not chosen counts with the
/// other sign, or where kMasked not at all.
template <std::size_t M, bool kMasked>
HWY_INLINE void make_table(const SignGradientArgs& args, std::size_t first_row, std::size_t f,
                           float* HWY_RESTRICT table) {
  const DF d;
  for (std::size_t m = 0; m < M; ++m) {
    const std::size_t at = f + m * lanes;
    VF chosen[group_rows];
    VF other[group_rows];
    for (std::size_t r = 0; r < group_rows; ++r) {
      const std::size_t i = first_row + r;
      const bool exists = i < args.g.nrows && at < args.g.ncols;
      chosen[r] = exists ? load_first(d, args.g.row(i) + at, args.g.ncols - at) : hn::Zero(d);
      if (exists && args.row_scale != nullptr) chosen[r] = hn::Mul(hn::Set(d, args.row_scale[i]), chosen[r]);
      other[r] = kMasked ? hn::Zero(d) : hn::Neg(chosen[r]);
    }
    for (std::size_t low = 0; low < 4; ++low) {
      const VF two = hn::Add((low & 1U) != 0 ? chosen[0] : other[0], (low & 2U) != 0 ? chosen[1] : other[1]);
      const VF without = hn::Add(two, other[2]);
      const VF with = hn::Add(two, chosen[2]);
      float* const to = table + low * M * lanes + m * lanes;
      hn::Store(hn::Add(without, other[3]), d, to);
      hn::Store(hn::Add(with, other[3]), d, to + 4 * M * lanes);
      hn::Store(hn::Add(without, chosen[3]), d, to + 8 * M * lanes);
      hn::Store(hn::Add(with, chosen[3]), d, to + 12 * M * lanes);
    }
  }
}

/// Adds to the sums of `columns` columns what 32 rows give, from bit `shift` of their words on.
template <std::size_t M, bool kMasked>
HWY_INLINE void add_rows(const ColumnBits& bits, unsigned shift, std::size_t columns, const float* HWY_RESTRICT tables,
                         float* HWY_RESTRICT sums) {
  const DF d;
  for (std::size_t c = 0; c < columns; ++c) {
    float* const to = sums + c * M * lanes;
    VF sum[M];
    for (std::size_t m = 0; m < M; ++m) sum[m] = hn::Load(d, to + m * lanes);
    const auto plus = static_cast<std::uint32_t>(bits.plus[c] >> shift);
    const auto minus = kMasked ? static_cast<std::uint32_t>(bits.minus[c] >> shift) : 0U;
    for (std::size_t k = 0; k < groups; ++k) {
      const float* const table = tables + k * choices * M * lanes;
      const float* const more = table + (plus >> (4 * k) & 15U) * M * lanes;
      for (std::size_t m = 0; m < M; ++m) sum[m] = hn::Add(sum[m], hn::Load(d, more + m * lanes));
      if constexpr (kMasked) {
        const float* const less = table + (minus >> (4 * k) & 15U) * M * lanes;
        for (std::size_t m = 0; m < M; ++m) sum[m] = hn::Sub(sum[m], hn::Load(d, less + m * lanes));
      }
    }
    for (std::size_t m = 0; m < M; ++m) hn::Store(sum[m], d, to + m * lanes);
  }
}

/// Words begin .. begin + words of columns. `memory` has room for their sums, aligned: see sums_of_columns.
template <std::size_t M, bool kMasked>
void multiply_columns(const SignGradientArgs& args, std::size_t begin, std::size_t words, float* memory) {
  constexpr std::size_t features = M * lanes;
  HWY_ALIGN float tables[groups * choices * features];
  const std::size_t first_column = begin * 64;
  const std::size_t columns = HWY_MIN(words * 64, args.x.ncols - first_column);
  const std::size_t blocks = (args.g.ncols + features - 1) / features;
  for (std::size_t n = 0; n < blocks * columns * features; ++n) memory[n] = 0;
  ColumnBits bits;
  for (std::size_t row = 0; row < args.g.nrows; row += 64) {
    for (std::size_t word = 0; word < words; ++word) take_bits(args, row, begin + word, word, bits);
    for (std::size_t block = 0; block < blocks; ++block) {
      for (std::size_t half = row; half < HWY_MIN(row + 64, args.g.nrows); half += groups * group_rows) {
        for (std::size_t k = 0; k < groups; ++k) {
          make_table<M, kMasked>(args, half + k * group_rows, block * features, tables + k * choices * features);
        }
        add_rows<M, kMasked>(bits, static_cast<unsigned>(half - row), columns, tables,
                             memory + block * columns * features);
      }
    }
  }
  for (std::size_t f = 0; f < args.g.ncols; ++f) {
    const float* const from = memory + f / features * columns * features + f % features;
    float* const to = args.out.row(f) + first_column;
    for (std::size_t c = 0; c < columns; ++c) to[c] = from[c * features];
  }
}

void multiply_words(const SignGradientArgs& args, std::size_t begin, std::size_t words, float* memory) {
  const bool narrow = args.g.ncols <= lanes;
  if (args.keep.words != nullptr) {
    narrow ? multiply_columns<1, true>(args, begin, words, memory)
           : multiply_columns<2, true>(args, begin, words, memory);
  } else {
    narrow ? multiply_columns<1, false>(args, begin, words, memory)
           : multiply_columns<2, false>(args, begin, words, memory);
  }
}

/// Features are summed in whole vectors, two at a time.
std::size_t padded_features(std::size_t features) { return (features + 2 * lanes - 1) / (2 * lanes) * 2 * lanes; }

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <bitgraph/core/buffer.hpp>

#include "core/threads/parallel.hpp"

namespace bitgraph {

namespace {
HWY_EXPORT(multiply_words);
HWY_EXPORT(padded_features);

/// Floats of a thread's own, kept for its next call.
float* floats_of_thread(std::size_t count) {
  thread_local Buffer<float> floats;
  if (floats.size() < count) floats = Buffer<float>(count);
  return floats.data();
}
}  // namespace

void sign_gradient(const Cpu& backend, const SignGradientArgs& args) {
  constexpr std::size_t columns_for_two_words = 512;
  const std::size_t words = (args.x.ncols + 63) / 64;
  const std::size_t at_a_time = args.x.ncols < columns_for_two_words ? 1 : 2;
  const std::size_t room = at_a_time * 64 * HWY_DYNAMIC_DISPATCH(padded_features)(args.g.ncols);
  parallel_chunks(backend.device, words, at_a_time, [&](Range range) {
    float* const memory = floats_of_thread(room);
    for (std::size_t first = range.begin; first < range.end; first += at_a_time) {
      const std::size_t count = std::min(at_a_time, range.end - first);
      HWY_DYNAMIC_DISPATCH(multiply_words)(args, first, count, memory);
    }
  });
}

}  // namespace bitgraph
#endif  // HWY_ONCE
