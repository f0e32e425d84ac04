// SPDX-License-Identifier: Apache-2.0
// Networks that a user builds of operators (Model::network).
#include <bitgraph/bitgraph.hpp>

#include "nn/model/architectures.hpp"
#include "nn/model/random_model.hpp"
#include "nn/program/layers.hpp"
#include "nn/sampling/needed_rows.hpp"
#include "nn/training/run/training_run.hpp"
#include "support/every_device.hpp"
#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/random_matrices.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace bitgraph::nn {
namespace {

constexpr std::size_t features = 40, hidden = 16, classes = 4;

const Dataset& some_data() {
  static const Dataset data = generate_planted_partition(
      {.num_nodes = 300, .num_classes = classes, .num_features = features, .mean_degree = 6, .seed = 3});
  return data;
}

ValueId convolution(ProgramBuilder& build, std::size_t layer, ValueId x, std::size_t outputs) {
  build.begin_layer(layer);
  return build.aggregate(build.product(x, WeightOf::neighbor, outputs), Aggregation::symmetric, BiasOf::layer);
}

std::vector<Device> devices() {
  std::vector<Device> all{Device::host(1), Device::host(2)};
  if (test::cuda_device()) all.push_back(*test::cuda_device());
  return all;
}

TEST(OwnNetwork, OfTheSameOperatorsHasTheLogitsAndTheProgramOfTheArchitecture) {
  for (const Precision precision : {Precision::real, Precision::full, Precision::bin}) {
    const Model gcn = random_model(Architecture::gcn, precision, features, hidden, classes, 2, 5);
    Model own = random_model(Architecture::gcn, precision, features, hidden, classes, 2, 5);
    own.network = [](ProgramBuilder& build) {
      return convolution(build, 1, build.relu(convolution(build, 0, build.features(), hidden)), classes);
    };
    EXPECT_NE(own.fingerprint(), gcn.fingerprint());
    for (const Device& device : devices()) {
      InferencePlan there(gcn, some_data(), {}, device);
      InferencePlan here(own, some_data(), {}, device);
      EXPECT_EQ(there.program_dot(), here.program_dot());
      const DenseMatrix<float> wanted = there.run().to(Device{});
      const DenseMatrix<float> got = here.run().to(Device{});
      EXPECT_TRUE(std::equal(got.values().begin(), got.values().end(), wanted.values().begin()));
    }
    EXPECT_EQ(predict_memory(own, some_data()).bytes, predict_memory(gcn, some_data()).bytes);
  }
}

using OfOne = ValueId (ProgramBuilder::*)(ValueId x);

/// Three convolutions; the input of the second is added to its output.
Model residual_model(Precision precision, OfOne activation = &ProgramBuilder::relu) {
  Model model = random_model(Architecture::gcn, precision, features, hidden, classes, 3, 7);
  model.network = [activation](ProgramBuilder& build) {
    const ValueId first = (build.*activation)(convolution(build, 0, build.features(), hidden));
    const ValueId second = build.add((build.*activation)(convolution(build, 1, first, hidden)), first);
    return convolution(build, 2, second, classes);
  };
  return model;
}

/// The same in plain loops, without the graph: of nodes that have no neighbours each aggregation is the node itself.
DenseMatrix<float> plain_logits(const Model& model, const DenseMatrix<float>& x, float (*activation)(float)) {
  const auto apply = [&](std::size_t l, const DenseMatrix<float>& in) {
    const Linear& linear = model.layers[l].neighbor;
    DenseMatrix<float> out(in.nrows(), linear.outputs());
    for (std::size_t i = 0; i < in.nrows(); ++i) {
      for (std::size_t f = 0; f < linear.outputs(); ++f) {
        out(i, f) = linear.bias[f];
        for (std::size_t j = 0; j < in.ncols(); ++j) out(i, f) += in(i, j) * linear.floats()(f, j);
      }
    }
    return out;
  };
  const auto activate = [&](DenseMatrix<float>& y) {
    for (float& v : y.values()) v = activation(v);
  };
  DenseMatrix<float> first = apply(0, x);
  activate(first);
  DenseMatrix<float> second = apply(1, first);
  activate(second);
  for (std::size_t n = 0; n < second.values().size(); ++n) second.values()[n] += first.values()[n];
  return apply(2, second);
}

TEST(OwnNetwork, AResidualConnectionAddsTheInputOfALayer) {
  Dataset data;
  data.name = "lone nodes";
  data.graph = csr_from_edges(5, 5, {}, {});
  data.dense_features = DenseMatrix<float>(5, features);
  for (std::size_t n = 0; n < data.dense_features.values().size(); ++n)
    data.dense_features.values()[n] = random_uniform({9, 0, 0}, n) - 0.5F;
  data.labels.assign(5, 0);
  data.num_classes = classes;
  const auto check = [&](const Model& model, float (*activation)(float)) {
    const DenseMatrix<float> wanted = plain_logits(model, data.dense_features, activation);
    for (const Device& device : devices()) {
      InferencePlan plan(model, data, {}, device);
      const DenseMatrix<float> got = plan.run().to(Device{});
      for (std::size_t n = 0; n < wanted.values().size(); ++n)
        ASSERT_NEAR(got.values()[n], wanted.values()[n], 1e-5) << device.name();
    }
  };
  check(residual_model(Precision::real), [](float v) { return std::max(v, 0.0F); });
  check(residual_model(Precision::real, &ProgramBuilder::tanh), [](float v) { return std::tanh(v); });
}

/// A layer of the architecture, and its input where it is as wide.
std::uint32_t residual_layer(ProgramBuilder& build, const LayerShape& shape, std::uint32_t x) {
  const ValueId y = standard_layer(build, shape, x);
  return shape.inputs == shape.outputs ? build.add(y, x) : y;
}

/// The same with the input first.
std::uint32_t layer_on_input(ProgramBuilder& build, const LayerShape& shape, std::uint32_t x) {
  const ValueId y = standard_layer(build, shape, x);
  return shape.inputs == shape.outputs ? build.add(x, y) : y;
}

/// Of all nodes, or of the rows that the outputs of some nodes depend on: a layer's input then has more rows than its
/// output.
void check_gradients(LayerBuilder layer, bool of_some_nodes) {
  const Dataset& data = some_data();
  std::vector<LayerShape> shapes{{Aggregation::symmetric, false, features, 8},
                                 {Aggregation::symmetric, false, 8, 8},
                                 {Aggregation::symmetric, false, 8, classes}};
  for (LayerShape& shape : shapes) shape.build = layer;
  const std::vector<Precision> forms(shapes.size(), Precision::real);
  struct Weights {
    DenseMatrix<float> value, gradient;
  };
  std::vector<Weights> weights, biases;
  for (const LayerShape& shape : shapes) {
    weights.push_back(
        {test::random_dense(shape.outputs, shape.inputs, weights.size() + 1), {shape.outputs, shape.inputs}});
    biases.push_back({test::random_dense(1, shape.outputs, weights.size() + 9), {1, shape.outputs}});
  }
  std::vector<LayerParameters> parameters(shapes.size());
  for (std::size_t l = 0; l < shapes.size(); ++l)
    parameters[l].neighbor = {&weights[l].value, &biases[l].value, &weights[l].gradient, &biases[l].gradient};
  TrainingRun run(training_program(shapes, false, forms), parameters, Device::host(1));
  TrainingBatch batch;
  std::vector<NodeId> nodes(of_some_nodes ? 20 : data.graph.nrows());
  std::iota(nodes.begin(), nodes.end(), NodeId{0});
  const NeededRows needed = needed_rows(data.graph, nodes, shapes.size());
  if (of_some_nodes) {
    EXPECT_LT(needed.blocks[2].nrows(), needed.blocks[1].nrows());
  }
  std::vector<float> degrees;
  for (const NodeId node : needed.nodes) degrees.push_back(static_cast<float>(data.graph.row(node).size()));
  for (const CsrPattern& block : needed.blocks) {
    const WholeGraphFacts facts{.factor = 1, .input_degrees = std::span(degrees).first(block.ncols())};
    batch.graphs.push_back(std::make_shared<LayerGraph>(block, Aggregation::symmetric, facts, Device{}));
  }
  const DenseMatrix<float> x = test::random_dense(needed.nodes.size(), features, 3);
  const DenseMatrix<float> slope = test::random_dense(nodes.size(), classes, 4);
  const auto loss = [&] {
    const DenseMatrix<float>& logits = run.forward(batch, {.values = &x}, {});
    double sum = 0;
    for (std::size_t n = 0; n < logits.values().size(); ++n)
      sum += static_cast<double>(logits.values()[n]) * static_cast<double>(slope.values()[n]);
    return sum;
  };
  loss();
  std::copy(slope.values().begin(), slope.values().end(), run.result_gradient().values().begin());
  run.backward();
  for (Weights* const of : {&weights[0], &weights[1], &weights[2], &biases[1]}) {
    for (std::size_t n = 0; n < of->value.values().size(); n += 7) {
      constexpr float step = 1e-2F;
      float& w = of->value.values()[n];
      const float at = w;
      w = at + step;
      const double above = loss();
      w = at - step;
      const double below = loss();
      w = at;
      const double wanted = (above - below) / (2 * static_cast<double>(step));
      EXPECT_NEAR(of->gradient.values()[n], wanted, 0.02 * std::abs(wanted) + 0.5) << n;
    }
  }
}

TEST(OwnNetwork, ALayerOfANewKindIsTrainedByTheGradientsOfItsOperators) {
  for (const LayerBuilder layer : {residual_layer, layer_on_input}) {
    for (const bool of_some_nodes : {false, true}) {
      SCOPED_TRACE(of_some_nodes ? "some nodes" : "all nodes");
      check_gradients(layer, of_some_nodes);
    }
  }
}

/// Neighbours are rectified before they are added up; of the node itself another projection is, where there is one.
std::uint32_t rectified_projections(ProgramBuilder& build, const LayerShape& shape, std::uint32_t x) {
  const ValueId neighbors = build.relu(build.product(x, WeightOf::neighbor, shape.outputs));
  if (!shape.root) return build.aggregate(neighbors, shape.aggregation, BiasOf::layer);
  return build.add(build.aggregate(neighbors, shape.aggregation), build.product(x, WeightOf::root, shape.outputs),
                   BiasOf::layer);
}

/// A float model of the shapes of options_of(). One that is trained first takes hundreds of epochs.
const Model& untrained_teacher(Architecture architecture) {
  static std::map<Architecture, Model> made;
  const auto [place, is_new] = made.try_emplace(architecture);
  if (is_new) place->second = random_model(architecture, Precision::real, features, hidden, classes, 3, 4);
  return place->second;
}

TrainOptions options_of(Architecture architecture, const Precision& precision, LayerBuilder layer = residual_layer) {
  TrainOptions options{.precision = precision, .architecture = architecture, .hidden = hidden, .depth = 3};
  options.layer_builder = layer;
  options.epochs = 4;
  options.seed = 3;
  if (test::sanitized && precision.multiplies_signs()) options.teacher = &untrained_teacher(architecture);
  return options;
}

/// Training judges a model on the validation nodes by what a plan of it computes.
TEST(OwnNetwork, ALayerOfYourOwnIsTrainedAsItRuns) {
  std::vector<Device> places{Device::host(2)};
  if (test::cuda_device()) places.push_back(*test::cuda_device());
  for (const Device& device : places) {
    for (const Architecture architecture : all_architectures()) {
      for (const Precision& precision :
           {Precision::real, Precision::full, Precision::bin, Precision::of_levels(8, 8, 8)}) {
        SCOPED_TRACE(std::string(to_string(architecture)) + " " + to_string(precision) + " " + device.name());
        const TrainResult own = train(some_data(), options_of(architecture, precision), device);
        EXPECT_EQ(own.model.layer_builder, &residual_layer);
        InferencePlan plan(own.model, some_data(), {}, device);
        EXPECT_NE(plan.program_text().find("ADD"), std::string::npos);
        const Score judged = score(plan.run().to(Device{}), some_data().labels, some_data().validation);
        EXPECT_NEAR(judged.loss, own.validation_loss, 1e-3 * own.validation_loss);
        EXPECT_NEAR(judged.accuracy(), own.validation_accuracy, 0.02);
        TrainOptions standard = options_of(architecture, precision);
        standard.layer_builder = nullptr;
        EXPECT_NE(train(some_data(), standard, device).validation_loss, own.validation_loss);
      }
    }
  }
}

std::uint32_t layer_with_tanh(ProgramBuilder& build, const LayerShape& shape, std::uint32_t x) {
  return build.tanh(standard_layer(build, shape, x));
}

/// No relu comes behind it. Signs of it are those of its input; levels of it have negative values, too.
TEST(OwnNetwork, ALayerMayEndInTanh) {
  for (const Device& device : devices()) {
    for (const Precision& precision :
         {Precision::real, Precision::full, Precision::bin, Precision::of_levels(8, 8, 8)}) {
      SCOPED_TRACE(std::string(to_string(precision)) + " " + device.name());
      TrainOptions options = options_of(Architecture::gcn, precision, layer_with_tanh);
      options.epochs = 40;
      const TrainResult own = train(some_data(), options, device);
      InferencePlan plan(own.model, some_data(), {}, device);
      const std::string text = plan.program_text();
      EXPECT_EQ(text.find("TANH") == std::string::npos, precision.multiplies_signs()) << text;
      EXPECT_EQ(text.find("+ TANH") != std::string::npos, precision.has_levels()) << text;
      if (precision == Precision::real) {
        EXPECT_EQ(text.find("RELU"), text.rfind("RELU")) << "behind the first layer, which is not of the kind\n"
                                                         << text;
      }
      const Score judged = score(plan.run().to(Device{}), some_data().labels, some_data().validation);
      EXPECT_NEAR(judged.loss, own.validation_loss, 1e-3 * own.validation_loss);
      EXPECT_GT(judged.accuracy(), 0.6);
    }
  }
}

std::size_t rows_that_differ(const DenseMatrix<float>& a, const DenseMatrix<float>& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.nrows(); ++i) {
    const auto near = [](float x, float y) { return std::abs(x - y) <= 1e-3F * (1 + std::abs(y)); };
    if (!std::equal(a.row(i).begin(), a.row(i).end(), b.row(i).begin(), near)) ++count;
  }
  return count;
}

