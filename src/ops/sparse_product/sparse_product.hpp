// SPDX-License-Identifier: Apache-2.0
// The kernels of a sparse matrix of floats times a dense one. See include/bitgraph/ops/sparse_product.hpp.
#pragma once

#include <bitgraph/formats/views.hpp>

#include "core/backend.hpp"

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

void sparse_gradient(const Reference& backend, const SparseGradientArgs& args);
void sparse_gradient(const Cpu& backend, const SparseGradientArgs& args);
void sparse_product(const Reference& backend, const SparseProductArgs& args);
void sparse_product(const Cpu& backend, const SparseProductArgs& args);

}  // namespace bitgraph
