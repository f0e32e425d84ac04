// SPDX-License-Identifier: Apache-2.0
// Few features that are numbers become several signs each: where the thresholds lie, when there are some, and that a
// trained model has them in its plans, files and updates.
#include "nn/training/recipe/feature_codes.hpp"

#include <bitgraph/core/random.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/train.hpp>
#include <bitgraph/ops/log_softmax.hpp>

#include "support/cuda_device.hpp"
#include "support/expect_error.hpp"
#include "support/near_logits.hpp"
#include "support/planted_data.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

/// Two numbers a node. The first lies in the middle of its range for one class and at both ends for the other: no one
/// sign of it tells them apart. The second is noise.
Dataset of_numbers(std::size_t nodes = 400) {
  Dataset dataset = test::planted_data(
      {.nodes = static_cast<NodeId>(nodes), .classes = 2, .train = nodes / 2, .validation = nodes / 4, .mixing = 0.9});
  std::vector<bool> taken(nodes);
  for (const auto* part : {&dataset.train, &dataset.validation}) {
    for (const NodeId node : *part) taken[node] = true;
  }
  for (NodeId i = 0; i < nodes; ++i) {
    if (!taken[i]) dataset.test.push_back(i);
  }
  dataset.features = {};
  dataset.dense_features = DenseMatrix<float>(nodes, 2);
  const RandomKey key{11, 0, 0};
  for (std::size_t i = 0; i < nodes; ++i) {
    const float drawn = 2 * random_uniform(key, 3 * i) - 1, side = random_uniform(key, 3 * i + 1) < 0.5F ? -1.0F : 1.0F;
    dataset.dense_features(i, 0) = dataset.labels[i] == 0 ? 3 * drawn : side * (5 + drawn);
    dataset.dense_features(i, 1) = random_uniform(key, 3 * i + 2);
  }
  return dataset;
}

TrainOptions complete(const TrainOptions& options, const Dataset& dataset) { return preset(options, size_of(dataset)); }

Dataset with_column(std::vector<float> values) {
  Dataset dataset = of_numbers(values.size());
  dataset.dense_features = DenseMatrix<float>(values.size(), 1);
  std::copy(values.begin(), values.end(), dataset.dense_features.values().begin());
  return dataset;
}

std::vector<float> thresholds_of(const Dataset& dataset, std::size_t count) {
  const Buffer<float> all = feature_thresholds(dataset, complete({}, dataset), count);
  return {all.begin(), all.end()};
}

TEST(FeatureCodes, ThresholdsPartTheNodesAsEquallyAsValuesAllow) {
  std::vector<float> values(100);
  for (std::size_t i = 0; i < 100; ++i) values[i] = static_cast<float>((i * 37) % 100);
  EXPECT_EQ(thresholds_of(with_column(values), 3), (std::vector{24.5F, 49.5F, 74.5F}));
  for (std::size_t i = 0; i < 100; ++i) values[i] = i % 10 == 0 ? 1.0F : 0.0F;
  EXPECT_EQ(thresholds_of(with_column(values), 4), (std::vector{0.5F, 0.5F, 0.5F, 0.5F})) << "two values";
  for (float& value : values) value = 7;
  EXPECT_EQ(thresholds_of(with_column(values), 2), (std::vector{7.0F, 7.0F})) << "one value";
  for (std::size_t i = 0; i < 100; ++i) values[i] = i < 50 ? 1.0F : std::nextafter(1.0F, 2.0F);
  EXPECT_EQ(thresholds_of(with_column(values), 1), (std::vector{std::nextafter(1.0F, 2.0F)})) << "nothing between";
  constexpr float most = std::numeric_limits<float>::max();
  for (std::size_t i = 0; i < 100; ++i) values[i] = i < 50 ? -most : most;
  EXPECT_EQ(thresholds_of(with_column(values), 1), (std::vector{0.0F})) << "their difference is infinite";
}

