// SPDX-License-Identifier: Apache-2.0
#include "ops/optimizer/optimizer.hpp"

#include <cmath>

namespace bitgraph {

namespace {

using Rule = OptimizerRule;

void follow(OptimizerKind kind, const OptimizedValues& p, const StepValues& step, std::size_t n) {
  float& w = p.value[n];
  float& m = p.first_moment[n];
  const bool apart = kind == OptimizerKind::adamw;
  const float slope = apart ? p.gradient[n] : p.gradient[n] + p.decay * w;
  if (apart) w -= step.learning_rate * p.decay * w;
  if (kind == OptimizerKind::sgd) {
    m = Rule::momentum * m + slope;
    w -= step.learning_rate * m;
  } else {
    float& v = p.second_moment[n];
    m = Rule::beta1 * m + (1 - Rule::beta1) * slope;
    v = Rule::beta2 * v + (1 - Rule::beta2) * slope * slope;
    w -= step.rate * m / (std::sqrt(v) * step.correction + Rule::epsilon);
  }
  if (p.average != nullptr) p.average[n] = (1 - step.kept) * w + step.kept * p.average[n];
}

}  // namespace

void optimize(const Reference&, OptimizerKind kind, const OptimizeArgs& args) {
  for (std::size_t n = 0; n < args.count; ++n) {
    const OptimizedValues& p = args.parameters[n];
    for (std::size_t i = 0; i < p.size; ++i) follow(kind, p, *args.step, i);
  }
}

}  // namespace bitgraph
