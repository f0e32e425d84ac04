// SPDX-License-Identifier: Apache-2.0
// What a binary form of a sampled model starts from, which weights it ends with, and what a step depends on.
#include "nn/model/architectures.hpp"
#include "nn/training/trainer.hpp"

#include "support/everywhere.hpp"

#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/train.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

constexpr std::array sampled{Architecture::inductive_gcn, Architecture::sage, Architecture::saint,
                             Architecture::inductive_gin};

/// A ring whose nodes have two neighbours of their class, one to each side, and three of the features that it prefers.
Dataset planted() {
  constexpr NodeId nodes = 300, classes = 4, features = 60;
  Dataset dataset;
  Buffer<EdgeOffset> edges_before(nodes + 1, EdgeOffset{0}), features_before(nodes + 1, EdgeOffset{0});
  std::vector<NodeId> neighbors, present;
  for (NodeId i = 0; i < nodes; ++i) {
    std::array<NodeId, 4> near{(i + 1) % nodes, (i + nodes - 1) % nodes, (i + classes) % nodes,
                               (i + nodes - classes) % nodes};
    std::sort(near.begin(), near.end());
    neighbors.insert(neighbors.end(), near.begin(), near.end());
    edges_before[i + 1] = neighbors.size();
    std::array<NodeId, 4> has{i % classes * 15 + i / 4 % 5, i % classes * 15 + 5 + i / 7 % 5,
                              i % classes * 15 + 10 + i / 11 % 5, i * 7 % features};
    std::sort(has.begin(), has.end());
    present.insert(present.end(), has.begin(), std::unique(has.begin(), has.end()));
    features_before[i + 1] = present.size();
    dataset.labels.push_back(static_cast<std::int32_t>(i % classes));
  }
  dataset.name = "ring";
  dataset.num_classes = classes;
  dataset.graph =
      CsrPattern(nodes, nodes, std::move(edges_before), Buffer<NodeId>::copy_of(std::span<const NodeId>(neighbors)));
  dataset.features.pattern = CsrPattern(nodes, features, std::move(features_before),
                                        Buffer<NodeId>::copy_of(std::span<const NodeId>(present)));
  dataset.features.values = Buffer<float>(present.size(), 1.0F);
  inductive_split(dataset, {}, 1);
  return dataset;
}

TrainOptions quick(Architecture architecture, Precision precision) {
  return {.precision = precision, .architecture = architecture, .hidden = 16, .epochs = 3};
}

void expect_signs_of(const DenseMatrix<float>& weight, const Linear& linear) {
  ASSERT_EQ(linear.signs().bits.nrows(), weight.nrows());
  ASSERT_EQ(linear.signs().bits.ncols(), weight.ncols());
  for (std::size_t f = 0; f < weight.nrows(); ++f) {
    for (std::size_t j = 0; j < weight.ncols(); ++j)
      ASSERT_EQ(linear.signs().bits.value(f, j), weight(f, j) < 0 ? -1 : 1) << f << " " << j;
  }
}

std::unique_ptr<Trainer> trainer_of(const Dataset& dataset, const TrainOptions& options) {
  return make_trainer(dataset, preset(options, {.training_nodes = dataset.train.size()}), Device::host(1), {});
}

/// Whether with this teacher the first weights are others than without.
bool starts_elsewhere(const Dataset& dataset, TrainOptions options, const Model& teacher) {
  const auto drawn = trainer_of(dataset, options);
  options.teacher = &teacher;
  const auto trainer = trainer_of(dataset, options);
  for (std::size_t p = 0; p < drawn->parameters().size(); ++p) {
    const auto before = std::as_const(drawn->parameters()[p].value).values();
    const auto there = std::as_const(trainer->parameters()[p].value).values();
    if (!std::equal(before.begin(), before.end(), there.begin(), there.end())) return true;
  }
  return false;
}

TEST(NetworkTrainer, ABinaryFormStartsFromTheWeightsOfATeacherOfItsShape) {
  const Dataset dataset = planted();
  for (const Architecture architecture : sampled) {
    const Model teacher = train(dataset, quick(architecture, Precision::real), Device::host(1)).model;
    for (const Precision precision : {Precision::full, Precision::bin}) {
      TrainOptions options = quick(architecture, precision);
      options.teacher = &teacher;
      const auto trainer = trainer_of(dataset, options);
      const Model start = trainer->model();
      for (std::size_t l = 0; l < start.layers.size(); ++l) {
        expect_signs_of(teacher.layers[l].neighbor.floats(), start.layers[l].neighbor);
        if (start.layers[l].root.outputs() != 0) expect_signs_of(teacher.layers[l].root.floats(), start.layers[l].root);
      }
      // As large as weights that are drawn: uniform in +-sqrt(6 / (nrows + ncols)).
      const DenseMatrix<float>& first = trainer->parameters()[0].value;
      double sum = 0;
      for (const float w : first.values()) sum += std::abs(w);
      const double drawn = std::sqrt(6.0 / static_cast<double>(first.nrows() + first.ncols())) / 2;
      EXPECT_NEAR(sum / static_cast<double>(first.values().size()), drawn, 0.1 * drawn);
    }
  }
}

TEST(NetworkTrainer, ATeacherOfAnotherShapeLeavesTheWeightsAsDrawn) {
  const Dataset dataset = planted();
  TrainOptions wide = quick(Architecture::sage, Precision::real);
  wide.hidden = 24;
  const Model wider = train(dataset, wide, Device::host(1)).model;
  const Model other = train(dataset, quick(Architecture::inductive_gcn, Precision::real), Device::host(1)).model;
  const TrainOptions options = quick(Architecture::sage, Precision::full);
  EXPECT_FALSE(starts_elsewhere(dataset, options, wider));
  EXPECT_FALSE(starts_elsewhere(dataset, options, other));
}

