// SPDX-License-Identifier: Apache-2.0
// Training of every architecture, on the host and on a CUDA device.
#include "nn/model/architectures.hpp"
#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"

#include <bitgraph/graph/generate.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/train.hpp>
#include <bitgraph/ops/log_softmax.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

const std::vector<Architecture> architectures = all_architectures();

const Dataset& planted() {
  static const Dataset dataset = generate_planted_partition(
      {.num_nodes = 400, .num_classes = 4, .num_features = 120, .mean_degree = 8, .seed = 3});
  return dataset;
}

/// The same with half of the nodes in training: 80 of 400 have a fifth of their edges between them, and sums of three
/// layers that learned from those say nothing about a whole graph.
const Dataset& half_planted() {
  static const Dataset dataset = [] {
    Dataset half = generate_planted_partition(
        {.num_nodes = 400, .num_classes = 4, .num_features = 120, .mean_degree = 8, .seed = 3});
    inductive_split(half, {}, 1);
    return half;
  }();
  return dataset;
}

double test_accuracy(const Model& model, Precision form, const Dataset& dataset = planted()) {
  InferencePlan plan(model, dataset, {.forms = model.layer_forms(form)});
  return score(plan.run(), dataset.labels, dataset.test).accuracy();
}

TrainOptions quick(Architecture architecture, Precision precision) {
  return {.precision = precision,
          .architecture = architecture,
          .hidden = 32,
          .epochs = test::sanitized                ? 4
                    : precision == Precision::real ? 60
                                                   : 120,
          .learning_rate = 1e-2F};
}

void expect_all_learn(const Device& device) {
  for (const Architecture architecture : architectures) {
    Model floats;
    for (const Precision precision : {Precision::real, Precision::full, Precision::bin}) {
      TrainOptions options = quick(architecture, precision);
      // A teacher that train() makes first takes hundreds of epochs.
      if (test::sanitized && precision != Precision::real) options.teacher = &floats;
      TrainResult result = train(planted(), options, device);
      EXPECT_GT(test_accuracy(result.model, precision), test::sanitized ? 0 : 0.8)
          << to_string(architecture) << " " << to_string(precision) << " on " << device.name();
      EXPECT_EQ(result.model.architecture, architecture);
      if (precision == Precision::real) floats = std::move(result.model);
    }
  }
}

TEST(StackTraining, EveryArchitectureLearnsAPlantedPartition) { expect_all_learn(Device::host(1)); }

TEST(StackTraining, EveryArchitectureLearnsOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  expect_all_learn(*test::cuda_device());
}

/// Nodes have few features or many, of thousands: the first layer's input is which ones, whatever their number.
TEST(StackTraining, SignsOfSparseFeaturesSayWhichANodeHas) {
  Dataset dataset = generate_planted_partition(
      {.num_nodes = 800, .num_classes = 4, .num_features = 3000, .mean_degree = 8, .features_a_node = 15, .seed = 3});
  inductive_split(dataset, {}, 1);
  TrainOptions options = quick(Architecture::sage, Precision::full);
  options.epochs = test::sanitized ? 4 : 40;
  const Model model = train(dataset, options, Device::host(1)).model;
  for (const float shift : model.input_mean) EXPECT_EQ(shift, 0.5F);
  for (const float scale : model.input_inverse_deviation) EXPECT_EQ(scale, 2.0F);
  InferencePlan plan(model, dataset, {.forms = model.layer_forms(Precision::full)});
  EXPECT_GT(score(plan.run(), dataset.labels, dataset.test).accuracy(), test::sanitized ? 0 : 0.8);
}

/// A few of thousands of features are set, so a device takes them as entries, as the host does.
TEST(StackTraining, SamplesOfSparseFeaturesTrainOnADeviceAsOnTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  Dataset dataset = generate_planted_partition(
      {.num_nodes = 800, .num_classes = 4, .num_features = 3000, .mean_degree = 8, .features_a_node = 15, .seed = 3});
  inductive_split(dataset, {}, 1);
  for (const Architecture architecture : architectures) {
    if (!traits_of(architecture).sampled()) continue;
    TrainOptions options = quick(architecture, Precision::real);
    options.epochs = 2;
    options.batch_size = 64;
    options.dropout = 0.3F;
    const Model here = train(dataset, options, Device::host(1)).model;
    const Model there = train(dataset, options, *test::cuda_device()).model;
    for (std::size_t l = 0; l < here.layers.size(); ++l) {
      const auto expected = here.layers[l].neighbor.floats().values();
      const auto actual = there.layers[l].neighbor.floats().values();
      ASSERT_EQ(actual.size(), expected.size());
      double difference = 0;
      double size = 0;
      for (std::size_t n = 0; n < expected.size(); ++n) {
        difference += std::abs(static_cast<double>(actual[n]) - static_cast<double>(expected[n]));
        size += std::abs(static_cast<double>(expected[n]));
      }
      EXPECT_LT(difference, 1e-3 * size) << to_string(architecture) << ", layer " << l;
    }
  }
}

