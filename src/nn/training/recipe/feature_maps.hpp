// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/io/dataset.hpp>

#include "nn/training/recipe/recipe.hpp"

namespace bitgraph::nn {

/// What is taken off each feature, and what the rest is multiplied by.
struct FeatureMap {
  Buffer<float> shift, scale;
};

/// What features are before their signs: batch norm, or which of them a node has.
[[nodiscard]] FeatureMap sign_map(const Dataset& dataset, const Recipe& recipe);

/// Dense features: to a mean of 0 and a deviation of 1; one that is the same everywhere says nothing, and becomes 0.
/// Sparse ones: to a root mean square of 1 of what is not 0; zeros stay zeros.
[[nodiscard]] FeatureMap standard_map(const Dataset& dataset);

/// Dense features whatever a few large values are: to a median of 0, and to a deviation of 1 if most values were
/// normally distributed. Where nearly all values are one, as by standard_map(). Of at most 2,048 nodes.
[[nodiscard]] FeatureMap typical_map(const Dataset& dataset);
/// Deviations from the median that values keep.
inline constexpr float typical_limit = 3;

}  // namespace bitgraph::nn
