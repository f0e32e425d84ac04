// SPDX-License-Identifier: Apache-2.0
// Levels of a piece of a row as 32-bit numbers, which become bytes, nibbles or 16 bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/quantize/cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/cpu_levels-inl.hpp"
#include "ops/cpu_partial-inl.hpp"
#include "ops/quantize/quantize.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<float>;
using Byte = hn::Rebind<std::uint8_t, Wide>;
using Short = hn::Rebind<std::uint16_t, Wide>;

/// Columns whose levels are made before they are packed: even, and a multiple of every vector's lanes.
constexpr std::size_t piece = 128;

/// Levels of columns first .. first + count - 1 of row i, one an element; count is at most `piece`.
template <bool floors, class To>
HWY_INLINE void quantize_piece(const QuantizeArgs& args, std::size_t i, std::size_t first, std::size_t count,
                               hn::TFromD<To>* levels) {
  const Wide d;
  const To to;
  const std::size_t lanes = hn::Lanes(d);
  const auto most = hn::Set(d, static_cast<float>((1U << args.out.bits) - 1));
  const bool by_column = args.extent == ScaleExtent::column;
  const std::size_t one = args.extent == ScaleExtent::row ? i : 0;
  const auto factor = hn::Set(d, args.row_scale == nullptr ? 1.0F : args.row_scale[i]);
  auto step = hn::Set(d, by_column ? 1.0F : args.steps[one]);
  auto offset = hn::Set(d, by_column || args.offsets == nullptr ? 0.0F : args.offsets[one]);
  const float* const row = args.x.row(i) + first;
  for (std::size_t j = 0; j < count; j += lanes) {
    const std::size_t rest = HWY_MIN(lanes, count - j);
    if (by_column) {
      step = load_first(d, args.steps + first + j, rest);
      if (rest < lanes) step = hn::IfThenElse(hn::FirstN(d, rest), step, hn::Set(d, 1.0F));
      if (args.offsets != nullptr) offset = load_first(d, args.offsets + first + j, rest);
    }
    const auto place = hn::Div(hn::Sub(hn::Mul(load_first(d, row + j, rest), factor), offset), step);
    hn::StoreU(hn::DemoteTo(to, rounded<floors>(hn::Min(greater_of(place, hn::Zero(d)), most))), to, levels + j);
  }
}

template <bool floors>
HWY_INLINE void quantize_range(const QuantizeArgs& args, std::size_t begin, std::size_t end) {
  const int bits = args.out.bits;
  HWY_ALIGN std::uint8_t bytes[piece + HWY_MAX_BYTES];
  HWY_ALIGN std::uint16_t shorts[piece + HWY_MAX_BYTES];
  for (std::size_t i = begin; i < end; ++i) {
    std::uint8_t* const row = args.out.row(i);
    std::size_t used = 0;
    for (std::size_t first = 0; first < args.x.ncols; first += piece) {
      const std::size_t count = HWY_MIN(piece, args.x.ncols - first);
      if (bits > 8) {
        quantize_piece<floors, Short>(args, i, first, count, shorts);
        used += store_levels(shorts, count, row + used);
      } else {
        quantize_piece<floors, Byte>(args, i, first, count, bytes);
        used += store_levels(bytes, count, bits, row + used);
      }
    }
    for (; used < args.out.row_bytes; ++used) row[used] = 0;
  }
}

void quantize_rows(const QuantizeArgs& args, std::size_t begin, std::size_t end) {
  if (args.rounding == Rounding::floor) return quantize_range<true>(args, begin, end);
  quantize_range<false>(args, begin, end);
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/threads/parallel.hpp"

namespace bitgraph {

namespace {
HWY_EXPORT(quantize_rows);
}  // namespace

void quantize(const Cpu& backend, const QuantizeArgs& args) {
  parallel_ranges(backend.device, args.x.nrows, 128, [&](Range rows) {
    HWY_DYNAMIC_DISPATCH(quantize_rows)(args, rows.begin, rows.end);
  });
}

}  // namespace bitgraph
#endif  // HWY_ONCE
