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

}  // namespace bitgraph
