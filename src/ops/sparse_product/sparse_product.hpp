// SPDX-License-Identifier: Apache-2.0
// The kernels of a sparse matrix of floats times a dense one. See include/bitgraph/ops/sparse_product.hpp.
#pragma once

#include <bitgraph/formats/views.hpp>

#include "core/devices/backend.hpp"

namespace bitgraph {

/// Null pointers are ones and zeros; of `places` one entry's value after the other.
struct SparseProductArgs {
  DenseView<float> out;
  CsrPatternView x;
  const float* values = nullptr;
  DenseView<const float> w;
  const EdgeOffset* places = nullptr;
  const float* row_scale = nullptr;
  const float* col_offset = nullptr;
  const float* bias = nullptr;

  [[nodiscard]] float value(EdgeOffset e) const noexcept { return values[places == nullptr ? e : places[e]]; }
};

struct SparseGradientArgs {
  DenseView<float> out;
  CsrPatternView x;
  const float* values = nullptr;
  DenseView<const float> g;
};

/// Rows of a sparse matrix: see SparseSample. One of these is the output, the other dense operand the input.
struct SampledProductArgs {
  DenseView<float> out;  ///< a row for each of the first nodes
  CsrPatternView x;
  const float* values = nullptr;
  const NodeId* nodes = nullptr;
  BitMatrixView<ZeroOne> keep;  ///< null words: all
  float scale = 1;
  DenseView<const float> w;
  const float* bias = nullptr;
};
struct SampledGradientArgs {
  DenseView<float> out;    ///< a row for each column of X
  CsrPatternView columns;  ///< X^T
  const float* values = nullptr;
  const NodeId* part_column = nullptr;
  const EdgeOffset* part = nullptr;
  std::size_t parts = 0;
  const NodeId* nodes = nullptr;
  BitMatrixView<ZeroOne> keep;
  float scale = 1;
  DenseView<const float> g;  ///< a row for each of the first nodes
};
void sampled_product(const Cuda& backend, const SampledProductArgs& args);
void sampled_gradient(const Cuda& backend, const SampledGradientArgs& args);

void sparse_gradient(const Reference& backend, const SparseGradientArgs& args);
void sparse_gradient(const Cpu& backend, const SparseGradientArgs& args);
void sparse_product(const Reference& backend, const SparseProductArgs& args);
void sparse_product(const Cpu& backend, const SparseProductArgs& args);

}  // namespace bitgraph