TEST(NetworkTrainer, VotesOverDenseFeaturesAreLearnedFromDrawnWeights) {
  Dataset dataset = planted();
  dataset.dense_features = DenseMatrix<float>(dataset.graph.nrows(), 60);
  for (NodeId i = 0; i < dataset.graph.nrows(); ++i) {
    for (const NodeId j : dataset.features.pattern.row(i)) dataset.dense_features(i, j) = 1;
  }
  dataset.features = {};
  const Model teacher = train(dataset, quick(Architecture::sage, Precision::real), Device::host(1)).model;
  EXPECT_TRUE(starts_elsewhere(dataset, quick(Architecture::sage, Precision::full), teacher));
  EXPECT_FALSE(starts_elsewhere(dataset, quick(Architecture::sage, Precision::bin), teacher));
}

TEST(NetworkTrainer, AFullFormEndsWithItsAverageWeights) {
  const Dataset dataset = planted();
  const auto trainer = trainer_of(dataset, quick(Architecture::sage, Precision::full));
  for (std::size_t epoch = 1; epoch <= 5; ++epoch) trainer->train_epoch(epoch, 0.05F);
  std::size_t differ = 0;
  for (const Parameter& parameter : trainer->parameters()) {
    ASSERT_EQ(&parameter.outcome(), &parameter.average);
    for (std::size_t n = 0; n < parameter.value.values().size(); ++n)
      differ += (parameter.value.values()[n] < 0) != (parameter.average.values()[n] < 0) ? 1 : 0;
  }
  EXPECT_GT(differ, 0U) << "nothing to tell them apart by";
  const Model model = trainer->model();
  expect_signs_of(trainer->parameters()[0].average, model.layers[0].neighbor);
  for (const Precision precision : {Precision::real, Precision::bin}) {
    const auto plain = trainer_of(dataset, quick(Architecture::sage, precision));
    EXPECT_EQ(&plain->parameters()[0].outcome(), &plain->parameters()[0].value);
  }
  const auto whole = trainer_of(dataset, quick(Architecture::gcn, Precision::full));
  EXPECT_EQ(&whole->parameters()[0].outcome(), &whole->parameters()[0].average);
}

/// Memory stays from step to step; what is in it must not.
TEST(NetworkTrainer, AStepDependsOnTheParametersAndItsNumberAlone) {
  const Dataset dataset = planted();
  for (const Architecture architecture : all_architectures()) {
    for (const Precision precision : {Precision::real, Precision::full, Precision::bin}) {
      const auto trainer = trainer_of(dataset, quick(architecture, precision));
      const auto fresh = trainer_of(dataset, quick(architecture, precision));
      trainer->train_epoch(1, 0.05F);
      for (std::size_t p = 0; p < fresh->parameters().size(); ++p) {
        const Parameter& from = trainer->parameters()[p];
        Parameter& to = fresh->parameters()[p];
        to.value = from.value.clone();
        to.first_moment = from.first_moment.clone();
        to.second_moment = from.second_moment.clone();
      }
      for (const auto& either : {trainer.get(), fresh.get()}) either->train_epoch(2, 0.05F);  // of bin, with votes
      EXPECT_EQ(trainer->train_loss(), fresh->train_loss());
      for (std::size_t p = 0; p < fresh->parameters().size(); ++p) {
        test::expect_identical(fresh->parameters()[p].gradient.values(), trainer->parameters()[p].gradient.values());
      }
    }
  }
}

/// Steps of more than 4 bits are chosen by the weights and values of an epoch's first step: of the first five epochs,
/// then of each tenth. Others are chosen in the first one and learned in all.
TEST(NetworkTrainer, LevelsAreFittedOftenAtFirstAndThenNowAndThen) {
  const Dataset dataset = planted();
  for (const int bits : {4, 8}) {
    for (const Architecture architecture : {Architecture::gcn, Architecture::sage}) {
      const auto trainer = trainer_of(dataset, quick(architecture, Precision::of_levels(bits, bits, bits)));
      const auto scales = [&] {
        std::vector<float> all;
        for (const Parameter& parameter : trainer->parameters()) {
          if (!parameter.name.ends_with(".levels")) continue;
          all.insert(all.end(), parameter.value.values().begin(), parameter.value.values().end());
        }
        return all;
      };
      std::vector<float> before = scales();
      EXPECT_GE(before.size(), 32U);
      for (std::size_t epoch = 1; epoch <= 22; ++epoch) {
        trainer->train_epoch(epoch, 0.05F);
        EXPECT_EQ(scales() != before, bits == 4 || epoch <= 5 || epoch == 11 || epoch == 21) << "epoch " << epoch;
        before = scales();
      }
    }
  }
}

TEST(Parameter, TheAverageIsOfAHundredValuesOrSo) {
  Parameter parameter("w", 1, 1, 0);
  parameter.keep_average();
  parameter.gradient(0, 0) = -1;
  const std::array all{parameter.optimized()};
  TrainingStep number;
  double expected = 0;
  for (std::size_t step = 1; step <= 2000; ++step) {
    number.set(step, 0.01F);
    optimize(all, OptimizerKind::adam, number);  // a gradient that stays: each step is one of the rate
    const double kept = std::min(0.99, static_cast<double>(step) / (static_cast<double>(step) + 10));
    expected = kept * expected + (1 - kept) * parameter.value(0, 0);
  }
  EXPECT_NEAR(parameter.average(0, 0), expected, 1e-3);
  EXPECT_NEAR(parameter.value(0, 0) - parameter.average(0, 0), 0.01 * 99, 1e-2);
}

}  // namespace
}  // namespace bitgraph::nn
