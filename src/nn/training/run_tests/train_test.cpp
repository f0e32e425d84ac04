// SPDX-License-Identifier: Apache-2.0
// The training loop: what it takes for empty options, what it reports, and which epoch's weights it returns.
#include <bitgraph/nn/train.hpp>

#include "nn/model/architectures.hpp"
#include "support/every_device.hpp"
#include "support/network_cases.hpp"

#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/quantize.hpp>
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

/// fn(network) for each network, form, kind of features and depth.
void for_each_network(const std::function<void(const NetworkCase&)>& fn) {
  for (const Architecture architecture : all_architectures()) {
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

/// The reports of the first epochs.
std::vector<EpochReport> first_reports(const Dataset& dataset, const TrainOptions& options, std::size_t epochs) {
  struct Stop {};
  std::vector<EpochReport> reports;
  const auto note = [&](const EpochReport& report) {
    reports.push_back(report);
    if (reports.size() == epochs) throw Stop();
  };
  EXPECT_THROW((void)train(dataset, options, Device::host(2), note), Stop);
  return reports;
}

void expect_explained_steps(const Device& device) {
  for_each_network([&](const NetworkCase& network) {
    SCOPED_TRACE(network.name());
    const Dataset dataset = test::planted_data({.kind = network.features});
    const TrainOptions options{
        .precision = network.precision, .architecture = network.architecture, .hidden = 10, .depth = network.depth};
    const auto rows = explain_training(dataset, options, device, 2);
    const auto is_gradient = [](const ExplainedOperator& row) { return row.name.ends_with(", gradient"); };
    const auto back = std::find_if(rows.begin(), rows.end(), is_gradient);
    ASSERT_NE(back, rows.end());
    EXPECT_TRUE(std::all_of(back, rows.end(), is_gradient));
    const auto products = [](auto from, auto to) {
      return std::count_if(from, to, [](const ExplainedOperator& row) { return row.name.find("MM") == 0; });
    };
    EXPECT_EQ(products(rows.begin(), back), products(back, rows.end()));  // all of them have weights to learn
    for (const ExplainedOperator& row : rows) EXPECT_GT(row.seconds, 0) << row.name;
  });
}

TEST(Train, AStepIsExplainedOperatorByOperatorThereAndBack) { expect_explained_steps(Device::host(2)); }

TEST(Train, AStepIsExplainedOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  expect_explained_steps(*test::cuda_device());
}

TEST(Train, TakesThePresetWhereNothingIsGiven) {
  for_each_network([](const NetworkCase& network) {
    SCOPED_TRACE(network.name());
    const Dataset dataset = test::planted_data({.kind = network.features});
    const Model teacher = teacher_for(dataset, 1);
    TrainOptions options{
        .precision = network.precision, .architecture = network.architecture, .hidden = 10, .depth = network.depth};
    if (!network.real()) options.teacher = &teacher;
    options.thresholds = network.one_sign();  // codes would be of another size
    const std::vector<EpochReport> left_empty = first_reports(dataset, options, 4);
    options = preset(options, size_of(dataset));
    const std::vector<EpochReport> given = first_reports(dataset, options, 4);
    for (std::size_t n = 0; n < 4; ++n) {
      EXPECT_EQ(given[n].epoch, n + 1);
      EXPECT_EQ(given[n].epochs, *options.epochs);
      EXPECT_EQ(left_empty[n].epochs, *options.epochs);
      EXPECT_EQ(left_empty[n].train_loss, given[n].train_loss);
      EXPECT_EQ(left_empty[n].validation_loss, given[n].validation_loss);
    }
  });
}

TEST(Train, EveryFormLearnsFromTheTeacherItIsGiven) {
  for_each_network([](const NetworkCase& network) {
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

/// What does not know the training labels has no word: two such teachers make the same model of levels.
TEST(Train, LevelsDoNotListenToATeacherThatDoesNotKnowTheLabels) {
  const Dataset dataset = test::planted_data({});
  const Model start = teacher_for(dataset, 1), knows = teacher_for(dataset, 2);
  const auto random = [&](std::uint64_t seed) {
    return random_model(Architecture::gcn, Precision::real, dataset.num_features(), 5, start.num_classes(), 2, seed);
  };
  const auto known = [&](const Model& model) {
    return score(logits_of(model, dataset), dataset.labels, dataset.train).accuracy();
  };
  const Model first = random(3), second = random(4);
  ASSERT_LT(std::max(known(first), known(second)), 0.6);
  ASSERT_GE(known(knows), 0.6);
  const auto with = [&](const Model& teacher) {
    const TrainOptions options{.precision = Precision::of_levels(8, 8, 8),
                               .hidden = 5,
                               .epochs = 3,
                               .seed = 5,
                               .teacher = &teacher,
                               .start = &start};
    const TrainResult result = train(dataset, options, Device::host(1));
    EXPECT_EQ(result.ignores_teacher, &teacher != &knows);
    return logits_of(result.model, dataset);
  };
  const DenseMatrix<float> logits = with(first);
  test::expect_identical(with(second).values(), logits.values());
  EXPECT_FALSE(std::ranges::equal(with(knows).values(), logits.values()));
}

TEST(Train, LevelsAreNotWorseThanWithoutTraining) {
  const Dataset dataset = test::planted_data({});
  const auto after = [&](Architecture architecture, float rate) {
    TrainOptions options{.precision = Precision::real, .architecture = architecture, .hidden = 8, .epochs = 60};
    Model start = train(dataset, options, Device::host(2)).model;
    start.dataset = "another name";
    options.precision = Precision::of_levels(8, 8, 8);
    options.epochs = 2;
    options.learning_rate = rate;
    options.teacher = &start;
    TrainResult result = train(dataset, options, Device::host(2));
    const Model untrained = quantize(start, dataset, {.precision = options.precision});
    const bool is_untrained = logits_of(result.model, dataset).values()[0] == logits_of(untrained, dataset).values()[0];
    EXPECT_EQ(result.best_epoch == 0, is_untrained);
    const Score judged = score(logits_of(result.model, dataset), dataset.labels, dataset.validation);
    EXPECT_EQ(result.validation_accuracy, judged.accuracy());
    EXPECT_NEAR(result.validation_loss, judged.loss, 1e-5);
    EXPECT_TRUE(result.model.trained.has_value());
    EXPECT_EQ(result.model.dataset, "planted");
    return result.best_epoch;
  };
  constexpr float ruins = 100, hardly_changes = 1e-7F;
  EXPECT_EQ(after(Architecture::gcn, ruins), 0U);
  EXPECT_GT(after(Architecture::gcn, hardly_changes), 0U);
  EXPECT_GT(after(Architecture::inductive_gcn, ruins), 0U);  // it may not see the nodes that such levels fit
}

/// The second model of self-distillation is the one that learns from the first; the better of both is returned.
TEST(Train, SelfDistillationReturnsTheBetterOfAModelAndOneThatLearnsFromIt) {
  std::size_t second_was_better = 0, seeds = 0;
  for (const Architecture architecture : {Architecture::gcn, Architecture::sage}) {
    for (std::uint64_t seed = 0; seed < 4; ++seed, ++seeds) {
      SCOPED_TRACE(std::string(to_string(architecture)) + ", seed " + std::to_string(seed));
      const Dataset dataset = test::planted_data({});
      TrainOptions options{
          .precision = Precision::real, .architecture = architecture, .hidden = 4, .epochs = 6, .seed = seed};
      const TrainResult first = train(dataset, options, Device::host(1));
      options.teacher = &first.model;
      const TrainResult second = train(dataset, options, Device::host(1));
      options.teacher = nullptr;
      options.self_distillation = true;
      const TrainResult made = train(dataset, options, Device::host(1));
      const bool better = second.validation_accuracy >= first.validation_accuracy;
      second_was_better += better ? 1 : 0;
      const TrainResult& expected = better ? second : first;
      EXPECT_NE(first.model.fingerprint(), second.model.fingerprint());
      EXPECT_EQ(made.model.fingerprint(), expected.model.fingerprint());
      EXPECT_EQ(made.validation_loss, expected.validation_loss);
      EXPECT_EQ(made.validation_accuracy, expected.validation_accuracy);
      EXPECT_EQ(made.best_epoch, expected.best_epoch);
      EXPECT_GT(made.teacher_seconds, 0);
    }
  }
  EXPECT_GT(second_was_better, 0U) << "both ways are to be seen";
  EXPECT_LT(second_was_better, seeds);
}

/// Over a whole graph the teacher has learned from one itself; over samples from the labels alone.
TEST(Train, TheTeacherOfABinaryFormIsSelfDistilledOverAWholeGraph) {
  const Dataset dataset = test::planted_data({});
  for (const Architecture architecture : {Architecture::gcn, Architecture::sage}) {
    TrainOptions options{
        .precision = Precision::full, .architecture = architecture, .hidden = 4, .thresholds = std::size_t{1}};
    if (architecture == Architecture::sage) options.epochs = 5;
    const TrainResult full = train(dataset, options, Device::host(1));
    options.thresholds.reset();
    options.precision = Precision::real;
    options.self_distillation = architecture == Architecture::gcn;
    ASSERT_TRUE(full.teacher.has_value());
    EXPECT_EQ(full.teacher->fingerprint(), train(dataset, options, Device::host(1)).model.fingerprint());
  }
}

/// Whatever is asked for of the binary one. preset_test.cpp has the number of its epochs.
TEST(Train, ATeacherThatIsTrainedFirstHasTheRecipeOfAFloatModel) {
  const Dataset dataset = test::planted_data({});
  for (const Architecture architecture : {Architecture::gcn, Architecture::sage}) {
    TrainOptions options{.precision = Precision::bin,
                         .architecture = architecture,
                         .hidden = 4,
                         .epochs = 10,
                         .learning_rate = 0.5F,
                         .weight_decay = 0.25F,
                         .dropout = 0.125F,
                         .thresholds = std::size_t{1}};
    const std::vector<EpochReport> of_teacher = first_reports(dataset, options, 5);
    options = {.precision = Precision::real, .architecture = architecture, .hidden = 4, .epochs = 10};
    const std::vector<EpochReport> alone = first_reports(dataset, options, 5);
    for (std::size_t n = 0; n < 5; ++n) {
      EXPECT_TRUE(of_teacher[n].of_teacher);
      EXPECT_EQ(of_teacher[n].train_loss, alone[n].train_loss);
    }
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
  const std::size_t best = best_of(
      reports, network.precision == Precision::full || (!network.real() && traits_of(network.architecture).sampled()));
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
