// SPDX-License-Identifier: Apache-2.0
#include "ops/gradient/gradient.hpp"

#include <array>
#include <cmath>

namespace bitgraph {

namespace {

double signed_sum(const float* g, const float* w, std::size_t ncols) {
  std::array<double, signed_lanes> sums{};
  for (std::size_t j = 0; j < ncols; ++j) sums[j % signed_lanes] += w[j] >= 0 ? g[j] : -g[j];
  for (std::size_t half = signed_lanes / 2; half != 0; half /= 2) {
    for (std::size_t n = 0; n < half; ++n) sums[n] += sums[n + half];
  }
  return sums[0];
}

}  // namespace

void binary_weight_backward(const Reference&, const BinaryWeightArgs& args) {
  const std::size_t ncols = args.weight.ncols;
  for (std::size_t f = 0; f < args.weight.nrows; ++f) {
    float* const g = args.gradient.row(f);
    const float* const w = args.weight.row(f);
    const auto mean = static_cast<float>(signed_sum(g, w, ncols) / static_cast<double>(ncols));
    for (std::size_t j = 0; j < ncols; ++j) {
      const float through = std::fabs(w[j]) <= 1 ? args.m[f] * g[j] : 0.0F;
      g[j] = through + (w[j] >= 0 ? mean : -mean);
    }
  }
}

void adam(const Reference&, const AdamArgs& args) {
  const AdamStep& step = args.step;
  for (std::size_t n = 0; n < args.size; ++n) {
    float& w = args.value[n];
    float& m = args.first_moment[n];
    float& v = args.second_moment[n];
    const float slope = args.gradient[n] + step.decay * w;
    m = AdamStep::beta1 * m + (1 - AdamStep::beta1) * slope;
    v = AdamStep::beta2 * v + (1 - AdamStep::beta2) * slope * slope;
    w -= step.rate * m / (std::sqrt(v) * step.correction + AdamStep::epsilon);
  }
}

}  // namespace bitgraph
