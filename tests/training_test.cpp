// SPDX-License-Identifier: Apache-2.0
// Training, packed inference, model files, resumption.
#include "support/datasets.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"

#include <bitgraph/graph/generate.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/train.hpp>
#include <bitgraph/ops/log_softmax.hpp>

#include <gtest/gtest.h>

#include <omp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

namespace fs = std::filesystem;
using test::contents;
using test::TemporaryFolder;

Dataset planted() {
  return generate_planted_partition(
      {.num_nodes = 400, .num_classes = 4, .num_features = 120, .mean_degree = 8, .seed = 3});
}

double test_accuracy(const Model& model, const Dataset& dataset, Precision form) {
  InferencePlan plan(model, dataset, {.forms = model.layer_forms(form)});
  return score(plan.run(), dataset.labels, dataset.test).accuracy();
}

/// A model that has learned. Under a sanitizer a few epochs go the same way, and learn nothing yet.
void expect_learned(double accuracy, double least) {
  if (!test::sanitized) {
    EXPECT_GT(accuracy, least);
  }
}

TEST(Train, EveryPrecisionLearnsAPlantedPartition) {
  const Dataset dataset = planted();
  Model floats;
  for (const Precision precision : {Precision::real, Precision::full, Precision::bin}) {
    SCOPED_TRACE(to_string(precision));
    TrainOptions options{.precision = precision, .hidden = 32, .epochs = test::sanitized ? 6U : 150U};
    // A teacher that train() makes first takes hundreds of epochs.
    if (test::sanitized && precision != Precision::real) options.teacher = &floats;
    TrainResult result = train(dataset, options, Device::host(1));
    expect_learned(test_accuracy(result.model, dataset, precision), 0.85);
    EXPECT_GT(result.best_epoch, 0U);
    if (precision == Precision::real) floats = std::move(result.model);
  }
}

/// Same class everywhere, logits within 1e-4 of their size.
void expect_packed_matches_emulated(const Model& model, const Dataset& dataset, Precision form) {
  const DenseMatrix<float> expected = emulate(model, dataset, model.layer_forms(form));
  for (const int threads : {1, 2}) {
    InferencePlan plan(model, dataset, {.forms = model.layer_forms(form)}, Device::host(threads));
    const DenseMatrix<float>& actual = plan.run();
    float largest = 0;
    for (const float v : expected.values()) largest = std::max(largest, std::fabs(v));
    for (std::size_t n = 0; n < expected.values().size(); ++n) {
      ASSERT_NEAR(actual.values()[n], expected.values()[n], 1e-4F * largest) << to_string(form);
    }
    const auto a = predict(actual);
    const auto b = predict(expected);
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i], b[i]) << "node " << i;
  }
}

/// A model of precision full. Under a sanitizer its teacher learns little: one that is trained first takes hundreds of
/// epochs.
Model trained_in_signs(const Dataset& dataset, TrainOptions options) {
  options.precision = Precision::full;
  if (!test::sanitized) return train(dataset, options).model;
  const Model teacher = train(dataset, {.precision = Precision::real, .hidden = options.hidden, .epochs = 3}).model;
  options.teacher = &teacher;
  return train(dataset, options).model;
}

TEST(Infer, PackedFormsMatchTheEmulatedModel) {
  const Dataset dataset = planted();
  const Model model = trained_in_signs(dataset, {.hidden = 48, .epochs = 30});
  expect_packed_matches_emulated(model, dataset, Precision::full);
  expect_packed_matches_emulated(model, dataset, Precision::bin);
}

TEST(Infer, PackedFullMatchesTheEmulatedModelOnRealGraphs) {
  BITGRAPH_DATASETS_OR_SKIP(folder);
  for (const char* name : {"cora", "citeseer"}) {
    const Dataset dataset = load_dataset(folder / "npz" / (std::string(name) + ".npz"));
    expect_packed_matches_emulated(trained_in_signs(dataset, {.epochs = 5}), dataset, Precision::full);
  }
}

TEST(Infer, ARepeatedRunAllocatesNothing) {
  const Dataset dataset = planted();
  const TrainResult real = train(dataset, {.precision = Precision::real, .epochs = 2});
  const Model binary = trained_in_signs(dataset, {.epochs = 2});
  const auto check = [&](const Model& model, Precision form) {
    const Device device = Device::host(2);
    InferencePlan plan(model, dataset, {.forms = model.layer_forms(form)}, device);
    plan.run();
    const std::size_t before = device.memory().allocations;
    EXPECT_GT(before, 0U);
    plan.run();
    EXPECT_EQ(device.memory().allocations, before) << to_string(form);
  };
  check(real.model, Precision::real);
  check(binary, Precision::full);
  check(binary, Precision::bin);
}

