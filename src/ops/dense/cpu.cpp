// SPDX-License-Identifier: Apache-2.0
// Transposes in blocks that stay in registers; bits as signs by a shift into the place of the sign; sums in double.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dense/cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/cpu_partial-inl.hpp"
#include "ops/dense/dense.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// A block of four rows and columns, where a vector of four is there.
HWY_INLINE void transpose_block(const TransposeArgs& args, std::size_t i, std::size_t j) {
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t c = 0; c < 4; ++c) args.out(j + c, i + r) = args.x(i + r, j + c);
  }
#else
  const hn::CappedTag<float, 4> d;
  const hn::Repartition<double, decltype(d)> pairs;
  const auto a = hn::LoadU(d, args.x.row(i) + j);
  const auto b = hn::LoadU(d, args.x.row(i + 1) + j);
  const auto c = hn::LoadU(d, args.x.row(i + 2) + j);
  const auto e = hn::LoadU(d, args.x.row(i + 3) + j);
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
  const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
  const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ce_low)), d, args.out.row(j) + i);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ce_low)), d, args.out.row(j + 1) + i);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high)), d, args.out.row(j + 2) + i);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high)), d, args.out.row(j + 3) + i);
#endif
}

/// Columns begin .. end of x: rows of the output.
void transpose_columns(const TransposeArgs& args, std::size_t begin, std::size_t end) {
  const std::size_t whole_rows = args.x.nrows / 4 * 4;
  std::size_t j = begin;
  for (; j + 4 <= end; j += 4) {
    for (std::size_t i = 0; i < whole_rows; i += 4) transpose_block(args, i, j);
    for (std::size_t c = j; c < j + 4; ++c) {
      for (std::size_t i = whole_rows; i < args.x.nrows; ++i) args.out(c, i) = args.x(i, c);
    }
  }
  for (; j < end; ++j) {
    for (std::size_t i = 0; i < args.x.nrows; ++i) args.out(j, i) = args.x(i, j);
  }
}

using DF = hn::ScalableTag<float>;
using DI = hn::RebindToUnsigned<DF>;
constexpr std::size_t lanes = HWY_LANES(float);

/// Words of 32 columns, begin .. end of them: of so many rows of x as a vector has lanes at a time.
void expand_columns(const ExpandTransposedArgs& args, std::size_t begin, std::size_t end) {
  const DF d;
  const DI di;
  const auto sign = hn::Set(di, 0x80000000U);
  for (std::size_t word = begin; word < end; ++word) {
    const std::size_t columns = HWY_MIN(std::size_t{32}, args.x.ncols - word * 32);
    for (std::size_t i = 0; i < args.x.nrows; i += lanes) {
      const std::size_t rows = HWY_MIN(lanes, args.x.nrows - i);
      HWY_ALIGN std::uint32_t words[lanes] = {};
      for (std::size_t r = 0; r < rows; ++r)
        words[r] = static_cast<std::uint32_t>(args.x.row(i + r)[word / 2] >> (word % 2 * 32));
      auto bits = hn::Not(hn::Load(di, words));  // a bit that is not set makes a sign
      const auto scale = hn::BitCast(di, load_first(d, args.scale + i, rows));
      for (std::size_t n = 0; n < columns; ++n) {
        const auto negative = hn::And(hn::ShiftLeft<31>(bits), sign);
        store_first(d, hn::BitCast(d, hn::Xor(scale, negative)), args.out.row(word * 32 + n) + i, rows);
        bits = hn::ShiftRight<1>(bits);
      }
    }
  }
}

using DD = hn::CappedTag<double, interleaved_sums>;
using HalfF = hn::Rebind<float, DD>;
constexpr std::size_t double_lanes = HWY_MIN(HWY_LANES(double), interleaved_sums);
constexpr std::size_t vectors = interleaved_sums / double_lanes;

