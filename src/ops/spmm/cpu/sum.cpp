// SPDX-License-Identifier: Apache-2.0
// Aggregation of floats, and of bits with a weight a neighbour.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/spmm/cpu/sum.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/spmm/cpu/kernels.hpp"
#include "ops/spmm/cpu/sum-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

using spmm_cpu::Sink;

/// One word of +-weights at a time.
template <class Out>
HWY_INLINE void weigh(const RowBlock& rows, const BitsIn& x, const float* col_scale, const Out& out,
                      const SpmmEpilogue& epilogue) {
  constexpr std::size_t M = 64 / lanes;
  const DF d;
  HWY_ALIGN float sums_of_word[64];
  for (std::size_t word = 0; word < x.words_per_row; ++word) {
    for (std::size_t r = 0; r < rows.count; ++r) {
      VF sums[M];
      for (auto& sum : sums) sum = hn::Zero(d);
      for (EdgeOffset e = rows.row_ptr[r]; e < rows.row_ptr[r + 1]; ++e) {
        const std::size_t column = rows.cols[e];
        const std::uint64_t bits = x.words[column * x.words_per_row + word];
        const VF weight = hn::Set(d, col_scale[column]);
        const VF negative = hn::Neg(weight);
        for (std::size_t m = 0; m < M; ++m) {
          const std::uint64_t part = bits >> m * lanes;
          const auto mask = hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&part));
          sums[m] = hn::Add(sums[m], hn::IfThenElse(mask, weight, negative));
        }
      }
      for (std::size_t m = 0; m < M; ++m) hn::Store(sums[m], d, sums_of_word + m * lanes);
      expand_word(out, epilogue, rows.first_row + r, word * 64, x.ncols,
                  [&](auto df, std::size_t bit) HWY_ATTR { return hn::Load(df, sums_of_word + bit); });
    }
  }
}

void weigh_to(const RowBlock& rows, const BitsIn& x, const float* col_scale, const Sink& sink) {
  with_output(sink, [&](const auto& out) HWY_ATTR { weigh(rows, x, col_scale, out, sink.epilogue); });
}

void sum_to_floats(const RowBlock& rows, const FloatIn& x, const float* col_scale, const FloatOut& out,
                   const SpmmEpilogue& epilogue) {
  sum(rows, x, col_scale, out, epilogue);
}

void sum_to_bits(const RowBlock& rows, const FloatIn& x, const float* col_scale, const BitsOut& out,
                 const SpmmEpilogue& epilogue) {
  sum(rows, x, col_scale, out, epilogue);
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bitgraph::spmm_cpu {
namespace {
HWY_EXPORT(weigh_to);
HWY_EXPORT(sum_to_floats);
HWY_EXPORT(sum_to_bits);
}  // namespace

void weigh_rows(const RowBlock& rows, const BitsIn& x, const float* col_scale, const Sink& sink) {
  HWY_DYNAMIC_DISPATCH(weigh_to)(rows, x, col_scale, sink);
}

void sum_rows(const RowBlock& rows, const FloatIn& x, const float* col_scale, const FloatOut& out,
              const SpmmEpilogue& epilogue) {
  HWY_DYNAMIC_DISPATCH(sum_to_floats)(rows, x, col_scale, out, epilogue);
}

void sum_rows(const RowBlock& rows, const FloatIn& x, const float* col_scale, const BitsOut& out,
              const SpmmEpilogue& epilogue) {
  HWY_DYNAMIC_DISPATCH(sum_to_bits)(rows, x, col_scale, out, epilogue);
}

}  // namespace bitgraph::spmm_cpu
#endif  // HWY_ONCE
