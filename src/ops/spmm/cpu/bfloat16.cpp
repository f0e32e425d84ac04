// SPDX-License-Identifier: Apache-2.0
// Sums of bfloat16. An element becomes a float32 on its way to a register; the sum of a row is rounded once, when it is
// stored.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/spmm/cpu/bfloat16.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <bitgraph/formats/bfloat16.hpp>

#include "ops/cpu_partial-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// The 16 bits of an element are the upper half of the float32.
template <class DF>
HWY_INLINE hn::Vec<DF> widened(DF d, hn::Vec<hn::Rebind<std::uint16_t, DF>> bits) {
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<DF>(), bits)));
}

template <class DF>
HWY_INLINE hn::Vec<DF> load_all(DF d, const Bfloat16* from) {
  return widened(d, hn::LoadU(hn::Rebind<std::uint16_t, DF>(), &from->bits));
}

/// The first `count` elements, zero behind them; all lanes where count is at least their number.
template <class DF>
HWY_INLINE hn::Vec<DF> load_first(DF d, const Bfloat16* from, std::size_t count) {
  if (count >= hn::Lanes(d)) return load_all(d, from);
  HWY_ALIGN std::uint16_t part[HWY_MAX_BYTES / sizeof(float)] = {};
  for (std::size_t n = 0; n < count; ++n) part[n] = from[n].bits;
  return widened(d, hn::Load(hn::Rebind<std::uint16_t, DF>(), part));
}

/// Rounds as Bfloat16 does: to nearest, ties to even, and a NaN stays one.
template <class DF>
HWY_INLINE auto rounded(DF, hn::Vec<DF> v) {
  const hn::RebindToUnsigned<DF> d32;
  const hn::Rebind<std::uint16_t, DF> d16;
  const auto word = hn::BitCast(d32, v);
  const auto upper = hn::ShiftRight<16>(word);
  const auto half = hn::Add(hn::And(upper, hn::Set(d32, 1)), hn::Set(d32, 0x7FFF));
  const auto nearest = hn::ShiftRight<16>(hn::Add(word, half));
  const auto is_nan = hn::RebindMask(d32, hn::IsNaN(v));
  const auto chosen = hn::IfThenElse(is_nan, hn::Or(upper, hn::Set(d32, 0x40)), nearest);
  // Below 2^16. TruncateTo of Highway 1.0 is wrong for 8 lanes.
  return hn::DemoteTo(d16, hn::BitCast(hn::RebindToSigned<DF>(), chosen));
}

/// Stores the first `count` elements; all lanes where count is at least their number.
template <class DF>
HWY_INLINE void store_first(DF d, hn::Vec<DF> v, Bfloat16* to, std::size_t count) {
  const hn::Rebind<std::uint16_t, DF> d16;
  if (count >= hn::Lanes(d)) return hn::StoreU(rounded(d, v), d16, &to->bits);
  HWY_ALIGN std::uint16_t part[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(rounded(d, v), d16, part);
  for (std::size_t n = 0; n < count; ++n) to[n].bits = part[n];
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#include "ops/spmm/cpu/sum-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

void sum_to_floats(const RowBlock& rows, const DenseView<const Bfloat16>& x, const float* col_scale,
                   const FloatOut& out, const SpmmEpilogue& epilogue) {
  sum(rows, x, col_scale, out, epilogue);
}

void sum_to_bfloat16(const RowBlock& rows, const DenseView<const Bfloat16>& x, const float* col_scale,
                     const DenseView<Bfloat16>& out, const SpmmEpilogue& epilogue) {
  sum(rows, x, col_scale, out, epilogue);
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bitgraph::spmm_cpu {
namespace {
HWY_EXPORT(sum_to_floats);
HWY_EXPORT(sum_to_bfloat16);
}  // namespace

void sum_rows(const RowBlock& rows, const DenseView<const Bfloat16>& x, const float* col_scale, const FloatOut& out,
              const SpmmEpilogue& epilogue) {
  HWY_DYNAMIC_DISPATCH(sum_to_floats)(rows, x, col_scale, out, epilogue);
}

void sum_rows(const RowBlock& rows, const DenseView<const Bfloat16>& x, const float* col_scale,
              const DenseView<Bfloat16>& out, const SpmmEpilogue& epilogue) {
  HWY_DYNAMIC_DISPATCH(sum_to_bfloat16)(rows, x, col_scale, out, epilogue);
}

}  // namespace bitgraph::spmm_cpu
#endif  // HWY_ONCE
