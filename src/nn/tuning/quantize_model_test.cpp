// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/program.hpp>
#include <bitgraph/nn/quantize.hpp>

#include "nn/model/layer_forms.hpp"
#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/graph_sets.hpp"
#include "support/level_models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace bitgraph::nn {
namespace {

using test::LevelModel;

const Dataset& data() {
  static const Dataset made = test::level_data({});
  return made;
}

TEST(QuantizeModel, KeepsAllButTheNumbers) {
  LevelModel how{.architecture = Architecture::saint, .normalize_rows = true};
  const Dataset positive = test::level_data({.below_zero = false});
  Model floats = how.in_floats(positive);
  floats.dataset = "some data";
  floats.seed = 77;
  floats.trained = TrainingRecord{.data = std::string(16, 'a'), .training_nodes = std::string(16, 'b')};
  const Model made =
      quantize(floats, positive, {.precision = precision_from_string("w8a4m2"), .corrects_biases = false});
  made.validate();
  EXPECT_EQ(made.architecture, floats.architecture);
  EXPECT_EQ(made.dataset, "some data");
  EXPECT_EQ(made.seed, 77U);
  EXPECT_EQ(made.trained->data, floats.trained->data);
  EXPECT_TRUE(made.normalize_rows);
  EXPECT_EQ(to_string(made.precision), "w8a4m2");
  EXPECT_TRUE(made.has_levels());
  ASSERT_EQ(made.layers.size(), floats.layers.size());
  EXPECT_EQ(made.layers[0].precision, made.precision);
  EXPECT_EQ(made.layers.back().precision, precision_from_string("w8a4m8").with_input_by_degree())
      << "nothing behind the last layer corrects an error, and its input grows with the number of neighbours";
  for (std::size_t l = 0; l < made.layers.size(); ++l) {
    const Layer& layer = made.layers[l];
    EXPECT_EQ(layer.aggregation, floats.layers[l].aggregation);
    EXPECT_EQ(layer.neighbor.format(), layer.precision.weight);
    EXPECT_TRUE(std::ranges::equal(layer.neighbor.bias.span(), floats.layers[l].neighbor.bias.span()));
    EXPECT_EQ(layer.input_scale.steps.size(), l == 0 ? 0U : 1U) << "rows of features have scales of their own";
    const bool adds_up = layer.aggregation != Aggregation::none;
    EXPECT_EQ(layer.message_scale.steps.size(), adds_up ? layer.outputs() : 0U);
  }
}

/// 0 is a level's value, for which the range moves by up to half a step: at its ends that comes on top.
TEST(QuantizeModel, WeightsComeBackWithinAStep) {
  const LevelModel how{.architecture = Architecture::sage};
  const Model floats = how.in_floats(data());
  for (const int bits : {2, 4, 8, 16}) {
    const Model made =
        quantize(floats, data(),
                 {.precision = Precision::of_levels(bits, 8, 8), .bounds = BoundsOf::range, .corrects_weights = false});
    for (std::size_t l = 0; l < made.layers.size(); ++l) {
      for (const auto linear : {&Layer::neighbor, &Layer::root}) {
        const QuantizedMatrix& w = (made.layers[l].*linear).levels();
        const DenseMatrix<float>& from = (floats.layers[l].*linear).floats();
        for (std::size_t f = 0; f < w.nrows(); ++f) {
          for (std::size_t j = 0; j < w.ncols(); ++j)
            ASSERT_NEAR(w.value(f, j), from(f, j), 1.002F * w.scale().step(f, j));
          const float zero = -w.scale().offset(f, 0) / w.scale().step(f, 0);
          ASSERT_NEAR(zero, std::round(zero), 1e-4F * (1 + zero)) << "the level of 0";
        }
      }
    }
  }
}

/// Behind a relu nothing is below 0, and the least error may leave the largest out.
TEST(QuantizeModel, ScalesAreThoseOfTheFloatModelsValues) {
  const LevelModel how{};
  const Model made = quantize(how.in_floats(data()), data(),
                              {.precision = Precision::of_levels(8, 8, 8), .value_bounds = BoundsOf::range});
  EXPECT_FALSE(made.layers[1].input_scale.has_offsets()) << "an offset that is 0 everywhere is none";
  EXPECT_TRUE(made.layers[0].message_scale.has_offsets());
  // Of x W^T times D^-1/2: the range of column f, which 255 steps cover.
  const Model floats = how.in_floats(data());
  const Linear& w = floats.layers[0].neighbor;
  for (std::size_t f = 0; f < w.outputs(); ++f) {
    double least = 0, most = 0;
    for (NodeId i = 0; i < data().graph.nrows(); ++i) {
      double sum = 0;
      const auto row = data().features.pattern.row(i);
      for (std::size_t e = 0; e < row.size(); ++e) {
        sum += static_cast<double>(data().features.values[data().features.pattern.row_ptr()[i] + e]) *
               static_cast<double>(w.floats()(f, row[e]));
      }
      sum /= std::sqrt(1 + static_cast<double>(data().graph.row(i).size()));
      least = std::min(least, sum);
      most = std::max(most, sum);
    }
    EXPECT_NEAR(made.layers[0].message_scale.steps[f], (most - least) / 255, 1e-5 * (most - least));
    const double step = (most - least) / 255;
    EXPECT_NEAR(made.layers[0].message_scale.offsets[f], std::round(least / step) * step, 1e-4 * (most - least));
  }
}

TEST(QuantizeModel, TheLeastErrorIsTheDefaultAndServesFewBits) {
  const LevelModel how{.hidden = 40};
  const Model floats = how.in_floats(data());
  const auto error = [&](const QuantizeModelOptions& options) {
    const QuantizedMatrix w = quantize(floats, data(), options).layers[0].neighbor.levels().clone();
    double sum = 0;
    for (std::size_t f = 0; f < w.nrows(); ++f) {
      for (std::size_t j = 0; j < w.ncols(); ++j)
        sum += std::pow(w.value(f, j) - floats.layers[0].neighbor.floats()(f, j), 2);
    }
    return sum;
  };
  const Precision w2a2 = Precision::of_levels(2, 2, 2);
  EXPECT_LT(error({.precision = w2a2}), error({.precision = w2a2, .bounds = BoundsOf::range}));
}

/// Nodes are classified by the sign of a sum over many neighbours, whose messages all lose some of what they are.
TEST(QuantizeModel, WhatALayerMakesKeepsItsMean) {
  const Dataset dense = test::level_data({.nodes = 120, .edges = 3000, .below_zero = false});
  for (const Architecture architecture : all_architectures()) {
    SCOPED_TRACE(to_string(architecture));
    const Model floats = LevelModel{.architecture = architecture, .normalize_rows = true}.in_floats(dense);
    const auto means = [&](const Model& model) {
      InferencePlan plan(model, dense);
      const DenseMatrix<float> logits = plan.run().clone();
      std::vector<double> sums(logits.ncols(), 0);
      for (NodeId i = 0; i < logits.nrows(); ++i) {
        const bool plain_sums = is_sum(model.layers.front().aggregation);
        const double weight = plain_sums ? 1 / degree_root(dense.graph.row(i).size(), DegreeRoot::square) : 1;
        for (std::size_t f = 0; f < sums.size(); ++f) sums[f] += weight * logits(i, f);
      }
      return sums;
    };
    const Precision w2a2 = Precision::of_levels(2, 2, 2);
    const auto error = [&](bool corrects) {
      const std::vector<double> wanted = means(floats);
      const std::vector<double> found =
          means(quantize(floats, dense, {.precision = w2a2, .corrects_biases = corrects}));
      double sum = 0, size = 0;
      for (std::size_t f = 0; f < wanted.size(); ++f) {
        sum += std::abs(found[f] - wanted[f]);
        size += std::abs(wanted[f]);
      }
      return sum / size;
    };
    EXPECT_LT(error(true), 1e-5);
    EXPECT_GT(error(false), 1e-2);
  }
}

/// The squares of what the logits of models with weights of 8 and all else of 2 bits are off by, for some drawn models:
/// with fitted weights, over those without. `model_of` makes a float model of a seed.
double error_of_fitted_weights(const Dataset& dataset, const std::function<Model(std::uint64_t)>& model_of) {
  double fitted = 0, as_they_are = 0;
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    const Model floats = model_of(seed);
    InferencePlan wanted(floats, dataset, {}, Device::host(1));
    const DenseMatrix<float>& logits = wanted.run();
    const auto error = [&](bool corrects) {
      const Precision w8a2 = Precision::of_levels(8, 2, 2);
      InferencePlan plan(quantize(floats, dataset, {.precision = w8a2, .corrects_weights = corrects}), dataset, {},
                         Device::host(1));
      const DenseMatrix<float>& found = plan.run();
      double sum = 0;
      for (std::size_t n = 0; n < found.values().size(); ++n)
        sum += std::pow(found.values()[n] - logits.values()[n], 2);
      return sum;
    };
    fitted += error(true);
    as_they_are += error(false);
  }
  return fitted / as_they_are;
}