void add_signed(const SignedSumsArgs& args, std::size_t begin, std::size_t end) {
  const DD d;
  const HalfF df;
  const std::size_t whole = args.x.ncols / interleaved_sums * interleaved_sums;
  for (std::size_t i = begin; i < end; ++i) {
    const std::uint64_t* const bits = args.x.row(i);
    hn::Vec<DD> sums[vectors];
    for (auto& sum : sums) sum = hn::Zero(d);
    for (std::size_t j = 0; j < whole; j += interleaved_sums) {
      for (std::size_t v = 0; v < vectors; ++v) {
        const std::size_t at = j + v * double_lanes;
        const auto values = hn::PromoteTo(d, hn::LoadU(df, args.values + at));
        const std::uint64_t word = bits[at / 64] >> (at % 64);
        const auto mask = hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&word));
        sums[v] = hn::Add(sums[v], hn::IfThenElse(mask, values, hn::Neg(values)));
      }
    }
    double total[interleaved_sums];
    for (std::size_t v = 0; v < vectors; ++v) hn::StoreU(sums[v], d, total + v * double_lanes);
    for (std::size_t j = whole; j < args.x.ncols; ++j) {
      const double value = args.values[j];
      total[j % interleaved_sums] += args.x.bit(i, j) ? value : -value;
    }
    for (std::size_t half = interleaved_sums / 2; half != 0; half /= 2) {
      for (std::size_t n = 0; n < half; ++n) total[n] += total[n + half];
    }
    args.out[i] = total[0];
  }
}

/// M vectors of columns from `first` on.
template <std::size_t M>
HWY_INLINE void add_columns(double* sums, const DenseView<const float>& x, std::size_t begin, std::size_t end,
                            std::size_t first) {
  const DD d;
  hn::Vec<DD> sum[M];
  for (std::size_t m = 0; m < M; ++m) sum[m] = hn::LoadU(d, sums + first + m * double_lanes);
  for (std::size_t i = begin; i < end; ++i) {
    const float* const row = x.row(i) + first;
    for (std::size_t m = 0; m < M; ++m)
      sum[m] = hn::Add(sum[m], hn::PromoteTo(d, hn::LoadU(HalfF(), row + m * double_lanes)));
  }
  for (std::size_t m = 0; m < M; ++m) hn::StoreU(sum[m], d, sums + first + m * double_lanes);
}

void add_row_range(double* sums, const DenseView<const float>& x, std::size_t begin, std::size_t end) {
  std::size_t f = 0;
  for (; f + 8 * double_lanes <= x.ncols; f += 8 * double_lanes) add_columns<8>(sums, x, begin, end, f);
  for (; f + double_lanes <= x.ncols; f += double_lanes) add_columns<1>(sums, x, begin, end, f);
  if (f == x.ncols) return;
  for (std::size_t i = begin; i < end; ++i) {
    for (std::size_t c = f; c < x.ncols; ++c) sums[c] += static_cast<double>(x(i, c));
  }
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/threads/parallel.hpp"

namespace bitgraph {

namespace {
HWY_EXPORT(transpose_columns);
HWY_EXPORT(expand_columns);
HWY_EXPORT(add_signed);
HWY_EXPORT(add_row_range);
}  // namespace

void transpose(const Cpu& backend, const TransposeArgs& args) {
  parallel_ranges(backend.device, args.x.ncols, 256, [&](Range columns) {
    HWY_DYNAMIC_DISPATCH(transpose_columns)(args, columns.begin, columns.end);
  });
}

void expand_transposed(const Cpu& backend, const ExpandTransposedArgs& args) {
  parallel_ranges(backend.device, (args.x.ncols + 31) / 32, 8, [&](Range words) {
    HWY_DYNAMIC_DISPATCH(expand_columns)(args, words.begin, words.end);
  });
}

void signed_sums(const Cpu& backend, const SignedSumsArgs& args) {
  parallel_ranges(backend.device, args.x.nrows, 32, [&](Range rows) {
    HWY_DYNAMIC_DISPATCH(add_signed)(args, rows.begin, rows.end);
  });
}

void add_rows(const Cpu&, double* sums, DenseView<const float> x, std::size_t begin, std::size_t end) {
  HWY_DYNAMIC_DISPATCH(add_row_range)(sums, x, begin, end);
}

}  // namespace bitgraph
#endif  // HWY_ONCE
