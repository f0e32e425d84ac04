// SPDX-License-Identifier: Apache-2.0
// A vector of elements at a time, rounded as the reference rounds.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/optimizer/cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/cpu_partial-inl.hpp"
#include "ops/optimizer/optimizer.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Rule = OptimizerRule;
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr std::size_t lanes = HWY_LANES(float);

/// factor * of + rest, rounded twice.
VF scaled_plus(float factor, VF of, VF rest) { return hn::Add(hn::Mul(hn::Set(DF(), factor), of), rest); }

template <OptimizerKind kind>
void follow(const OptimizedValues& p, const StepValues& step, std::size_t begin, std::size_t end) {
  const DF d;
  constexpr bool apart = kind == OptimizerKind::adamw;
  for (std::size_t n = begin; n < end; n += lanes) {
    const std::size_t count = end - n;
    VF w = load_first(d, p.value + n, count);
    const VF gradient = load_first(d, p.gradient + n, count);
    const VF slope = apart ? gradient : hn::Add(gradient, hn::Mul(hn::Set(d, p.decay), w));
    if constexpr (apart) w = hn::Sub(w, hn::Mul(hn::Set(d, step.learning_rate * p.decay), w));
    const VF before = load_first(d, p.first_moment + n, count);
    if constexpr (kind == OptimizerKind::sgd) {
      const VF m = scaled_plus(Rule::momentum, before, slope);
      store_first(d, m, p.first_moment + n, count);
      w = hn::Sub(w, hn::Mul(hn::Set(d, step.learning_rate), m));
    } else {
      const VF m = scaled_plus(Rule::beta1, before, hn::Mul(hn::Set(d, 1 - Rule::beta1), slope));
      const VF squared = hn::Mul(hn::Mul(hn::Set(d, 1 - Rule::beta2), slope), slope);
      const VF v = scaled_plus(Rule::beta2, load_first(d, p.second_moment + n, count), squared);
      const VF divisor = scaled_plus(step.correction, hn::Sqrt(v), hn::Set(d, Rule::epsilon));
      store_first(d, m, p.first_moment + n, count);
      store_first(d, v, p.second_moment + n, count);
      w = hn::Sub(w, hn::Div(hn::Mul(hn::Set(d, step.rate), m), divisor));
    }
    store_first(d, w, p.value + n, count);
    if (p.average == nullptr) continue;
    const VF old = hn::Mul(hn::Set(d, step.kept), load_first(d, p.average + n, count));
    store_first(d, scaled_plus(1 - step.kept, w, old), p.average + n, count);
  }
}

void optimize_range(OptimizerKind kind, const OptimizedValues& p, const StepValues& step, std::size_t begin,
                    std::size_t end) {
  switch (kind) {
    case OptimizerKind::adam: return follow<OptimizerKind::adam>(p, step, begin, end);
    case OptimizerKind::adamw: return follow<OptimizerKind::adamw>(p, step, begin, end);
    case OptimizerKind::sgd: return follow<OptimizerKind::sgd>(p, step, begin, end);
  }
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/threads/parallel.hpp"

namespace bitgraph {

namespace {
HWY_EXPORT(optimize_range);
}  // namespace

void optimize(const Cpu& backend, OptimizerKind kind, const OptimizeArgs& args) {
  for (std::size_t n = 0; n < args.count; ++n) {
    const OptimizedValues& p = args.parameters[n];
    parallel_ranges(backend.device, p.size, std::size_t{1} << 14, [&](Range range) {
      HWY_DYNAMIC_DISPATCH(optimize_range)(kind, p, *args.step, range.begin, range.end);
    });
  }
}

}  // namespace bitgraph
#endif  // HWY_ONCE
