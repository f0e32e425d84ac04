// SPDX-License-Identifier: Apache-2.0
// The kernels of spmm: one argument struct of views, one overload a backend. See include/bitgraph/ops/spmm.hpp for what
// is computed. Kernels do not check, do not allocate, and leave the padding bits of a binary output zero.
#pragma once

#include <bitgraph/formats/views.hpp>

#include "core/backend.hpp"

namespace bitgraph {

using BitsIn = BitMatrixView<PlusMinusOne>;
using BitsOut = BitMatrixView<PlusMinusOne, std::uint64_t>;
using FloatIn = DenseView<const float>;
using FloatOut = DenseView<float>;

/// y = row_scale[i] * (feature_scale[f] * v + feature_offset[f]) + bias[f]; null is 1 or 0. Multiplications and
/// additions are rounded one by one on every backend, so that a binary output is the same everywhere.
struct SpmmEpilogue {
  const float* row_scale = nullptr;
  const float* feature_scale = nullptr;
  const float* feature_offset = nullptr;
  const float* bias = nullptr;

  /// Whether some feature has something of its own.
  [[nodiscard]] constexpr bool has_features() const noexcept {
    return feature_scale != nullptr || feature_offset != nullptr || bias != nullptr;
  }
  [[nodiscard]] constexpr bool is_identity() const noexcept { return row_scale == nullptr && !has_features(); }

  [[nodiscard]] float apply(std::size_t i, std::size_t f, float v) const noexcept {
    if (feature_scale != nullptr) v *= feature_scale[f];
    if (feature_offset != nullptr) v += feature_offset[f];
    if (row_scale != nullptr) v *= row_scale[i];
    if (bias != nullptr) v += bias[f];
    return v;
  }
};

template <class Graph, class In, class Out>
struct SpmmArgs {
  Graph a;
  In x;
  Out out;
  const float* col_scale = nullptr;
  SpmmEpilogue epilogue;
  RowOrderView row_order = {};
};

template <class Graph, class In, class Out>
void spmm(const Reference& backend, const SpmmArgs<Graph, In, Out>& args);
template <class Graph, class In, class Out>
void spmm(const Cpu& backend, const SpmmArgs<Graph, In, Out>& args);

}  // namespace bitgraph