TEST(Infer, DenseAndSparseFeaturesOfARealModelAgree) {
  const Dataset dataset = planted();
  const TrainResult result = train(dataset, {.precision = Precision::real, .epochs = 20});
  InferencePlan dense(result.model, dataset,
                      {.forms = result.model.layer_forms(Precision::real), .features = FeatureStorage::dense});
  InferencePlan sparse(result.model, dataset,
                       {.forms = result.model.layer_forms(Precision::real), .features = FeatureStorage::sparse});
  const auto& a = dense.run();
  const auto& b = sparse.run();
  for (std::size_t n = 0; n < a.values().size(); ++n) EXPECT_NEAR(a.values()[n], b.values()[n], 1e-4F);
}

TEST(Model, GoesThroughAFileUnchanged) {
  const TemporaryFolder folder;
  const Dataset dataset = planted();
  for (const Precision precision : {Precision::real, Precision::full}) {
    const TrainResult result = train(dataset, {.precision = precision, .epochs = 3});
    result.model.save(folder / "a.safetensors");
    const Model read = Model::load(folder / "a.safetensors");
    read.save(folder / "b.safetensors");
    EXPECT_EQ(contents(folder / "a.safetensors"), contents(folder / "b.safetensors"));
    EXPECT_EQ(test_accuracy(read, dataset, precision), test_accuracy(result.model, dataset, precision));
  }
}

TEST(Model, WhatDoesNotFitIsRefused) {
  const TemporaryFolder folder;
  const Dataset dataset = planted();
  const TrainResult result = train(dataset, {.precision = Precision::full, .epochs = 1});
  const Dataset wider = generate_planted_partition({.num_nodes = 100, .num_classes = 4, .num_features = 121});
  const Dataset more = generate_planted_partition({.num_nodes = 100, .num_classes = 5, .num_features = 120});
  EXPECT_THROW(InferencePlan(result.model, wider, {.forms = result.model.layer_forms(Precision::full)}), Error);
  EXPECT_THROW(InferencePlan(result.model, more, {.forms = result.model.layer_forms(Precision::full)}), Error);
  EXPECT_THROW(InferencePlan(result.model, dataset, {.forms = result.model.layer_forms(Precision::real)}), Error);
  result.model.save(folder / "m.safetensors");
  std::string bytes = contents(folder / "m.safetensors");
  const std::size_t at = bytes.find("layer1.weight_scale");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 5] = '7';
  std::ofstream(folder / "m.safetensors", std::ios::binary) << bytes;
  try {
    (void)Model::load(folder / "m.safetensors");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(std::string(error.what()).find("layer1.weight_scale"), std::string::npos) << error.what();
  }
}

TEST(Train, ASetWithoutTrainingNodesIsRefused) {
  Dataset dataset = planted();
  dataset.train.clear();
  EXPECT_THROW((void)train(dataset, {}), Error);
  EXPECT_THROW((void)train(planted(), {.hidden = 0}), Error);
  EXPECT_THROW((void)train(planted(), {.dropout = 1.0F}), Error);
}

TrainOptions resumable(const fs::path& checkpoint, std::uint64_t seed = 5) {
  const std::size_t epochs = test::sanitized ? 30 : 120;
  TrainOptions options{.precision = Precision::full, .hidden = 16, .epochs = epochs, .seed = seed};
  options.checkpoint = checkpoint;
  options.checkpoint_every = 3;
  return options;
}

/// Trains in a child process and kills it after `microseconds`; true where it was still running.
bool train_and_kill(const fs::path& checkpoint, useconds_t microseconds) {
  const pid_t child = ::fork();
  if (child == 0) {
    omp_set_num_threads(1);  // the parent's threads do not exist here
    (void)train(planted(), resumable(checkpoint), Device::host(1));
    ::_exit(0);
  }
  ::usleep(microseconds);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status);
}

TEST(Train, ARunThatIsKilledGoesOnAndEndsWithTheSameBits) {
  const TemporaryFolder folder;
  train(planted(), resumable(""), Device::host(1)).model.save(folder / "whole.safetensors");
  int killed = 0;
  for (int n = 0; n < 12; ++n)
    killed += train_and_kill(folder / "state", static_cast<useconds_t>(3000 + 2500 * n)) ? 1 : 0;
  train(planted(), resumable(folder / "state"), Device::host(1)).model.save(folder / "resumed.safetensors");
  EXPECT_GT(killed, 0);
  EXPECT_EQ(contents(folder / "whole.safetensors"), contents(folder / "resumed.safetensors"));
}

