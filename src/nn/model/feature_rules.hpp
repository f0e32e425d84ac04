// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/nn/model.hpp>

namespace bitgraph::nn {

/// How a model takes its features, copied to another: all that a copy without layers needs to read them.
inline void copy_feature_rules(Model& to, const Model& from) {
  to.normalize_rows = from.normalize_rows;
  to.input_mean = from.input_mean.clone();
  to.input_inverse_deviation = from.input_inverse_deviation.clone();
  to.input_limit = from.input_limit;
  to.thresholds = from.thresholds;
}

}  // namespace bitgraph::nn
