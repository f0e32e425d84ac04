// SPDX-License-Identifier: Apache-2.0
#include "nn/training/trainer.hpp"

#include <bitgraph/core/random.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace bitgraph::nn {

void Parameter::glorot(std::uint64_t seed, std::uint32_t tensor) {
  const float bound = std::sqrt(6.0F / static_cast<float>(value.nrows() + value.ncols()));
  DenseMatrix<float> drawn(value.nrows(), value.ncols());
  for (std::size_t n = 0; n < drawn.values().size(); ++n) {
    drawn.values()[n] = bound * (2 * random_uniform({seed, tensor, 0}, n) - 1);
  }
  value = drawn.to(value.device());
}

namespace {

float mean_magnitude(const DenseMatrix<float>& values) {
  double sum = 0;
  for (const float v : values.values()) sum += std::abs(v);
  return static_cast<float>(sum / static_cast<double>(std::max<std::size_t>(1, values.values().size())));
}

}  // namespace

void Parameter::start_from(const DenseMatrix<float>& weight) {
  const float drawn = mean_magnitude(value.to(Device{}));
  const float there = mean_magnitude(weight);
  if (there == 0) return;
  DenseMatrix<float> scaled = weight.clone();
  for (float& w : scaled.values()) w *= drawn / there;
  value = scaled.to(value.device());
}

OptimizedParameter Parameter::optimized() noexcept {
  return {&value, &gradient, &first_moment, &second_moment, average.nrows() == 0 ? nullptr : &average, decay};
}

}  // namespace bitgraph::nn