TEST(QuantizeModel, FittedWeightsBringLogitsNearer) {
  const Dataset dense = test::level_data({.nodes = 400, .edges = 3000, .density = 1, .below_zero = false});
  for (const Architecture architecture : all_architectures()) {
    SCOPED_TRACE(to_string(architecture));
    const auto model_of = [&](std::uint64_t seed) {
      return LevelModel{.architecture = architecture, .seed = seed}.in_floats(dense);
    };
    EXPECT_LT(error_of_fitted_weights(dense, model_of), 0.9);
  }
}

/// The errors of single nodes cancel out in sums of many. Weights that make up for them at the nodes would be too
/// small.
TEST(QuantizeModel, WeightsAreFittedBehindTheSum) {
  const Dataset many = test::level_data({.nodes = 400, .edges = 24000, .density = 0.3});
  const auto model_of = [&](std::uint64_t seed) { return LevelModel{.hidden = 40, .seed = seed}.in_floats(many); };
  EXPECT_LT(error_of_fitted_weights(many, model_of), 0.65);
}

/// A sum has the bias once for each neighbour, which is no constant that a fit could leave to the bias.
TEST(QuantizeModel, ABiasThatIsAddedUpIsLeftOutOfTheFit) {
  const Dataset many = test::level_data({.nodes = 400, .edges = 6000, .density = 0.3});
  const auto model_of = [&](std::uint64_t seed) {
    Model model = LevelModel{.hidden = 40, .seed = seed}.in_floats(many);
    for (float& b : model.layers[1].neighbor.bias) b = 20;
    model.network = [](ProgramBuilder& build) {
      const ValueId hidden = build.relu(build.product(build.features(), WeightOf::neighbor, 40));
      build.begin_layer(1);
      return build.aggregate(build.product(hidden, WeightOf::neighbor, 3, BiasOf::weight), Aggregation::sum);
    };
    return model;
  };
  EXPECT_LT(error_of_fitted_weights(many, model_of), 1);
}

