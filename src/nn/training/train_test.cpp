// SPDX-License-Identifier: Apache-2.0
// The training loop: its recipes, the epochs that it runs, what it reports, and which epoch's weights it returns.
#include <bitgraph/nn/train.hpp>

#include "support/network_cases.hpp"

#include <bitgraph/nn/infer.hpp>
#include <bitgraph/ops/log_softmax.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using test::FeatureKind;
using test::NetworkCase;

struct Recipe {
  Architecture architecture;
  Precision precision;
  bool dense;
  std::size_t training_nodes, epochs;
  float learning_rate, weight_decay, dropout;
};

/// 512 nodes of a step; 6000 walks of 2 steps, that is 18,000 nodes; 2000 steps in all, 30 to 300 epochs.
const std::vector<Recipe> recipes{
    {Architecture::gcn, Precision::real, false, 140, 200, 1e-2F, 5e-4F, 0.5F},
    {Architecture::gcn, Precision::real, true, 140, 200, 1e-2F, 5e-4F, 0.5F},
    {Architecture::gcn, Precision::full, false, 140, 1000, 1e-3F, 5e-4F, 0.4F},
    {Architecture::gcn, Precision::bin, false, 140, 1000, 1e-3F, 5e-4F, 0.4F},
    {Architecture::gcn, Precision::bin, true, 0, 1000, 1e-3F, 5e-4F, 0.4F},
    {Architecture::inductive_gcn, Precision::real, false, 0, 100, 1e-2F, 0, 0.5F},
    {Architecture::inductive_gcn, Precision::full, false, 140, 300, 3e-3F, 0, 0.3F},
    {Architecture::inductive_gcn, Precision::bin, true, 5120, 200, 3e-3F, 0, 0.5F},
    {Architecture::sage, Precision::real, false, 512000, 30, 1e-2F, 0, 0.5F},
    {Architecture::sage, Precision::full, true, 20480, 50, 3e-3F, 0, 0.5F},
    {Architecture::sage, Precision::bin, false, 5120, 200, 3e-3F, 0, 0.3F},
    {Architecture::saint, Precision::real, true, 0, 100, 1e-2F, 0, 0.5F},
    {Architecture::saint, Precision::full, false, 180000, 200, 3e-3F, 0, 0.3F},
    {Architecture::saint, Precision::bin, false, 180000, 200, 3e-3F, 0, 0.3F},
    {Architecture::saint, Precision::bin, false, 9000, 300, 3e-3F, 0, 0.3F},
};

TEST(Preset, IsTheTableOfRecipes) {
  for (const Recipe& row : recipes) {
    SCOPED_TRACE(std::string(to_string(row.architecture)) + " " + to_string(row.precision));
    const TrainOptions made =
        preset({.precision = row.precision, .architecture = row.architecture}, row.training_nodes, row.dense);
    EXPECT_EQ(*made.epochs, row.epochs);
    EXPECT_EQ(*made.learning_rate, row.learning_rate);
    EXPECT_EQ(*made.weight_decay, row.weight_decay);
    EXPECT_EQ(*made.dropout, row.dropout);
    EXPECT_EQ(*made.batch_size, 512U);
    EXPECT_EQ(*made.walk_roots, 6000U);
    EXPECT_EQ(*made.walk_length, 2U);
    EXPECT_EQ(made.fan_outs, (std::vector<std::size_t>{25, 10}));
  }
  EXPECT_EQ(preset({.depth = 3}).fan_outs, (std::vector<std::size_t>{25, 10, 10}));
}

TEST(Preset, KeepsWhatIsGiven) {
  for (const Recipe& row : recipes) {
    const TrainOptions made = preset({.precision = row.precision,
                                      .architecture = row.architecture,
                                      .epochs = 7,
                                      .learning_rate = 0.25F,
                                      .weight_decay = 0.125F,
                                      .dropout = 0.0625F,
                                      .batch_size = 8,
                                      .fan_outs = {4, 3},
                                      .walk_roots = 9,
                                      .walk_length = 5},
                                     row.training_nodes, row.dense);
    EXPECT_EQ(*made.epochs, 7U);
    EXPECT_EQ(*made.learning_rate, 0.25F);
    EXPECT_EQ(*made.weight_decay, 0.125F);
    EXPECT_EQ(*made.dropout, 0.0625F);
    EXPECT_EQ(*made.batch_size, 8U);
    EXPECT_EQ(made.fan_outs, (std::vector<std::size_t>{4, 3}));
    EXPECT_EQ(*made.walk_roots, 9U);
    EXPECT_EQ(*made.walk_length, 5U);
  }
}

