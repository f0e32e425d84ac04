// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/nn/sampling.hpp>

#include "nn/sampling/training_batch.hpp"

#include <span>

namespace bitgraph::nn {

/// What dropout leaves of a sample's features. Memory stays from sample to sample.
class KeptRows {
 public:
  /// The entries that `keep` has (null: all), times `scale`. O(nodes * features / 64 + entries).
  void take(const FeatureRows& rows, const BitMatrix<ZeroOne>* keep, float scale, const Device& device);

  [[nodiscard]] const CsrPattern& pattern() const noexcept { return pattern_.get(); }
  /// One an entry of the pattern.
  [[nodiscard]] std::span<const float> values() const noexcept { return values_.span().first(pattern().nvals()); }

 private:
  ReusedPattern pattern_;
  Buffer<float> values_;
};

}  // namespace bitgraph::nn