TEST(QuantizeModel, WeightsAreFittedBehindTheSumOverAGraph) {
  const Dataset graphs = test::rings_and_stars({.graphs = 600, .features = 8});
  const auto model_of = [&](std::uint64_t seed) {
    Model model = random_model(Architecture::gin, Precision::real, 8, 16, 2, 2, seed);
    model.readout = true;
    return model;
  };
  EXPECT_LT(error_of_fitted_weights(graphs, model_of), 0.63);
}

/// A star: its middle sums up 200 neighbours, the others two. With one step for all, the others would be 0.
TEST(QuantizeModel, AHubTakesNoLevelsFromOtherNodesOfASum) {
  constexpr NodeId nodes = 201;
  Dataset star = test::level_data({.nodes = nodes, .edges = 0, .density = 1, .below_zero = false});
  std::vector<NodeId> middle(nodes - 1, 0), others;
  for (NodeId i = 1; i < nodes; ++i) others.push_back(i);
  star.graph = csr_from_edges(nodes, nodes, middle, others, {.symmetrize = true});
  const Precision w8a4 = precision_from_string("w8a4m8");
  const Model floats = LevelModel{.architecture = Architecture::gin}.in_floats(star);
  const DenseMatrix<float> expected = InferencePlan(floats, star).run().clone();
  const auto error = [&](const std::vector<Precision>& forms) {
    const Model made = quantize(
        floats, star, {.precision = w8a4, .forms = forms, .value_bounds = BoundsOf::range, .corrects_biases = false});
    InferencePlan plan(made, star);
    const DenseMatrix<float>& levels = plan.run();
    double sum = 0;
    for (NodeId i = 1; i < nodes; ++i) {
      for (std::size_t f = 0; f < levels.ncols(); ++f) sum += std::abs(levels(i, f) - expected(i, f));
    }
    return sum;
  };
  const std::vector<Precision> one_step(floats.layers.size(), w8a4);
  EXPECT_LT(2 * error({}), error(one_step));
}

TEST(QuantizeModel, ThreadsDoNotMatter) {
  const LevelModel how{.architecture = Architecture::gin};
  const Model floats = how.in_floats(data());
  const std::string one = quantize(floats, data(), {}, Device::host(1)).fingerprint();
  for (const int threads : {2, 5}) EXPECT_EQ(quantize(floats, data(), {}, Device::host(threads)).fingerprint(), one);
}

