// SPDX-License-Identifier: Apache-2.0
// What samples are taken from: the choice, and the words for it.
#pragma once

#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/train.hpp>

#include <string>

namespace bitgraph::nn {

/// Fills in `neighbors` and `training_neighbors`. O(training nodes and their neighbours) and a bit a node.
void count_neighbors(DataSize& size, const Dataset& dataset);

/// What is given; where nothing is and the architecture is sampled, the choice that preset() tells.
[[nodiscard]] SampleFrom choose_samples(const TrainOptions& options, const DataSize& size);

/// "samples of the training nodes: a training node has 0.2 of its 3.7 neighbours there, --sample-from all sees all";
/// empty where the architecture is not sampled. Options are complete.
[[nodiscard]] std::string describe_samples(const TrainOptions& options, const DataSize& size);

}  // namespace bitgraph::nn
