// SPDX-License-Identifier: Apache-2.0
// Accuracy of training on planted graphs that are hard: a node's own features say little, half of its edges lead to
// other classes, and a few labels are wrong. Each run is short, and set up so that some mistakes in training cost it
// points, or give it points that it must not have. CONTRIBUTING.md says which. Bounds are four deviations away from the
// mean over eight seeds of training; all numbers are means over three graphs.
#include "support/sanitized.hpp"

#include <bitgraph/graph/generate.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/train.hpp>
#include <bitgraph/ops/log_softmax.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>

namespace bitgraph::nn {
namespace {

struct Graphs {
  double train;            ///< share of the nodes; a fifth is for validation
  double signal = 0.15;    ///< of a node's own features
  double homophily = 0.5;  ///< share of edges within a class
};

Dataset planted(const Graphs& graphs, std::uint64_t seed) {
  return generate_planted_graph({.num_nodes = 3000,
                                 .num_entries = 24'000,
                                 .num_classes = 4,
                                 .num_features = 40,
                                 .homophily = graphs.homophily,
                                 .feature_signal = graphs.signal,
                                 .label_noise = 0.05,
                                 .split = {.train = graphs.train, .validation = 0.2, .test = 0.8 - graphs.train},
                                 .seed = seed});
}

/// `taught`: by a float model of sixty epochs, where it would train a better one for long.
double test_accuracy(const Dataset& dataset, TrainOptions options, bool taught) {
  Model teacher;
  if (taught) {
    const std::size_t epochs = test::sanitized ? 3 : 60;
    const TrainOptions of_teacher{
        .precision = Precision::real, .architecture = options.architecture, .hidden = options.hidden, .epochs = epochs};
    teacher = train(dataset, of_teacher, Device::host(1)).model;
    options.teacher = &teacher;
  }
  const Model model = train(dataset, options, Device::host(1)).model;
  InferencePlan plan(model, dataset, {.forms = model.layer_forms(options.precision)}, Device::host(1));
  return score(plan.run(), dataset.labels, dataset.test).accuracy();
}

void expect_accuracy(const Graphs& graphs, TrainOptions options, double least, double most, bool taught = false) {
  if (test::sanitized) options.epochs = 3;
  if (options.precision.multiplies_signs()) options.thresholds = 1;
  constexpr std::uint64_t count = test::sanitized ? 1 : 3;
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= count; ++seed) sum += test_accuracy(planted(graphs, seed), options, taught);
  if (test::sanitized) return;
  EXPECT_GT(sum / count, least);
  EXPECT_LT(sum / count, most);
}

TEST(PlantedAccuracy, OfAGcnThatLearnsItsLabelsByHeart) {
  const TrainOptions options{
      .precision = Precision::real, .hidden = 32, .epochs = 200, .weight_decay = 0.0F, .dropout = 0.0F};
  expect_accuracy({.train = 0.1, .signal = 0.2}, options, 0.741, 0.772);
}

TEST(PlantedAccuracy, OfAGcnThatForgetsMuch) {
  const TrainOptions options{.precision = Precision::real,
                             .hidden = 32,
                             .epochs = 40,
                             .learning_rate = 0.2F,
                             .optimizer = OptimizerKind::sgd,
                             .dropout = 0.8F};
  expect_accuracy({.train = 0.1, .signal = 0.25}, options, 0.73, 0.81);
}

TEST(PlantedAccuracy, OfAGcnInLargeSteps) {
  const TrainOptions options{.precision = Precision::real,
                             .hidden = 32,
                             .epochs = 80,
                             .learning_rate = 0.3F,
                             .optimizer = OptimizerKind::sgd,
                             .dropout = 0.6F};
  expect_accuracy({.train = 0.2}, options, 0.675, 0.709);
}

TEST(PlantedAccuracy, OfAGcnWhoseFirstLayerDecays) {
  const TrainOptions options{.precision = Precision::real, .hidden = 32, .epochs = 80, .weight_decay = 0.1F};
  expect_accuracy({.train = 0.1, .signal = 0.25}, options, 0.788, 0.818);
}

TEST(PlantedAccuracy, OfANarrowGcnThatJoinsItsLayers) {
  const TrainOptions options{
      .precision = Precision::real, .hidden = 6, .depth = 3, .jumping_knowledge = true, .epochs = 60, .dropout = 0.0F};
  expect_accuracy({.train = 0.2, .signal = 0.25}, options, 0.763, 0.793);
}

TEST(PlantedAccuracy, OfAFullGcnThatIsTaught) {
  expect_accuracy({.train = 0.05}, {.precision = Precision::full, .hidden = 32, .epochs = 100}, 0.579, 0.611, true);
}

TEST(PlantedAccuracy, OfAFullGcnInLargeSteps) {
  const TrainOptions options{
      .precision = Precision::full, .hidden = 32, .epochs = 40, .learning_rate = 0.3F, .optimizer = OptimizerKind::sgd};
  expect_accuracy({.train = 0.4}, options, 0.366, 0.597);
}

TEST(PlantedAccuracy, OfSage) {
  const TrainOptions options{.precision = Precision::real,
                             .architecture = Architecture::sage,
                             .hidden = 32,
                             .epochs = 40,
                             .dropout = 0.6F,
                             .batch_size = 100};
  expect_accuracy({.train = 0.4}, options, 0.573, 0.643);
}

TEST(PlantedAccuracy, OfBinarySage) {
  for (const auto& [precision, least, most] :
       {std::tuple{Precision::full, 0.526, 0.562}, std::tuple{Precision::bin, 0.467, 0.547}}) {
    SCOPED_TRACE(to_string(precision));
    const TrainOptions options{.precision = precision,
                               .architecture = Architecture::sage,
                               .hidden = 32,
                               .epochs = 40,
                               .learning_rate = 0.1F,
                               .optimizer = OptimizerKind::sgd,
                               .batch_size = 100};
    expect_accuracy({.train = 0.4}, options, least, most);
  }
}

/// Its teacher is trained as long as it is.
TEST(PlantedAccuracy, OfFullSageWithFewLabels) {
  const TrainOptions options{
      .precision = Precision::full, .architecture = Architecture::sage, .hidden = 32, .epochs = 60, .batch_size = 50};
  expect_accuracy({.train = 0.05, .signal = 0.2, .homophily = 0.6}, options, 0.66, 0.724);
}

TEST(PlantedAccuracy, OfSaint) {
  const TrainOptions options{.precision = Precision::real,
                             .architecture = Architecture::saint,
                             .hidden = 32,
                             .epochs = 60,
                             .learning_rate = 0.1F,
                             .optimizer = OptimizerKind::sgd};
  expect_accuracy({.train = 0.4}, options, 0.593, 0.643);
}

}  // namespace
}  // namespace bitgraph::nn
