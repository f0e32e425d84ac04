// SPDX-License-Identifier: Apache-2.0
// The gradient of binarized weights, a vector of columns at a time, rounded as the reference rounds.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gradient/cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/cpu_partial-inl.hpp"
#include "ops/gradient/gradient.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr std::size_t lanes = HWY_LANES(float);

using DD = hn::CappedTag<double, signed_lanes>;
using HalfF = hn::Rebind<float, DD>;
constexpr std::size_t double_lanes = HWY_MIN(HWY_LANES(double), signed_lanes);
constexpr std::size_t vectors = signed_lanes / double_lanes;

HWY_INLINE double signed_sum(const float* g, const float* w, std::size_t ncols) {
  const DD d;
  const HalfF df;
  hn::Vec<DD> sums[vectors];
  for (auto& sum : sums) sum = hn::Zero(d);
  std::size_t j = 0;
  for (; j + signed_lanes <= ncols; j += signed_lanes) {
    for (std::size_t v = 0; v < vectors; ++v) {
      const auto value = hn::LoadU(df, g + j + v * double_lanes);
      const auto positive = hn::Ge(hn::LoadU(df, w + j + v * double_lanes), hn::Zero(df));
      sums[v] = hn::Add(sums[v], hn::PromoteTo(d, hn::IfThenElse(positive, value, hn::Neg(value))));
    }
  }
  double total[signed_lanes];
  for (std::size_t v = 0; v < vectors; ++v) hn::StoreU(sums[v], d, total + v * double_lanes);
  for (; j < ncols; ++j) total[j % signed_lanes] += static_cast<double>(w[j] >= 0 ? g[j] : -g[j]);
  for (std::size_t half = signed_lanes / 2; half != 0; half /= 2) {
    for (std::size_t n = 0; n < half; ++n) total[n] += total[n + half];
  }
  return total[0];
}

void binary_rows(const BinaryWeightArgs& args, std::size_t begin, std::size_t end) {
  const DF d;
  const std::size_t ncols = args.weight.ncols;
  const VF one = hn::Set(d, 1.0F);
  for (std::size_t f = begin; f < end; ++f) {
    float* const g = args.gradient.row(f);
    const float* const w = args.weight.row(f);
    const VF mean = hn::Set(d, static_cast<float>(signed_sum(g, w, ncols) / static_cast<double>(ncols)));
    const VF minus_mean = hn::Neg(mean);
    const VF m = hn::Set(d, args.m[f]);
    for (std::size_t j = 0; j < ncols; j += lanes) {
      const VF weight = load_first(d, w + j, ncols - j);
      const VF through = hn::IfThenElseZero(hn::Le(hn::Abs(weight), one), hn::Mul(m, load_first(d, g + j, ncols - j)));
      const VF straight = hn::IfThenElse(hn::Ge(weight, hn::Zero(d)), mean, minus_mean);
      store_first(d, hn::Add(through, straight), g + j, ncols - j);
    }
  }
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/threads/parallel.hpp"

namespace bitgraph {

namespace {
HWY_EXPORT(binary_rows);
}  // namespace

void binary_weight_backward(const Cpu& backend, const BinaryWeightArgs& args) {
  parallel_ranges(backend.device, args.weight.nrows, 4, [&](Range rows) {
    HWY_DYNAMIC_DISPATCH(binary_rows)(args, rows.begin, rows.end);
  });
}

}  // namespace bitgraph
#endif  // HWY_ONCE
