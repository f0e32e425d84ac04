// SPDX-License-Identifier: Apache-2.0
// Few features that are numbers, as several signs each: a thermometer code (Buckman et al. 2018, "Thermometer Encoding:
// One Hot Way To Resist Adversarial Examples"). One sign of a number says little of it, and few say little of a node.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/train.hpp>

#include <cstddef>

namespace bitgraph::nn {

/// Signs of each feature that a model is trained with: what the options say; else, for full and bin, more than one
/// where features are at most 64 and the training and validation nodes have more than two values of one. Options are
/// complete. O(features of these nodes).
[[nodiscard]] std::size_t choose_thresholds(const Dataset& dataset, const TrainOptions& options);

/// `count` numbers for each feature, side by side in order: each lies between two of its values, above as equal a share
/// of the nodes that training sees as their values allow. Nodes are sampled above 65,536. O(features log nodes).
[[nodiscard]] Buffer<float> feature_thresholds(const Dataset& dataset, const TrainOptions& options, std::size_t count);

/// The same data set with 1 for each threshold that a feature is not below. All else is shared or copied.
[[nodiscard]] Dataset with_codes(const Dataset& dataset, const Buffer<float>& thresholds);

}  // namespace bitgraph::nn