/// fn(network) for each network, form, kind of features and depth.
void for_each_network(const std::function<void(const NetworkCase&)>& fn) {
  for (const Architecture architecture :
       {Architecture::gcn, Architecture::inductive_gcn, Architecture::sage, Architecture::saint}) {
    for (const Precision& precision : {Precision::real, Precision::full, Precision::bin}) {
      fn({.architecture = architecture, .precision = precision});
      fn({.architecture = architecture, .precision = precision, .depth = 3});
      fn({.architecture = architecture, .precision = precision, .features = FeatureKind::dense});
    }
  }
}

DenseMatrix<float> logits_of(const Model& model, const Dataset& dataset) {
  return InferencePlan(model, dataset).run().to(Device{});
}

/// A float model to learn from, of another width than the networks: they do not start from its weights.
Model teacher_for(const Dataset& dataset, std::uint64_t seed) {
  return train(dataset, {.precision = Precision::real, .hidden = 5, .epochs = 30, .seed = seed}, Device::host(2)).model;
}

/// What train() takes from a teacher.
DenseMatrix<float> probabilities_of(const Model& teacher, const Dataset& dataset) {
  DenseMatrix<float> probabilities = logits_of(teacher, dataset);
  log_softmax_into(probabilities, probabilities);
  for (float& p : probabilities.values()) p = std::exp(p);
  return probabilities;
}

TEST(Train, RunsTheEpochsOfTheTrainerByItsRecipe) {
  for_each_network([](const NetworkCase& network) {
    SCOPED_TRACE(network.name());
    const Dataset dataset = test::planted_data({.kind = network.features});
    const Model teacher = teacher_for(dataset, 1);
    TrainOptions options{.precision = network.precision,
                         .architecture = network.architecture,
                         .hidden = 10,
                         .depth = network.depth,
                         .epochs = 4};
    if (!network.real()) options.teacher = &teacher;
    std::vector<EpochReport> reports;
    (void)train(dataset, options, Device::host(2), [&](const EpochReport& report) { reports.push_back(report); });
    ASSERT_EQ(reports.size(), 4U);
    const TrainOptions recipe = preset(options, dataset.train.size(), dataset.has_dense_features());
    DenseMatrix<float> taught;
    if (!network.real()) taught = probabilities_of(teacher, dataset);
    const auto trainer = test::make_trainer(network.kind(), dataset, recipe, std::move(taught));
    for (std::size_t epoch = 1; epoch <= 4; ++epoch) {
      const EpochReport& report = reports[epoch - 1];
      EXPECT_EQ(report.epoch, epoch);
      EXPECT_EQ(report.epochs, 4U);
      EXPECT_EQ(report.train_loss, trainer->train_epoch(epoch, *recipe.learning_rate));
      const Score validation = trainer->evaluate(dataset.validation);
      EXPECT_EQ(report.validation_loss, validation.loss);
      EXPECT_EQ(report.validation_accuracy, validation.accuracy());
    }
  });
}

TEST(Train, BinaryFormsLearnFromTheirTeacher) {
  for_each_network([](const NetworkCase& network) {
    if (network.real()) return;
    SCOPED_TRACE(network.name());
    const Dataset dataset = test::planted_data({.kind = network.features});
    const Model first = teacher_for(dataset, 1), second = teacher_for(dataset, 2);
    TrainOptions options{.precision = network.precision,
                         .architecture = network.architecture,
                         .hidden = 10,
                         .depth = network.depth,
                         .epochs = 4,
                         .teacher = &first};
    std::vector<double> losses;
    const auto note = [&](const EpochReport& report) { losses.push_back(report.train_loss); };
    (void)train(dataset, options, Device::host(2), note);
    options.teacher = &second;
    (void)train(dataset, options, Device::host(2), note);
    ASSERT_EQ(losses.size(), 8U);
    const bool one_step = network.architecture != Architecture::saint;  // an epoch
    if (one_step) {
      EXPECT_EQ(losses[0], losses[4]) << "both start from the same weights";
    }
    EXPECT_NE(losses[1], losses[5]);
  });
}