/// Signs are then taken of what others read as floats.
TEST(OwnNetwork, ALayerOfYourOwnRunsInEveryMixtureOfForms) {
  for (const Architecture architecture : {Architecture::gcn, Architecture::gin, Architecture::sage}) {
    Model model = random_model(architecture, Precision::bin, features, hidden, classes, 3, 5);
    model.layer_builder = residual_layer;
    const std::size_t count = model.layers.size();
    for (unsigned mixture = 0; mixture < 1U << (count - 1); ++mixture) {
      InferenceOptions options{.forms = std::vector<Precision>(count, Precision::full)};
      for (std::size_t l = 0; l + 1 < count; ++l)
        if ((mixture >> l & 1U) != 0) options.forms[l] = Precision::bin;
      SCOPED_TRACE(std::string(to_string(architecture)) + " " + options.describe());
      DenseMatrix<float> wanted;
      for (const Device& device : devices()) {
        for (const Launching launching : {Launching::automatic, Launching::steps}) {
          options.launching = launching;
          InferencePlan plan(model, some_data(), options, device);
          const DenseMatrix<float> got = plan.run().to(Device{});
          if (wanted.nrows() == 0) wanted = got.clone();
          // A sign of a sum that is nearly 0 depends on the order of the sum.
          EXPECT_LE(rows_that_differ(got, wanted), device.is_host() ? 0U : wanted.nrows() / 50);
        }
      }
    }
  }
}

