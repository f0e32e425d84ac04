// SPDX-License-Identifier: Apache-2.0
// The kernels of include/bitgraph/ops/gradient.hpp: those with vectors on the host, and those on a CUDA device, which
// gradient.cpp names in a build with CUDA.
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>

#include "core/backend.hpp"

#include <cstddef>

namespace bitgraph {

/// Adam's step with what depends on its number worked out.
struct AdamStep {
  static constexpr float beta1 = 0.9F;
  static constexpr float beta2 = 0.999F;
  static constexpr float epsilon = 1e-8F;
  float rate = 0;        ///< learning rate / (1 - beta1^step)
  float correction = 1;  ///< 1 / sqrt(1 - beta2^step)
  float decay = 0;
};

struct AdamArgs {
  float* value = nullptr;
  const float* gradient = nullptr;
  float* first_moment = nullptr;
  float* second_moment = nullptr;
  std::size_t size = 0;
  AdamStep step;
};

/// The sum over a row of sign(w) g goes through so many sums of every 32nd column, halved until one is left.
inline constexpr std::size_t signed_lanes = 32;

struct BinaryWeightArgs {
  DenseView<float> gradient;
  DenseView<const float> weight;
  const float* m = nullptr;
};

void binary_weight_backward(const Reference& backend, const BinaryWeightArgs& args);
void binary_weight_backward(const Cpu& backend, const BinaryWeightArgs& args);
void adam(const Reference& backend, const AdamArgs& args);
void adam(const Cpu& backend, const AdamArgs& args);

void relu(const Cuda& backend, float* x, std::size_t size);
void relu_backward(const Cuda& backend, float* g, const float* y, std::size_t size);
void sign_backward(const Cuda& backend, float* g, const float* x, std::size_t size, float limit);
void binary_weight_backward(const Cuda& backend, const BinaryWeightArgs& args);
void adam(const Cuda& backend, const AdamArgs& args);
void add_divergence_gradient(const Cuda& backend, float* g, const float* log_p, const float* q, std::size_t size,
                             float weight);

}  // namespace bitgraph
