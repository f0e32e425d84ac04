// SPDX-License-Identifier: Apache-2.0
// What stands around a sum of spmm.
#pragma once

#include <cstddef>

namespace bitgraph {

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

}  // namespace bitgraph