TEST(OwnNetwork, OtherProjectionsAreTrainedAsTheyRun) {
  for (const Architecture architecture : {Architecture::gcn, Architecture::sage, Architecture::saint}) {
    for (const Precision& precision :
         {Precision::real, Precision::full, Precision::bin, Precision::of_levels(8, 8, 8)}) {
      SCOPED_TRACE(std::string(to_string(architecture)) + " " + to_string(precision));
      const Device device = Device::host(2);
      const TrainResult own = train(some_data(), options_of(architecture, precision, rectified_projections), device);
      InferencePlan plan(own.model, some_data(), {}, device);
      const Score judged = score(plan.run(), some_data().labels, some_data().validation);
      EXPECT_NEAR(judged.loss, own.validation_loss, 1e-3 * own.validation_loss);
    }
  }
}

TEST(OwnNetwork, AFileHoldsTheWeightsOfAModelWithALayerOfYourOwn) {
  const test::TemporaryFolder folder;
  TrainResult trained = train(some_data(), options_of(Architecture::sage, Precision::full));
  InferencePlan plan(trained.model, some_data());
  const std::string before = trained.model.fingerprint();
  test::expect_error([&] { trained.model.save(folder / "own.safetensors"); }, ErrorCode::not_possible,
                     "a layer of your own is code: save the model without it, and give it back when loaded");
  trained.model.layer_builder = nullptr;
  EXPECT_NE(trained.model.fingerprint(), before);
  trained.model.save(folder / "weights.safetensors");
  Model loaded = Model::load(folder / "weights.safetensors");
  loaded.layer_builder = residual_layer;
  EXPECT_EQ(loaded.fingerprint(), before);
  InferencePlan again(loaded, some_data());
  const DenseMatrix<float>& wanted = plan.run();
  const DenseMatrix<float>& got = again.run();
  EXPECT_TRUE(std::equal(got.values().begin(), got.values().end(), wanted.values().begin()));
}

