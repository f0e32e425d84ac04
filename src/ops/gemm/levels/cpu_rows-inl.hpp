// SPDX-License-Identifier: Apache-2.0
// What the kernels of products of levels on the host have in common: nibbles become bytes, and the sums of a row go
// through the epilogue. Included once for each instruction set (Highway's convention: the guard toggles).
#if defined(BITGRAPH_OPS_GEMM_LEVELS_CPU_ROWS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef BITGRAPH_OPS_GEMM_LEVELS_CPU_ROWS_INL_HPP
#undef BITGRAPH_OPS_GEMM_LEVELS_CPU_ROWS_INL_HPP
#else
#define BITGRAPH_OPS_GEMM_LEVELS_CPU_ROWS_INL_HPP
#endif

#include <hwy/highway.h>

#include "ops/cpu_levels-inl.hpp"
#include "ops/gemm/levels/args.hpp"

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Pairs of nibbles, 16 bits each, as pairs of bytes.
template <class V>
HWY_INLINE V apart(V pair) {
  return hn::And(hn::Or(pair, hn::ShiftLeft<4>(pair)), hn::Set(hn::DFromV<V>(), std::uint16_t{0x0F0F}));
}

#if HWY_TARGET != HWY_SCALAR
/// Columns `first` .. of a row in planes, a byte each; as many as a vector has, of one piece.
template <class D>
HWY_INLINE hn::Vec<D> bytes_of_planes(D d, const std::uint8_t* row, std::size_t first) {
  const std::uint8_t* const lower = row + plane_byte_of(first);
  const auto bit = [&](const std::uint8_t* plane, std::uint8_t weight)
                       HWY_ATTR { return hn::IfThenElseZero(hn::LoadMaskBits(d, plane), hn::Set(d, weight)); };
  return hn::Or(bit(lower, 1), bit(lower + plane_word_bytes, 2));
}
#endif

/// What products have for each output of a slice; places behind the last output repeat it.
struct SliceWeights {
  HWY_ALIGN float steps[slice_outputs];
  HWY_ALIGN float offsets[slice_outputs];
  HWY_ALIGN float of_x_offset[slice_outputs];  ///< what X's offset is multiplied by
  SliceEpilogue epilogue;

  SliceWeights(const LevelGemmArgs& args, std::size_t first, std::size_t outputs) {
    for (std::size_t f = 0; f < slice_outputs; ++f) {
      const std::size_t j = first + HWY_MIN(f, outputs - 1);
      const float factor = args.epilogue.factor(j);
      steps[f] = args.w_scale.step(j) * factor;
      offsets[f] = args.w_scale.offset(j) * factor;
      const float by_step = args.w_scale.step(j) * static_cast<float>(args.w_sums[j]);
      const float by_offset = args.w_scale.offset(j) * static_cast<float>(args.x.ncols);
      of_x_offset[f] = (by_step + by_offset) * factor;
      epilogue.set(f, args.epilogue, j, factor);
    }
  }
};

/// The sums of one row and a slice of outputs. `Total` holds the largest sum.
template <class Total>
struct RowSums {
  std::size_t row, first_output, outputs;
  const Total* sums;  ///< room for a whole vector behind them
  Total x_sum;        ///< 0 where the epilogue has no use for it
};

template <class Total>
HWY_INLINE void finish_row(const LevelGemmArgs& args, const SliceWeights& w, const RowSums<Total>& of) {
  const Floats d;
  const auto x_step = hn::Set(d, args.x_scale.step(of.row));
  const auto x_offset = hn::Set(d, args.x_scale.offset(of.row));
  const auto x_sum = hn::Mul(x_step, hn::Set(d, static_cast<float>(of.x_sum)));
  const auto place = [&](std::size_t f) HWY_ATTR {
    const auto of_offset = fused(x_offset, hn::Load(d, w.of_x_offset + f), hn::Load(d, w.epilogue.shift + f));
    const auto rest = fused(hn::Load(d, w.offsets + f), x_sum, of_offset);
    return fused(hn::Mul(hn::Load(d, w.steps + f), x_step), as_floats(of.sums + f), rest);
  };
  const auto least = [&](std::size_t f) HWY_ATTR { return hn::Load(d, w.epilogue.least + f); };
  finish_slice(args.out, args.epilogue, of.row, of.first_output, of.outputs, of.sums, place, least);
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
