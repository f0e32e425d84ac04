// SPDX-License-Identifier: Apache-2.0
// Training of models of levels: floats that have the values of levels, from the weights of a float model.
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/quantize.hpp>
#include <bitgraph/nn/train.hpp>
#include <bitgraph/ops/log_softmax.hpp>

#include "nn/model/architectures.hpp"
#include "support/cuda_device.hpp"
#include "support/expect_error.hpp"
#include "support/planted_data.hpp"
#include "support/sanitized.hpp"

#include <gtest/gtest.h>

#include <string>

namespace bitgraph::nn {
namespace {

const Dataset& planted() {
  static const Dataset dataset = generate_planted_partition(
      {.num_nodes = 400, .num_classes = 4, .num_features = 120, .mean_degree = 8, .seed = 3});
  return dataset;
}

double accuracy(const Model& model, std::span<const NodeId> nodes) {
  InferencePlan plan(model, planted());
  return score(plan.run(), planted().labels, nodes).accuracy();
}

TrainOptions quick(Architecture architecture, const Precision& precision) {
  return {.precision = precision,
          .architecture = architecture,
          .hidden = 32,
          .epochs = test::sanitized ? 4 : 60,
          .learning_rate = 5e-3F};
}

void expect_all_learn(const Device& device) {
  for (const Architecture architecture : all_architectures()) {
    const Model teacher = train(planted(), quick(architecture, Precision::real), device).model;
    for (const char* const name : {"w8a8", "w4a4", "w8a4m2", "w2a8"}) {
      SCOPED_TRACE(std::string(to_string(architecture)) + " " + name + " on " + device.name());
      TrainOptions options = quick(architecture, precision_from_string(name));
      options.teacher = &teacher;
      const TrainResult result = train(planted(), options, device);
      EXPECT_EQ(to_string(result.model.precision), name);
      EXPECT_GT(accuracy(result.model, planted().test), test::sanitized ? 0 : 0.75);
      // Whole numbers may round otherwise than the floats that stood for them: at a node in a hundred at most.
      const double reported = result.validation_accuracy;
      EXPECT_NEAR(accuracy(result.model, planted().validation), reported, 0.011) << "of the best epoch";
    }
  }
}

TEST(LevelTraining, EveryArchitectureLearnsAndHasTheAccuracyThatIsReported) { expect_all_learn(Device::host(2)); }

TEST(LevelTraining, EveryArchitectureLearnsOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  expect_all_learn(*test::cuda_device());
}

/// The best epoch of a run whose steps change nothing has the weights of the start.
TEST(LevelTraining, StartsFromTheWeightsOfTheTeacher) {
  for (const Architecture architecture : all_architectures()) {
    SCOPED_TRACE(std::string(to_string(architecture)));
    const Model teacher = train(planted(), quick(architecture, Precision::real)).model;
    TrainOptions options = quick(architecture, Precision::of_levels(8, 8, 8));
    options.teacher = &teacher;
    options.epochs = 1;
    options.learning_rate = 1e-12F;
    const Model made = train(planted(), options).model;
    for (std::size_t l = 0; l < made.layers.size(); ++l) {
      const DenseMatrix<float>& from = teacher.layers[l].neighbor.floats();
      const QuantizedMatrix& w = made.layers[l].neighbor.levels();
      for (std::size_t f = 0; f < from.nrows(); ++f) {
        for (std::size_t j = 0; j < from.ncols(); ++j)
          ASSERT_NEAR(w.value(f, j), from(f, j), 4 * w.scale().step(f, j)) << "layer " << l;
      }
      // A real layer may have its bias in two parts: their sum counts.
      for (std::size_t f = 0; f < from.nrows(); ++f) {
        const auto bias = [&](const Model& of) {
          const Layer& layer = of.layers[l];
          return layer.neighbor.bias[f] + (layer.root.bias.empty() ? 0.0F : layer.root.bias[f]);
        };
        ASSERT_NEAR(bias(made), bias(teacher), 1e-5F) << "layer " << l;
      }
    }
  }
}

/// Counts of which a few are large: with 2 bits they are all that is left of a row.
TEST(LevelTraining, SeesTheLevelsOfTheFeatures) {
  const auto counts = [] {
    Dataset made = test::planted_data({.nodes = 300, .features = 60, .train = 60, .validation = 100});
    for (std::size_t e = 0; e < made.features.values.size(); ++e)
      made.features.values[e] = e % 3 == 0 ? 9.0F : static_cast<float>(1 + e % 5);
    return made;
  };
  const Dataset dataset = counts();
  Dataset dense = counts();
  dense.dense_features = DenseMatrix<float>(dataset.graph.nrows(), dataset.num_features());
  for (NodeId i = 0; i < dataset.graph.nrows(); ++i) {
    const auto row = dataset.features.pattern.row(i);
    for (std::size_t e = 0; e < row.size(); ++e)
      dense.dense_features(i, row[e]) = dataset.features.values[dataset.features.pattern.row_ptr()[i] + e];
  }
  dense.features = {};
  for (const Architecture architecture : {Architecture::gcn, Architecture::gin, Architecture::sage}) {
    for (const Dataset* const data : {&dataset, &std::as_const(dense)}) {
      SCOPED_TRACE(std::string(to_string(architecture)) + (data == &dense ? " dense" : " sparse"));
      TrainOptions options = quick(architecture, Precision::of_levels(8, 2, 8));
      options.epochs = 3;
      const TrainResult result = train(*data, options);
      InferencePlan plan(result.model, *data);
      const Score judged = score(plan.run(), data->labels, data->validation);
      EXPECT_NEAR(judged.loss, result.validation_loss, 3e-4 * result.validation_loss);
    }
  }
}

TEST(LevelTraining, FewBitsLoseLessThanWithoutTraining) {
  if (test::sanitized) GTEST_SKIP() << "too few epochs under a sanitizer";
  const Dataset dataset = test::planted_data({.nodes = 300, .features = 60, .train = 60, .validation = 60});
  const auto right = [&](const Model& model) {
    InferencePlan plan(model, dataset);
    return score(plan.run(), dataset.labels, dataset.validation).accuracy();
  };
  const Model teacher = train(dataset, {.precision = Precision::real, .hidden = 16}).model;
  const Precision w2a2 = Precision::of_levels(2, 2, 2);
  const TrainResult trained = train(dataset, {.precision = w2a2, .hidden = 16, .teacher = &teacher});
  EXPECT_GE(right(trained.model), right(quantize(teacher, dataset, {.precision = w2a2})));
}

TEST(LevelTraining, ATeacherOfAnotherShapeTeachesAFloatModelFirst) {
  const Model other = train(planted(), {.precision = Precision::real, .hidden = 5, .epochs = 5}).model;
  TrainOptions options = quick(Architecture::gcn, Precision::of_levels(4, 4, 4));
  options.epochs = 3;
  options.teacher = &other;
  bool of_teacher = false;
  const TrainResult result =
      train(planted(), options, {}, [&](const EpochReport& report) { of_teacher |= report.of_teacher; });
  EXPECT_TRUE(of_teacher);
  EXPECT_TRUE(result.teacher.has_value());
  EXPECT_EQ(result.model.hidden(), 32U);
}

TEST(LevelTraining, ATeacherOrAStartOfLevelsIsRefused) {
  const Model floats = train(planted(), {.precision = Precision::real, .hidden = 8, .epochs = 3}).model;
  const Model levels = quantize(floats, planted());
  test::expect_error(
      [&] {
        static_cast<void>(
            train(planted(), {.precision = Precision::of_levels(4, 4, 4), .hidden = 8, .teacher = &levels}));
      },
      ErrorCode::usage, "train: a teacher is a model in full precision");
  test::expect_bad_input(
      [&] { static_cast<void>(train(planted(), {.precision = Precision::real, .hidden = 8, .start = &levels})); },
      "train: the starting weights are of a w8a8 model, expected a float model");
}

}  // namespace
}  // namespace bitgraph::nn
