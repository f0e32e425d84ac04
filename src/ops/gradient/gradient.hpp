// SPDX-License-Identifier: Apache-2.0
// The kernels of include/bitgraph/ops/gradient.hpp: those with vectors on the host, and those on a CUDA device, which
// gradient.cpp names in a build with CUDA.
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>

#include "core/devices/backend.hpp"

#include <cstddef>

namespace bitgraph {

/// The sum over a row of sign(w) g goes through so many sums of every 32nd column, halved until one is left.
inline constexpr std::size_t signed_lanes = 32;

struct BinaryWeightArgs {
  DenseView<float> gradient;
  DenseView<const float> weight;
  const float* m = nullptr;
};

void binary_weight_backward(const Reference& backend, const BinaryWeightArgs& args);
void binary_weight_backward(const Cpu& backend, const BinaryWeightArgs& args);

void relu(const Cuda& backend, float* x, std::size_t size);
void relu_backward(const Cuda& backend, float* g, const float* y, std::size_t size);
void tanh(const Cuda& backend, float* x, std::size_t size);
void tanh_backward(const Cuda& backend, float* g, const float* y, std::size_t size);
void sign_backward(const Cuda& backend, float* g, const float* x, std::size_t size, float limit);
void binary_weight_backward(const Cuda& backend, const BinaryWeightArgs& args);
void add_divergence_gradient(const Cuda& backend, float* g, const float* log_p, const float* q, std::size_t size,
                             float weight);

}  // namespace bitgraph
