// SPDX-License-Identifier: Apache-2.0
#include "nn/trainer.hpp"

#include <bitgraph/core/random.hpp>

#include <cmath>

namespace bitgraph::nn {

void Parameter::glorot(std::uint64_t seed, std::uint32_t tensor) {
  const float bound = std::sqrt(6.0F / static_cast<float>(value.nrows() + value.ncols()));
  for (std::size_t n = 0; n < value.values().size(); ++n) {
    value.values()[n] = bound * (2 * random_uniform({seed, tensor, 0}, n) - 1);
  }
}

void Parameter::adam(float learning_rate, std::size_t step) {
  constexpr float beta1 = 0.9F;
  constexpr float beta2 = 0.999F;
  constexpr float epsilon = 1e-8F;
  const auto count = static_cast<double>(step);
  const auto rate = static_cast<float>(learning_rate / (1 - std::pow(static_cast<double>(beta1), count)));
  const auto correction = static_cast<float>(1 / std::sqrt(1 - std::pow(static_cast<double>(beta2), count)));
  float* const __restrict w = value.values().data();
  const float* const __restrict g = gradient.values().data();
  float* const __restrict m = first_moment.values().data();
  float* const __restrict v = second_moment.values().data();
  const std::size_t size = value.values().size();
  for (std::size_t n = 0; n < size; ++n) {
    const float slope = g[n] + decay * w[n];
    m[n] = beta1 * m[n] + (1 - beta1) * slope;
    v[n] = beta2 * v[n] + (1 - beta2) * slope * slope;
    w[n] -= rate * m[n] / (std::sqrt(v[n]) * correction + epsilon);
  }
}

}  // namespace bitgraph::nn