/// No gradient reaches the unit that keeps the scales of hidden rows alike: it is in the model as it was made.
TEST(StackTraining, AConstantUnitGoesWithEveryBinaryHiddenLayerThatIsSampled) {
  TrainOptions options = quick(Architecture::saint, Precision::full);
  options.epochs = 3;
  EXPECT_FLOAT_EQ(train(planted(), options, Device::host(1)).model.layers[1].root.bias[0], 32.0F);
  options.precision = Precision::bin;
  EXPECT_EQ(train(planted(), options, Device::host(1)).model.layers[1].root.bias[0], 32.0F);
  options.hidden = 8;
  EXPECT_LT(train(planted(), options, Device::host(1)).model.layers[1].root.bias[0], 1.0F) << "too narrow to spare one";
}

TEST(StackTraining, JumpingKnowledge) {
  for (const Architecture architecture : architectures) {
    Model floats;
    for (const Precision& precision : {Precision::real, Precision::bin}) {
      TrainOptions options = quick(architecture, precision);
      options.jumping_knowledge = true;
      if (test::sanitized && precision != Precision::real) options.teacher = &floats;
      Model model = train(planted(), options, Device::host(1)).model;
      EXPECT_TRUE(model.concatenates());
      EXPECT_GT(test_accuracy(model, precision), test::sanitized ? 0 : 0.7) << to_string(architecture);
      floats = std::move(model);
    }
  }
}

TEST(StackTraining, AnyDepth) {
  for (const Architecture architecture : architectures) {
    for (const std::size_t depth : {1, 3}) {
      TrainOptions options = quick(architecture, Precision::real);
      options.depth = depth;
      const Dataset& dataset = traits_of(architecture).sampled() ? half_planted() : planted();
      const TrainResult result = train(dataset, options, Device::host(1));
      EXPECT_EQ(result.model.depth(), depth);
      EXPECT_GT(test_accuracy(result.model, Precision::real, dataset), test::sanitized ? 0 : 0.7)
          << to_string(architecture) << " " << depth;
    }
  }
}

/// What is left of a run that ended early, and what a run that goes on from it comes to.
void expect_to_go_on(const Device& device, Architecture architecture, Precision precision) {
  SCOPED_TRACE(std::string(to_string(architecture)) + " " + std::string(to_string(precision)) + " " + device.name());
  const test::TemporaryFolder folder;
  TrainOptions options = quick(architecture, precision);
  options.hidden = 8;
  options.depth = 3;
  constexpr std::size_t stop = test::sanitized ? 3 : 7;
  options.epochs = stop + 2;
  options.batch_size = 30;
  options.dropout = 0.3F;
  options.checkpoint_every = 2;
  train(planted(), options, device).model.save(folder / "whole.safetensors");
  options.checkpoint = folder / "state";
  struct Stop {};
  const auto stop_early = [](const EpochReport& report) {
    if (report.epoch == stop) throw Stop();
  };
  EXPECT_THROW((void)train(planted(), options, device, stop_early), Stop);
  train(planted(), options, device).model.save(folder / "resumed.safetensors");
  EXPECT_EQ(test::contents(folder / "whole.safetensors"), test::contents(folder / "resumed.safetensors"));
}

TEST(StackTraining, ARunThatStoppedGoesOnAndEndsWithTheSameBits) {
  for (const Architecture architecture : architectures) {
    for (const Precision precision : {Precision::real, Precision::full, Precision::of_levels(4, 4, 4)}) {
      // Teachers take hundreds of epochs.
      if (test::sanitized && precision == Precision::full && architecture != Architecture::sage) continue;
      expect_to_go_on(Device::host(1), architecture, precision);
    }
  }
}

TEST(StackTraining, ARunThatStoppedOnADeviceGoesOnAndEndsWithTheSameBits) {
  BITGRAPH_REQUIRE_CUDA();
  for (const Architecture architecture : architectures) {
    for (const Precision precision : {Precision::real, Precision::full, Precision::bin, Precision::of_levels(4, 4, 4)})
      expect_to_go_on(*test::cuda_device(), architecture, precision);
  }
}

TEST(StackTraining, ACheckpointOfAnotherArchitectureOrSampleIsRefused) {
  const test::TemporaryFolder folder;
  TrainOptions options = quick(Architecture::sage, Precision::real);
  options.epochs = 1;
  options.checkpoint = folder / "state";
  (void)train(planted(), options, Device::host(1));
  TrainOptions other = options;
  other.architecture = Architecture::inductive_gcn;
  EXPECT_THROW((void)train(planted(), other, Device::host(1)), Error);
  other = options;
  other.fan_outs = {25, 11};
  EXPECT_THROW((void)train(planted(), other, Device::host(1)), Error);
  EXPECT_NO_THROW((void)train(planted(), options, Device::host(1)));
}