TEST(FeatureCodes, AreOnesForTheThresholdsThatAFeatureIsNotBelow) {
  const Dataset dataset = with_column({1, 5, 3, 2});
  const Buffer<float> thresholds = Buffer<float>::copy_of(std::vector{1.5F, 3.0F});
  const Dataset coded = with_codes(dataset, thresholds);
  EXPECT_NO_THROW(coded.validate());
  const CsrPattern& pattern = coded.features.pattern;
  ASSERT_EQ(pattern.ncols(), 2U);
  const std::vector<std::vector<NodeId>> expected{{}, {0, 1}, {0, 1}, {0}};
  for (NodeId i = 0; i < 4; ++i) EXPECT_TRUE(std::ranges::equal(pattern.row(i), expected[i])) << i;
}

TEST(FeatureCodes, AreTakenOfFewNumbersAlone) {
  const auto chosen = [](const Dataset& dataset, const TrainOptions& options) {
    return choose_thresholds(dataset, complete(options, dataset));
  };
  Dataset dataset = of_numbers();
  for (const Precision form : {Precision::full, Precision::bin}) EXPECT_EQ(chosen(dataset, {.precision = form}), 15U);
  for (const Precision form : {Precision::real, Precision::of_levels(4, 4, 4)})
    EXPECT_EQ(chosen(dataset, {.precision = form}), 1U);
  EXPECT_EQ(chosen(dataset, {.thresholds = 3}), 3U) << "as it was asked for";
  for (const auto& [columns, expected] : {std::pair{32, 8}, {64, 4}, {65, 1}}) {
    dataset.dense_features = DenseMatrix<float>(400, static_cast<std::size_t>(columns));
    for (std::size_t n = 0; n < dataset.dense_features.values().size(); ++n)
      dataset.dense_features.values()[n] = random_uniform({5}, n);
    EXPECT_EQ(chosen(dataset, {}), static_cast<std::size_t>(expected)) << columns;
  }
  dataset = of_numbers();
  for (float& value : dataset.dense_features.values()) value = value > 0 ? 1.0F : 0.0F;
  EXPECT_EQ(chosen(dataset, {}), 1U) << "two values";
  // Numbers of nodes that are neither for training nor for validation count for nothing.
  for (const NodeId node : dataset.test) dataset.dense_features(node, 0) = static_cast<float>(node) + 0.5F;
  EXPECT_EQ(chosen(dataset, {}), 1U);
}

TEST(FeatureCodes, OfInductiveTrainingAreOfTrainingNodes) {
  Dataset dataset = of_numbers();
  const auto inductive = [&] {
    return feature_thresholds(
        dataset, complete({.architecture = Architecture::sage, .sample_from = SampleFrom::training}, dataset), 5);
  };
  const Buffer<float> before = inductive(), of_all = feature_thresholds(dataset, complete({}, dataset), 5);
  for (const auto* nodes : {&dataset.validation, &dataset.test}) {
    for (const NodeId node : *nodes) dataset.dense_features(node, 0) += 100;
  }
  EXPECT_TRUE(std::ranges::equal(inductive(), before));
  EXPECT_FALSE(std::ranges::equal(feature_thresholds(dataset, complete({}, dataset), 5), of_all));
}

TEST(FeatureCodes, TellClassesApartThatOneSignCannot) {
  const Dataset dataset = of_numbers();
  for (const Precision form : {Precision::full, Precision::bin}) {
    const auto accuracy = [&](std::optional<std::size_t> thresholds) {
      const TrainOptions options{
          .precision = form, .architecture = Architecture::sage, .hidden = 32, .epochs = 60, .thresholds = thresholds};
      const Model model = train(dataset, options, Device::host(1)).model;
      EXPECT_EQ(model.thresholds, thresholds.value_or(15));
      EXPECT_EQ(model.num_features(), 2U);
      InferencePlan plan(model, dataset, {}, Device::host(1));
      return score(plan.run(), dataset.labels, dataset.test).accuracy();
    };
    EXPECT_GT(accuracy({}), accuracy(1) + 0.1) << to_string(form);
  }
}

Model trained_model(Architecture architecture, const Dataset& dataset) {
  const TrainOptions options{.architecture = architecture, .hidden = 20, .epochs = 3};
  return train(dataset, options, Device::host(1)).model;
}