TEST(OwnNetwork, TrainingGoesOnWithTheSameLayerAlone) {
  const test::TemporaryFolder folder;
  TrainOptions options = options_of(Architecture::gcn, Precision::real);
  const TrainResult whole = train(some_data(), options);
  options.checkpoint = folder / "run";
  options.checkpoint_every = 1;
  options.epochs = 2;
  static_cast<void>(train(some_data(), options));
  options.epochs = 4;
  EXPECT_EQ(train(some_data(), options).model.fingerprint(), whole.model.fingerprint());
  options.layer_builder = nullptr;
  test::expect_error_with([&] { static_cast<void>(train(some_data(), options)); }, ErrorCode::bad_input, "gcn");
}

std::uint32_t twice(ProgramBuilder& build, const LayerShape& shape, std::uint32_t x) {
  return build.aggregate(standard_layer(build, shape, x), shape.aggregation);
}
std::uint32_t means(ProgramBuilder& build, const LayerShape& shape, std::uint32_t x) {
  return build.aggregate(build.product(x, WeightOf::neighbor, shape.outputs), Aggregation::mean, BiasOf::layer);
}
std::uint32_t too_wide(ProgramBuilder& build, const LayerShape& shape, std::uint32_t x) {
  return build.add(standard_layer(build, shape, x), build.features());
}