TEST(StackTraining, ATeacherThatIsGivenTeachesWhatOneThatIsTrainedFirstDoes) {
  const test::TemporaryFolder folder;
  for (const Architecture architecture : {Architecture::inductive_gcn, Architecture::saint}) {
    TrainOptions real = quick(architecture, Precision::real);
    real.epochs = 5;
    real.learning_rate.reset();
    const Model teacher = train(planted(), real, Device::host(1)).model;
    TrainOptions options = quick(architecture, Precision::full);
    options.epochs = 5;
    train(planted(), options, Device::host(1)).model.save(folder / "own.safetensors");
    options.teacher = &teacher;
    train(planted(), options, Device::host(1)).model.save(folder / "given.safetensors");
    EXPECT_EQ(test::contents(folder / "own.safetensors"), test::contents(folder / "given.safetensors"));
  }
  TrainOptions other = quick(Architecture::sage, Precision::real);
  other.epochs = 1;
  const Model teacher = train(planted(), other, Device::host(1)).model;
  TrainOptions options = quick(Architecture::gcn, Precision::full);
  options.epochs = 5;
  train(planted(), options, Device::host(1)).model.save(folder / "alone.safetensors");
  options.teacher = &teacher;
  train(planted(), options, Device::host(1)).model.save(folder / "taught.safetensors");
  EXPECT_NE(test::contents(folder / "alone.safetensors"), test::contents(folder / "taught.safetensors"));
}

TEST(StackTraining, ATeacherThatDoesNotFitOrIsBinaryOrAnotherThanTheCheckpointsIsRefused) {
  const test::TemporaryFolder folder;
  TrainOptions options = quick(Architecture::sage, Precision::real);
  options.epochs = 1;
  const Model real = train(planted(), options, Device::host(1)).model;
  options.seed = 1;
  const Model another = train(planted(), options, Device::host(1)).model;
  options.precision = Precision::full;
  options.teacher = &real;
  options.checkpoint = folder / "state";
  const Model binary = train(planted(), options, Device::host(1)).model;
  EXPECT_NO_THROW((void)train(planted(), options, Device::host(1)));
  options.teacher = &another;
  EXPECT_THROW((void)train(planted(), options, Device::host(1)), Error);
  options.checkpoint.clear();
  options.teacher = &binary;
  test::expect_usage_error([&] { (void)train(planted(), options, Device::host(1)); }, "in full precision");
  options.teacher = &real;
  const Dataset narrow =
      generate_planted_partition({.num_nodes = 100, .num_classes = 4, .num_features = 60, .mean_degree = 8, .seed = 3});
  EXPECT_THROW((void)train(narrow, options, Device::host(1)), Error);
}

/// The epochs that had the best accuracy and, among those, the least loss; and the least loss of all.
TEST(StackTraining, AccuracySaysWhichEpochIsBestForBinaryFormsButBinOfAGcn) {
  const auto best_epochs = [](const TrainOptions& options) {
    std::vector<EpochReport> reports;
    const TrainResult result = train(planted(), options, Device::host(1), [&](const EpochReport& report) {
      if (!report.of_teacher) reports.push_back(report);
    });
    const auto by_accuracy = std::min_element(reports.begin(), reports.end(), [](const auto& a, const auto& b) {
      return a.validation_accuracy != b.validation_accuracy ? a.validation_accuracy > b.validation_accuracy
                                                            : a.validation_loss < b.validation_loss;
    });
    const auto by_loss = std::min_element(reports.begin(), reports.end(), [](const auto& a, const auto& b) {
      return a.validation_loss < b.validation_loss;
    });
    return std::array{result.best_epoch, by_accuracy->epoch, by_loss->epoch};
  };
  for (std::uint64_t seed = 0; seed < (test::sanitized ? 1 : 3); ++seed) {
    TrainOptions options = quick(Architecture::inductive_gcn, Precision::full);
    options.epochs = test::sanitized ? 8 : 40;
    options.seed = seed;
    const auto full = best_epochs(options);
    EXPECT_EQ(full[0], full[1]);
    options.precision = Precision::real;
    const auto real = best_epochs(options);
    EXPECT_EQ(real[0], real[2]);
    options.architecture = Architecture::gcn;
    options.precision = Precision::full;
    const auto whole = best_epochs(options);
    EXPECT_EQ(whole[0], whole[1]);
    options.precision = Precision::bin;
    const auto votes = best_epochs(options);
    EXPECT_EQ(votes[0], votes[2]);
  }
}

TEST(StackTraining, SamplesThatCannotBeAreRefused) {
  const auto refuse = [](TrainOptions options, const char* message) {
    test::expect_usage_error([&] { (void)train(planted(), options, Device::host(1)); }, message);
  };
  TrainOptions options = quick(Architecture::sage, Precision::real);
  options.fan_outs = {25};
  refuse(options, "1 fan-outs for 2 layers");
  options.fan_outs = {25, 0};
  refuse(options, "a fan-out must be at least 1");
  options = quick(Architecture::sage, Precision::real);
  options.batch_size = 0;
  refuse(options, "a batch needs at least one node");
  options = quick(Architecture::saint, Precision::real);
  options.walk_roots = 0;
  refuse(options, "a sample needs at least one walk");
  options.depth = 0;
  refuse(options, "at least one layer");
}

}  // namespace
}  // namespace bitgraph::nn