TEST(FeatureCodes, PlansMatchPlainArithmeticAndPredictTheirMemory) {
  const Dataset dense = of_numbers();
  Dataset sparse = of_numbers();
  sparse.features = sparse_features(sparse.dense_features);
  sparse.dense_features = {};
  for (const Architecture architecture : {Architecture::gcn, Architecture::sage, Architecture::gin}) {
    const Model model = trained_model(architecture, dense);
    const std::vector<Precision> forms = model.layer_forms(Precision::full);
    const DenseMatrix<float> expected = emulate(model, dense, forms);
    for (const Dataset* dataset : {&dense, &std::as_const(sparse)}) {
      for (const FeatureStorage storage : {FeatureStorage::sparse, FeatureStorage::dense}) {
        const Device device = Device::host(1);
        InferencePlan plan(model, *dataset, {.forms = forms, .features = storage}, device);
        EXPECT_LT(test::distance(plan.run(), expected), 1e-3);
        const auto peak = static_cast<double>(device.memory().peak);
        EXPECT_NEAR(static_cast<double>(plan.predicted().bytes), peak, 0.02 * peak);
      }
    }
  }
}

TEST(FeatureCodes, PlansOnADeviceMatchPlainArithmetic) {
  BITGRAPH_REQUIRE_CUDA();
  const Dataset dataset = of_numbers();
  for (const Architecture architecture : {Architecture::gcn, Architecture::sage, Architecture::gin}) {
    const Model model = trained_model(architecture, dataset);
    InferencePlan plan(model, dataset, {}, *test::cuda_device());
    const DenseMatrix<float> expected = emulate(model, dataset, model.layer_forms(Precision::full));
    EXPECT_LT(test::distance(plan.run().to(Device()), expected), 1e-3);
  }
}

TEST(FeatureCodes, AreInTheModelsFile) {
  const Dataset dataset = of_numbers();
  const test::TemporaryFolder folder;
  const Model model = trained_model(Architecture::gcn, dataset);
  model.save(folder / "m.safetensors");
  const Model loaded = Model::load(folder / "m.safetensors");
  EXPECT_EQ(loaded.thresholds, model.thresholds);
  EXPECT_EQ(loaded.fingerprint(), model.fingerprint());
  EXPECT_EQ(test::distance(InferencePlan(loaded, dataset).run(), InferencePlan(model, dataset).run()), 0);
}

TEST(FeatureCodes, RowsOfFeaturesCanChange) {
  const Dataset dataset = of_numbers();
  const Model model = trained_model(Architecture::sage, dataset);
  Dataset changed = of_numbers();
  const std::vector<NodeId> nodes{5, 399, 0};
  DenseMatrix<float> rows(3, 2);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 2; ++j) rows(i, j) = changed.dense_features(nodes[i], j) = static_cast<float>(i * j);
  }
  const DenseMatrix<float> expected = InferencePlan(model, changed).run().clone();
  InferencePlan plan(model, dataset);
  EXPECT_NE(test::distance(plan.run(), expected), 0);
  plan.set_features(nodes, rows);
  EXPECT_EQ(test::distance(plan.run(), expected), 0);
  plan.set_features(dataset.dense_features);
  EXPECT_EQ(test::distance(plan.run(), InferencePlan(model, dataset).run()), 0);
  DenseMatrix<float> infinite = dataset.dense_features.clone();
  infinite(7, 1) = std::nanf("");
  test::expect_bad_input([&] { plan.set_features(infinite); }, "features: row 7 has a value that is not finite");
}

TEST(FeatureCodes, WhatDoesNotFitIsRefused) {
  const Dataset dataset = of_numbers();
  const auto refused = [&](TrainOptions options, const std::string& message) {
    test::expect_error([&] { (void)train(dataset, options, Device::host(1)); }, ErrorCode::usage, message);
  };
  refused({.precision = Precision::real, .thresholds = 4}, "train: thresholds of features are for full and bin");
  for (const std::size_t count : {0, 65})
    refused({.thresholds = count}, "train: " + std::to_string(count) + " thresholds of a feature, expected 1 to 64");
  const Model real = train(dataset, {.precision = Precision::real, .epochs = 1}, Device::host(1)).model;
  refused({.thresholds = 4, .start = &real},
          "train: the starting weights have one input for each feature, thresholds need more");
  Model model = trained_model(Architecture::gcn, dataset);
  model.thresholds = 7;
  test::expect_bad_input([&] { model.validate(); }, "the model: its 30 inputs are not 7 of each feature");
}

}  // namespace
}  // namespace bitgraph::nn