TEST(QuantizeModel, WhatCannotBeIsRefused) {
  const Precision w8a8 = Precision::of_levels(8, 8, 8);
  const Model floats = LevelModel{}.in_floats(data());
  const auto refuse = [](const Model& model, const QuantizeModelOptions& options, const std::string& message) {
    test::expect_usage_error([&] { static_cast<void>(quantize(model, data(), options)); }, message);
  };
  for (const Precision& binary : {Precision::full, Precision::bin}) {
    refuse(random_model(Architecture::gcn, binary, 64, 12, 3, 2, 1), {},
           "quantize: the model is of precision " + to_string(binary) + ", expected a float model");
  }
  refuse(quantize(floats, data()), {}, "quantize: the model is of precision w8a8, expected a float model");
  refuse(floats, {.precision = Precision::real}, "quantize: no layer is to have levels");
  refuse(floats, {.precision = Precision::bin}, "quantize: a float model has no layer of form bin: bits are trained");
  refuse(floats, {.forms = {Precision::real, Precision::real}}, "quantize: no layer is to have levels");
  refuse(floats, {.forms = {w8a8}}, "quantize: 1 forms are given for a model of 2 layers");
  refuse(floats, {.forms = {w8a8, w8a8, w8a8}}, "quantize: 3 forms are given for a model of 2 layers");
  refuse(floats, {.forms = {w8a8, Precision::full}}, "quantize: a float model has no layer of form full");
  refuse(floats, {.forms = {w8a8, {.weight = {NumberKind::int8, 8}}}}, "no layer computes in the formats");
  const Dataset narrow = test::level_data({.features = 63});
  test::expect_error_with([&] { static_cast<void>(quantize(floats, narrow)); }, ErrorCode::bad_input, "features");
}

ValueId convolution(ProgramBuilder& build, std::size_t layer, ValueId x, std::size_t outputs) {
  build.begin_layer(layer);
  return build.aggregate(build.product(x, WeightOf::neighbor, outputs), Aggregation::symmetric, BiasOf::layer);
}

/// A skip connection: the input of the second convolution is added to its output.
TEST(QuantizeModel, OfANetworkOfItsOwn) {
  const LevelModel how{.depth = 3};
  Model floats = how.in_floats(data());
  floats.network = [](ProgramBuilder& build) {
    const ValueId first = build.relu(convolution(build, 0, build.features(), 12));
    const ValueId second = build.add(build.relu(convolution(build, 1, first, 12)), first);
    return convolution(build, 2, second, 3);
  };
  InferencePlan wanted(floats, data(), {}, Device::host(1));
  const DenseMatrix<float>& logits = wanted.run();
  float largest = 0;
  for (const float v : logits.values()) largest = std::max(largest, std::fabs(v));
  InferencePlan plan(quantize(floats, data(), {.precision = Precision::of_levels(16, 16, 16)}), data(), {},
                     Device::host(1));
  const DenseMatrix<float>& actual = plan.run();
  for (std::size_t n = 0; n < logits.values().size(); ++n)
    ASSERT_NEAR(actual.values()[n], logits.values()[n], 1e-3F * largest);
}

TEST(QuantizeModel, ALayerThatNeedsTwoScalesIsRefused) {
  Model floats = LevelModel{}.in_floats(data());
  const auto refuse = [&](const std::function<ValueId(ProgramBuilder&)>& network, const std::string& message) {
    floats.network = network;
    test::expect_usage_error([&] { static_cast<void>(quantize(floats, data())); }, message);
  };
  refuse(
      [](ProgramBuilder& b) {
        const ValueId x = b.product(b.features(), WeightOf::neighbor, 12);
        return b.add(b.aggregate(x, Aggregation::sum), b.aggregate(b.relu(x), Aggregation::sum));
      },
      "quantize: layer 0 adds up two different values, for which it has one scale");
  refuse(
      [](ProgramBuilder& b) {
        const ValueId x = b.product(b.features(), WeightOf::neighbor, 12);
        b.begin_layer(1);
        return b.add(b.product(x, WeightOf::neighbor, 3), b.product(b.relu(x), WeightOf::neighbor, 3));
      },
      "quantize: layer 1 multiplies two different values, for which it has one scale");
}

}  // namespace
}  // namespace bitgraph::nn