/// By the recipe of a float model, whatever is asked for of the binary one; of a whole graph for 1000 epochs.
TEST(Train, ATeacherThatIsTrainedFirstHasTheRecipeOfAFloatModel) {
  const Dataset dataset = test::planted_data({});
  for (const Architecture architecture : {Architecture::gcn, Architecture::sage}) {
    TrainOptions options{.precision = Precision::bin,
                         .architecture = architecture,
                         .hidden = 4,
                         .epochs = 3,
                         .learning_rate = 0.5F,
                         .weight_decay = 0.25F,
                         .dropout = 0.125F};
    std::vector<double> of_teacher, alone;
    (void)train(dataset, options, Device::host(1), [&](const EpochReport& report) {
      if (report.of_teacher) of_teacher.push_back(report.train_loss);
    });
    options = {.precision = Precision::real,
               .architecture = architecture,
               .hidden = 4,
               .epochs = architecture == Architecture::gcn ? 1000U : 3U};
    (void)train(dataset, options, Device::host(1),
                [&](const EpochReport& report) { alone.push_back(report.train_loss); });
    EXPECT_EQ(of_teacher, alone);
  }
}

/// The place of the epoch that is to be returned.
std::size_t best_of(const std::vector<EpochReport>& reports, bool by_accuracy) {
  std::size_t best = 0;
  for (std::size_t n = 1; n < reports.size(); ++n) {
    const EpochReport &now = reports[n], &then = reports[best];
    const bool less_loss = now.validation_loss < then.validation_loss;
    const bool as_accurate = now.validation_accuracy == then.validation_accuracy;
    const bool more_accurate = now.validation_accuracy > then.validation_accuracy;
    if (by_accuracy ? more_accurate || (as_accurate && less_loss) : less_loss) best = n;
  }
  return best;
}

/// Trains at a high rate over few nodes with misleading edges and features. Returns whether the validation loss rose
/// at the end, so that there were better weights to bring back.
bool returns_the_best(const NetworkCase& network, std::uint64_t seed) {
  SCOPED_TRACE(network.name());
  const Dataset dataset = test::planted_data({.kind = network.features, .mixing = 0.7, .seed = seed});
  const Model teacher = teacher_for(dataset, 1);
  TrainOptions options{.precision = network.precision,
                       .architecture = network.architecture,
                       .hidden = 10,
                       .depth = network.depth,
                       .epochs = 40,
                       .learning_rate = 0.05F};
  if (!network.real()) options.teacher = &teacher;
  std::vector<EpochReport> reports;
  const TrainResult result =
      train(dataset, options, Device::host(2), [&](const EpochReport& report) { reports.push_back(report); });
  const Score of_model = score(logits_of(result.model, dataset), dataset.labels, dataset.validation);
  EXPECT_NEAR(result.validation_loss, of_model.loss, 1e-5 * (1 + of_model.loss));
  const std::size_t best = best_of(reports, !network.real() && network.architecture != Architecture::gcn);
  EXPECT_EQ(result.best_epoch, best + 1);
  EXPECT_EQ(result.validation_loss, reports[best].validation_loss);
  EXPECT_DOUBLE_EQ(of_model.accuracy(), reports[best].validation_accuracy);
  return std::fabs(reports.back().validation_loss - result.validation_loss) > 1e-3;
}

TEST(Train, ReturnsTheWeightsOfTheBestEpochAndTheirLoss) {
  for_each_network([](const NetworkCase& network) {
    std::uint64_t seed = 1;
    while (seed < 10 && !returns_the_best(network, seed)) ++seed;
    EXPECT_LT(seed, 10U) << network.name() << ": the last epoch is always the best";
  });
}

}  // namespace
}  // namespace bitgraph::nn