TEST(Train, ACheckpointOfAnotherRunOrADamagedOneIsRefused) {
  const TemporaryFolder folder;
  (void)train(planted(), resumable(folder / "state"), Device::host(1));
  EXPECT_THROW((void)train(planted(), resumable(folder / "state", 6), Device::host(1)), Error);
  std::string bytes = contents(folder / "state");
  std::ofstream(folder / "state", std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  EXPECT_THROW((void)train(planted(), resumable(folder / "state"), Device::host(1)), Error);
}

/// Where the checkpoint is of another run than `run`, or has come further.
void expect_refused(const Dataset& dataset, const TrainOptions& options, const std::string& message) {
  const std::string start = options.checkpoint.string() + ": " + message;
  try {
    (void)train(dataset, options, Device::host(1));
    ADD_FAILURE() << "taken: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_TRUE(std::string_view(error.what()).starts_with(start)) << error.what();
  }
}

TEST(Train, ACheckpointOfAnotherSplitOrOtherDataIsRefused) {
  const TemporaryFolder folder;
  TrainOptions options = resumable(folder / "state");
  options.epochs = 3;
  (void)train(planted(), options, Device::host(1));
  // As many nodes in each part, but others: what is tested must not have been trained with.
  Dataset other = planted();
  std::swap(other.train.back(), other.test.back());
  expect_refused(other, options, "a checkpoint of another run: dataset is ");
  other = planted();
  std::swap(other.validation.back(), other.test.back());
  expect_refused(other, options, "a checkpoint of another run: dataset is ");
  other = planted();
  other.labels[0] = (other.labels[0] + 1) % other.num_classes;
  expect_refused(other, options, "a checkpoint of another run: dataset is ");
  other = planted();
  other.features.values[0] += 1;
  expect_refused(other, options, "a checkpoint of another run: dataset is ");
  EXPECT_NO_THROW((void)train(planted(), options, Device::host(1)));
}

TEST(Train, ACheckpointGoesOnWithMoreEpochsButNotWithFewer) {
  const TemporaryFolder folder;
  TrainOptions options = resumable(folder / "state");
  options.epochs = 6;
  (void)train(planted(), options, Device::host(1));
  options.epochs = 5;
  expect_refused(planted(), options, "6 epochs are done, more than the 5 that are asked for");
  options.epochs = 9;
  train(planted(), options, Device::host(1)).model.save(folder / "more.safetensors");
  options.checkpoint.clear();
  train(planted(), options, Device::host(1)).model.save(folder / "whole.safetensors");
  EXPECT_EQ(contents(folder / "more.safetensors"), contents(folder / "whole.safetensors"));
}

TEST(Train, VotesComeInBySharesOfTheEpochsSoThatOtherEpochsAreAnotherRun) {
  const TemporaryFolder folder;
  TrainOptions options = resumable(folder / "state");
  options.precision = Precision::bin;
  options.epochs = 4;
  (void)train(planted(), options, Device::host(1));
  options.epochs = 8;
  expect_refused(planted(), options, "a checkpoint of another run: votes is 'after half of 4 epochs'");
}

TEST(Train, TheTeacherThatIsTrainedFirstHasACheckpointToo) {
  const TemporaryFolder folder;
  TrainOptions options{.precision = Precision::full, .architecture = Architecture::sage, .hidden = 8, .epochs = 4};
  options.checkpoint = folder / "state";
  options.checkpoint_every = 1;
  const TrainResult once = train(planted(), options, Device::host(1));
  fs::remove(folder / "state");
  fs::remove(folder / "state.teacher");
  struct Stop {};
  const auto stop_behind_the_teacher = [](const EpochReport& report) {
    if (!report.of_teacher) throw Stop();
  };
  EXPECT_THROW((void)train(planted(), options, Device::host(1), stop_behind_the_teacher), Stop);
  EXPECT_FALSE(fs::exists(folder / "state"));
  ASSERT_TRUE(fs::exists(folder / "state.teacher"));
  const std::string kept = contents(folder / "state.teacher");
  const TrainResult again = train(planted(), options, Device::host(1));
  EXPECT_EQ(kept, contents(folder / "state.teacher"));
  EXPECT_EQ(once.validation_loss, again.validation_loss);
}

/// Over a whole graph three networks are trained one behind another; each goes on where it was stopped.
TEST(Train, AStopInAnyOfTheTrainingsLeavesTheSameModel) {
  const TemporaryFolder folder;
  TrainOptions options{.precision = Precision::full, .hidden = 8, .epochs = 6};
  const std::string expected = train(planted(), options, Device::host(1)).model.fingerprint();
  std::size_t reports = 0;
  (void)train(planted(), options, Device::host(1), [&](const EpochReport&) { ++reports; });
  options.checkpoint = folder / "state";
  options.checkpoint_every = 20;
  struct Stop {};
  const std::vector<std::size_t> stops{reports / 3, 25, 2 * reports / 3, reports - 2};
  for (const std::size_t at : std::span(stops).first(test::sanitized ? 1 : stops.size())) {
    SCOPED_TRACE(testing::Message() << "report " << at << " of " << reports);
    std::size_t seen = 0;
    const auto stop = [&](const EpochReport&) {
      if (++seen == at) throw Stop();
    };
    EXPECT_THROW((void)train(planted(), options, Device::host(1), stop), Stop);
    EXPECT_TRUE(fs::exists(folder / "state.teacher.teacher"));
    EXPECT_EQ(train(planted(), options, Device::host(1)).model.fingerprint(), expected);
    for (const char* name : {"state", "state.teacher", "state.teacher.teacher"}) fs::remove(folder / name);
  }
}

TEST(Train, ACheckpointOfAnotherRunIsRefusedBeforeATeacherIsTrained) {
  const TemporaryFolder folder;
  TrainOptions options{.precision = Precision::full, .architecture = Architecture::sage, .hidden = 8, .epochs = 2};
  options.checkpoint = folder / "state";
  (void)train(planted(), options, Device::host(1));
  fs::rename(folder / "state.teacher", folder / "kept");
  options.hidden = 9;
  expect_refused(planted(), options, "a checkpoint of another run: hidden is '8', expected '9': remove it");
  EXPECT_FALSE(fs::exists(folder / "state.teacher"));

  fs::remove(folder / "state");
  fs::rename(folder / "kept", folder / "state.teacher");
  const std::string kept = contents(folder / "state.teacher");
  try {
    (void)train(planted(), options, Device::host(1));
    ADD_FAILURE() << "another teacher's checkpoint was taken";
  } catch (const Error& error) {
    const std::string start = (folder / "state.teacher").string() + ": a checkpoint of another run: ";
    EXPECT_TRUE(std::string_view(error.what()).starts_with(start)) << error.what();
    EXPECT_TRUE(std::string_view(error.what()).ends_with(": remove it, or give this run another")) << error.what();
  }
  EXPECT_EQ(kept, contents(folder / "state.teacher"));
}

TEST(Train, ALossThatIsNeverFiniteIsAnError) {
  try {
    (void)train(planted(), {.precision = Precision::real, .epochs = 3, .learning_rate = 1e38F}, Device::host(1));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
    EXPECT_TRUE(std::string_view(error.what()).starts_with("train: the loss is not finite in epoch 1")) << error.what();
  }
}

TEST(Train, FeaturesOfWhichNoneIsSetAreFeatures) {
  Dataset dataset = planted();
  const NodeId n = dataset.graph.nrows();
  dataset.features = {CsrPattern(n, 120, Buffer<EdgeOffset>(std::size_t{n} + 1, 0), {}), {}};
  for (const Precision precision : {Precision::real, Precision::full, Precision::bin}) {
    SCOPED_TRACE(to_string(precision));
    const TrainResult result = train(dataset, {.precision = precision, .hidden = 8, .epochs = 3}, Device::host(1));
    InferencePlan plan(result.model, dataset, {.forms = result.model.layer_forms(precision)});
    for (const float logit : plan.run().values()) EXPECT_TRUE(std::isfinite(logit));
  }
}

TEST(Train, ReachesGoodAccuracyOnCora) {
  BITGRAPH_DATASETS_OR_SKIP(folder);
  const Dataset dataset = load_dataset(folder / "npz" / "cora.npz");
  const std::size_t epochs = test::sanitized ? 2 : 100;
  const TrainResult real = train(dataset, {.precision = Precision::real, .epochs = epochs}, Device::host(1));
  expect_learned(test_accuracy(real.model, dataset, Precision::real), 0.79);
  const TrainResult full = train(dataset, {.precision = Precision::full, .epochs = 3 * epochs}, Device::host(1));
  expect_learned(test_accuracy(full.model, dataset, Precision::full), 0.74);
}

}  // namespace
}  // namespace bitgraph::nn
