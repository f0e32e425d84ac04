// SPDX-License-Identifier: Apache-2.0
// Training of every architecture, on the host and on a CUDA device.
#include "support/cuda_device.hpp"
#include "support/temporary_folder.hpp"

#include <bitgraph/graph/generate.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/train.hpp>
#include <bitgraph/ops/log_softmax.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace bitgraph::nn {
namespace {

constexpr std::array architectures{Architecture::gcn, Architecture::inductive_gcn, Architecture::sage,
                                   Architecture::saint};

const Dataset& planted() {
  static const Dataset dataset = generate_planted_partition(
      {.num_nodes = 400, .num_classes = 4, .num_features = 120, .mean_degree = 8, .seed = 3});
  return dataset;
}

double test_accuracy(const Model& model, Precision form) {
  InferencePlan plan(model, planted(), form);
  return score(plan.run(), planted().labels, planted().test).accuracy();
}

TrainOptions quick(Architecture architecture, Precision precision) {
  return {.precision = precision,
          .architecture = architecture,
          .hidden = 32,
          .epochs = precision == Precision::real ? 60 : 120,
          .learning_rate = 1e-2F};
}

void expect_all_learn(const Device& device) {
  for (const Architecture architecture : architectures) {
    for (const Precision precision : {Precision::real, Precision::full, Precision::bin}) {
      const TrainResult result = train(planted(), quick(architecture, precision), device);
      const bool hard = architecture == Architecture::saint && precision == Precision::bin;
      EXPECT_GT(test_accuracy(result.model, precision), hard ? 0.5 : 0.8)
          << to_string(architecture) << " " << to_string(precision) << " on " << device.name();
      EXPECT_EQ(result.model.architecture, architecture);
    }
  }
}

TEST(StackTraining, EveryArchitectureLearnsAPlantedPartition) { expect_all_learn(Device::host(1)); }

TEST(StackTraining, EveryArchitectureLearnsOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  expect_all_learn(*test::cuda_device());
}

TEST(StackTraining, AnyDepth) {
  for (const Architecture architecture : architectures) {
    for (const std::size_t depth : {1, 3}) {
      TrainOptions options = quick(architecture, Precision::real);
      options.depth = depth;
      const TrainResult result = train(planted(), options, Device::host(1));
      EXPECT_EQ(result.model.layers.size(), depth + (architecture == Architecture::saint ? 1 : 0));
      EXPECT_GT(test_accuracy(result.model, Precision::real), 0.7) << to_string(architecture) << " " << depth;
    }
  }
}

}  // namespace
}  // namespace bitgraph::nn
