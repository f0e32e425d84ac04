// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/nn/model.hpp>

#include <algorithm>

namespace bitgraph::nn {

/// How a model takes its features, copied to another: all that a copy without layers needs to read them.
inline void copy_feature_rules(Model& to, const Model& from) {
  to.normalize_rows = from.normalize_rows;
  to.input_mean = from.input_mean.clone();
  to.input_inverse_deviation = from.input_inverse_deviation.clone();
  to.input_limit = from.input_limit;
  to.thresholds = from.thresholds;
}

/// Whether a model takes features less their means, which makes numbers of zeros: sparse ones will not do.
inline bool needs_dense_features(const Model& model) {
  const bool has_means = std::ranges::any_of(model.input_mean, [](float mean) { return mean != 0; });
  return has_means && !model.precision.multiplies_signs();
}

}  // namespace bitgraph::nn