TEST(OwnNetwork, ALayerThatCannotBeTrainedIsRefused) {
  const auto refused = [](LayerBuilder layer, const std::string& what) {
    TrainOptions options = options_of(Architecture::gcn, Precision::real);
    options.layer_builder = layer;
    test::expect_error_with([&] { static_cast<void>(train(some_data(), options)); }, ErrorCode::usage, what);
  };
  refused(twice, "train: layer 1 aggregates 2 times, expected 1");
  refused(means, "train: layer 1 aggregates in another way than gcn");
  refused(too_wide, "layer 1");
}

TEST(OwnNetwork, RunsInBitsAndInParts) {
  for (const Precision precision : {Precision::full, Precision::bin}) {
    const Model model = residual_model(precision);
    InferencePlan whole(model, some_data());
    const std::size_t bytes = predict_memory(model, some_data()).bytes;
    InferencePlan parts(model, some_data(), {.memory = bytes - 1});
    const DenseMatrix<float>& wanted = whole.run();
    const DenseMatrix<float>& got = parts.run();
    EXPECT_TRUE(std::equal(got.values().begin(), got.values().end(), wanted.values().begin()));
  }
}

TEST(OwnNetwork, WhatDoesNotFitIsSaidWithItsLayer) {
  using Build = std::function<ValueId(ProgramBuilder&)>;
  const auto refused = [](const Build& build, const std::string& text) {
    Model model = random_model(Architecture::gcn, Precision::real, features, hidden, classes, 2, 5);
    model.network = build;
    SCOPED_TRACE(text);
    test::expect_usage_error([&] { model.validate(); }, text);
    test::expect_usage_error([&] { InferencePlan(model, some_data()); }, text);
  };
  refused([](ProgramBuilder& b) { return convolution(b, 0, b.features(), hidden + 1); }, "layer 0");
  refused([](ProgramBuilder& b) { return convolution(b, 1, b.features(), classes); }, "layer 1");
  refused([](ProgramBuilder& b) { return convolution(b, 2, b.features(), classes); }, "the model has 2 layers");
  refused([](ProgramBuilder& b) { return b.product(b.features(), WeightOf::root, hidden); }, "no such weights");
  refused([](ProgramBuilder& b) { return b.add(b.features(), convolution(b, 0, b.features(), hidden)); }, "layer 0");
  refused([](ProgramBuilder& b) { return b.relu(99); }, "%99");
  refused([](ProgramBuilder& b) { return b.add(99, b.features()); }, "%99");
  refused([](ProgramBuilder& b) { return b.aggregate(99, Aggregation::mean); }, "%99");
  refused([](ProgramBuilder& b) { return b.concat({b.features(), 99}); }, "%99");
  refused([](ProgramBuilder& b) { return b.concat({}); }, "puts 0 values");
  refused([](ProgramBuilder&) { return ValueId{99}; }, "does not make its result");
}

TEST(OwnNetwork, NoFileHoldsIt) {
  const test::TemporaryFolder folder;
  const Model model = residual_model(Precision::full);
  test::expect_error([&] { model.save(folder / "own.safetensors"); }, ErrorCode::not_possible,
                     "a model with a network of its own is code: no file can hold it");
  EXPECT_FALSE(std::filesystem::exists(folder / "own.safetensors"));
}

}  // namespace
}  // namespace bitgraph::nn
