// SPDX-License-Identifier: Apache-2.0
// Other weights in a plan: the logits are those of a new plan of the other model, bit for bit.
#include "nn/inference/parts/packed_parts.hpp"
#include "nn/inference/parts/part_cases.hpp"
#include "nn/inference/parts/staying_parts.hpp"
#include "nn/model/architectures.hpp"
#include "nn/model/random_model.hpp"
#include "support/cuda_device.hpp"
#include "support/expect_error.hpp"
#include "support/graph_sets.hpp"
#include "support/planted_data.hpp"
#include "support/sanitized.hpp"

#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/program.hpp>
#include <bitgraph/nn/quantize.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using test::FeatureKind;
using test::places;

/// Models of other seeds differ in their numbers alone. Those of levels have steps that fit the data.
Model epoch(Architecture architecture, const Precision& precision, const Dataset& data, std::uint64_t seed) {
  const Precision trained = precision.has_levels() ? Precision::real : precision;
  const auto classes = static_cast<std::size_t>(data.num_classes);
  Model model = random_model(architecture, trained, data.num_features(), 24, classes, 3, seed);
  const Model first = random_model(architecture, trained, data.num_features(), 24, classes, 3, 1);
  model.readout = data.num_graphs() != 0;
  model.input_mean = first.input_mean.clone();
  model.input_inverse_deviation = first.input_inverse_deviation.clone();
  return precision.has_levels() ? quantize(model, data, {.precision = precision}) : std::move(model);
}

const std::vector<Precision> precisions =
    test::sanitized ? std::vector{Precision::real, Precision::bin, Precision::of_levels(4, 4, 4)}
                    : std::vector{Precision::real, Precision::full, Precision::bin, Precision::of_levels(8, 8, 8),
                                  Precision::of_levels(4, 4, 4)};

const std::vector<Architecture> architectures =
    test::sanitized ? std::vector{Architecture::gcn, Architecture::saint, Architecture::gin} : all_architectures();

/// Calls fn(precision, old model, new model) for every architecture and precision.
void for_each_kind(const Dataset& data, const std::function<void(const Precision&, const Model&, const Model&)>& fn) {
  for (const Architecture architecture : architectures) {
    for (const Precision& precision : precisions) {
      SCOPED_TRACE(std::string(to_string(architecture)) + " " + to_string(precision));
      fn(precision, epoch(architecture, precision, data, 1), epoch(architecture, precision, data, 2));
    }
  }
}

DenseMatrix<float> here(const DenseMatrix<float>& logits) { return logits.to(Device{}); }

void expect_same(const DenseMatrix<float>& actual, const DenseMatrix<float>& expected) {
  test::expect_identical(here(actual).values(), here(expected).values());
}

/// CUDA graphs are recorded in the second run.
void expect_runs_of(InferencePlan& plan, const Model& model, const Dataset& data, const InferenceOptions& options,
                    const Device& device) {
  InferencePlan fresh(model, data, options, device);
  const DenseMatrix<float> expected = here(fresh.run());
  for (int repeat = 0; repeat < 3; ++repeat) expect_same(plan.run(), expected);
}

TEST(WeightUpdates, GiveTheBitsOfANewPlan) {
  for (const Device& device : places()) {
    for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::dense}) {
      const Dataset data = test::planted_data({.nodes = 250, .features = 70, .kind = kind});
      for_each_kind(data, [&](const Precision&, const Model& before, const Model& after) {
        for (const Launching launching : {Launching::automatic, Launching::steps, Launching::graph}) {
          const InferenceOptions options{.launching = launching};
          InferencePlan plan(before, data, options, device);
          plan.set_weights(after);  // ahead of the first run
          expect_runs_of(plan, after, data, options, device);
          plan.set_weights(before);
          expect_runs_of(plan, before, data, options, device);
          EXPECT_FALSE(plan.explain(1).empty());
          if (device.is_host()) break;
        }
      });
    }
  }
}

/// A model that sees features in another way than those of epoch(): means and deviations of its own, or none, a limit,
/// rows divided by their sums.
Model another_view(Architecture architecture, const Precision& precision, const Dataset& data, bool standardizes) {
  const Precision trained = precision.has_levels() ? Precision::real : precision;
  Model model = random_model(architecture, trained, data.num_features(), 24, data.num_classes, 3, 2);
  model.readout = data.num_graphs() != 0;
  model.normalize_rows = true;
  if (!standardizes) {
    model.input_mean = {};
    model.input_inverse_deviation = {};
  } else if (!trained.multiplies_signs()) {
    model.input_mean = Buffer<float>(data.num_features(), data.has_dense_features() ? 0.01F : 0.0F);
    model.input_inverse_deviation = Buffer<float>(data.num_features(), 30.0F);
    model.input_limit = 0.5F;
  }
  return precision.has_levels() ? quantize(model, data, {.precision = precision}) : std::move(model);
}

TEST(WeightUpdates, WithFeaturesAreOfAModelThatSeesThemInAnotherWay) {
  for (const Device& device : places()) {
    for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::dense}) {
      const Dataset data = test::planted_data({.nodes = 250, .features = 70, .kind = kind});
      std::vector<NodeId> nodes(250);
      std::iota(nodes.begin(), nodes.end(), NodeId{0});
      for_each_kind(data, [&](const Precision& precision, const Model& before, const Model&) {
        for (const bool standardizes : {true, false}) {
          const Model after = another_view(before.architecture, precision, data, standardizes);
          InferencePlan plan(before, data, {.order = Order::degree}, device);
          plan.run();
          test::expect_error_with([&] { plan.set_weights(after); }, ErrorCode::not_possible, "give the features, too");
          const auto set = [&](const Model& model) {
            data.has_dense_features() ? plan.set_weights(model, data.dense_features)
                                      : plan.set_weights(model, data.features);
          };
          set(after);
          plan.set_weights(after);  // features are seen so now
          expect_runs_of(plan, after, data, {.order = Order::degree}, device);
          Dataset changed = test::planted_data({.nodes = 250, .features = 70, .kind = kind, .seed = 9});
          changed.graph = data.graph.clone();
          changed.has_dense_features() ? plan.set_features(nodes, changed.dense_features)
                                       : plan.set_features(nodes, changed.features);
          expect_runs_of(plan, after, changed, {.order = Order::degree}, device);
          set(before);
          expect_runs_of(plan, before, data, {.order = Order::degree}, device);
        }
      });
    }
  }
}

TEST(WeightUpdates, WithFeaturesHaveAsManySignsOfEach) {
  const Dataset data = test::planted_data({.nodes = 250, .features = 35, .kind = FeatureKind::dense});
  const auto of_signs = [&](std::size_t signs, std::uint64_t seed) {
    Model model = random_model(Architecture::gcn, Precision::bin, 70, 24, data.num_classes, 3, seed);
    model.thresholds = signs;
    return model;
  };
  const Model before = of_signs(2, 1), after = of_signs(2, 2);
  for (const Device& device : places()) {
    InferencePlan plan(before, data, {}, device);
    plan.set_weights(after, data.dense_features);
    expect_runs_of(plan, after, data, {}, device);
    const std::string what = "signs of each feature: the model takes 1, the plan's 2";
    test::expect_error_with([&] { plan.set_weights(of_signs(1, 2)); }, ErrorCode::usage, what);
    test::expect_error_with([&] { plan.set_weights(of_signs(1, 2), data.dense_features); }, ErrorCode::usage, what);
    expect_runs_of(plan, after, data, {}, device);
  }
}

TEST(WeightUpdates, WithFeaturesAreRefusedWhereThePlanCannotTakeThem) {
  const Dataset data = test::planted_data({.nodes = 250, .features = 70});
  const Model model = epoch(Architecture::gcn, Precision::real, data, 1);
  const Model after = another_view(Architecture::gcn, Precision::real, data, true);
  for (const Device& device : places()) {
    InferencePlan plan(model, data, {}, device);
    const DenseMatrix<float> before = here(plan.run());
    const auto refuses = [&](const Model& other, const auto& features, ErrorCode code, const std::string& what) {
      test::expect_error_with([&] { plan.set_weights(other, features); }, code, what);
      expect_same(plan.run(), before);
      test::expect_error_with([&] { plan.set_weights(after); }, ErrorCode::not_possible, "give the features, too");
      plan.set_features(data.features);  // seen as before
      expect_same(plan.run(), before);
    };
    refuses(after, DenseMatrix<float>(249, 70), ErrorCode::usage, "249 x 70, 250 nodes of 70 features are expected");
    SparseFeatures wrong{data.features.pattern.clone(), data.features.values.clone()};
    wrong.values[5] = std::numeric_limits<float>::quiet_NaN();
    refuses(after, wrong, ErrorCode::bad_input, "a value that is not finite");
    refuses(epoch(Architecture::sage, Precision::real, data, 2), data.features, ErrorCode::usage, "layer 0");
    Model less_means = another_view(Architecture::gcn, Precision::real, data, true);
    less_means.input_mean[3] = 1;
    refuses(less_means, data.features, ErrorCode::not_possible, "less their means, the plan was made of sparse ones");
    plan.set_weights(after, data.features);
    expect_runs_of(plan, after, data, {}, device);
  }
  const Partition partition = test::partition_of(data, 40);
  InferencePlan over_parts(model, data, {.partition = &partition, .batch_parts = 7});
  test::expect_error_with([&] { over_parts.set_weights(after, data.features); }, ErrorCode::not_possible, "parts");
}

TEST(WeightUpdates, GoTogetherWithOtherFeaturesAndAnotherGraph) {
  for (const Device& device : places()) {
    const Dataset data = test::planted_data({.nodes = 250, .features = 70});
    const Dataset other = test::planted_data({.nodes = 240, .features = 70, .seed = 9});
    const InferenceOptions options{.order = Order::degree, .capacity = {300, 2 * data.graph.nvals()}};
    for_each_kind(data, [&](const Precision&, const Model& before, const Model& after) {
      InferencePlan plan(before, data, options, device);
      plan.run();
      plan.set_graph(other.graph.clone());
      plan.set_features(other.features);
      plan.set_weights(after);
      expect_runs_of(plan, after, other, options, device);
      plan.set_weights(before);
      plan.set_graph(data.graph.clone());
      plan.set_features(data.features);
      expect_runs_of(plan, before, data, options, device);
    });
  }
}

TEST(WeightUpdates, TakeTheGraphInPartsOfItsRows) {
  for (const Device& device : places()) {
    const Dataset data = test::planted_data({.nodes = 2000, .features = 70, .kind = FeatureKind::dense});
    std::size_t tried = 0;
    for_each_kind(data, [&](const Precision&, const Model& before, const Model& after) {
      InferenceOptions options;
      options.memory = predict_memory(before, data, options, device).bytes - 1;
      try {
        static_cast<void>(predict_memory(before, data, options, device));
      } catch (const Error&) {
        return;  // too little for any number of parts
      }
      ++tried;
      InferencePlan plan(before, data, options, device);
      EXPECT_GT(plan.predicted().parts, 1U);
      plan.run();
      plan.set_weights(after);
      expect_runs_of(plan, after, data, options, device);
    });
    EXPECT_GT(tried, 0U) << device.name();
  }
}

TEST(WeightUpdates, OfModelsThatClassifyGraphs) {
  const Dataset data = test::rings_and_stars({.graphs = 50, .features = 70});
  for (const Device& device : places()) {
    for (const Architecture architecture : {Architecture::gcn, Architecture::gin}) {
      for (const Precision& precision : precisions) {
        SCOPED_TRACE(std::string(to_string(architecture)) + " " + to_string(precision));
        const Model before = epoch(architecture, precision, data, 1), after = epoch(architecture, precision, data, 2);
        InferencePlan plan(before, data, {}, device);
        plan.run();
        plan.set_weights(after);
        expect_runs_of(plan, after, data, {}, device);
      }
    }
  }
}

/// Plans over parts of one kind.
template <class Make>
void expect_parts_take(const Dataset& data, const Device& device, const Make& make) {
  const Partition partition = test::partition_of(data, 40);
  for_each_kind(data, [&](const Precision&, const Model& before, const Model& after) {
    const InferenceOptions options = test::options_for(before, partition, 7);
    const auto plan = make(before, options, device);
    const DenseMatrix<float> first = here(plan->run()), second = here(make(after, options, device)->run());
    std::size_t held = device.memory().live;
    for (int round = 0; round < 2; ++round) {
      plan->set_weights(after);
      test::expect_runs(*plan, second, false);
      EXPECT_FALSE(plan->explain(1).empty());
      plan->set_weights(before);
      test::expect_runs(*plan, first, false);
      if (round == 1 || device.is_host()) {  // a device's scratch memory grows with the first calls
        EXPECT_EQ(device.memory().live, held);
      }
      held = device.memory().live;
    }
  });
}

TEST(WeightUpdates, ReachAPlanOverParts) {
  for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::dense}) {
    const Dataset data = test::planted_data({.nodes = 250, .features = 70, .kind = kind});
    expect_parts_take(data, Device::host(2),
                      [&](const Model& model, const InferenceOptions& options, const Device& at) {
                        return make_host_parts(model, data, options, at);
                      });
  }
}

TEST(WeightUpdates, ReachBatchesThatStayOnADevice) {
  const Dataset data = test::planted_data({.nodes = 250, .features = 70});
  for (const Device& device : places()) {
    expect_parts_take(data, device, [&](const Model& model, const InferenceOptions& options, const Device& at) {
      return std::make_unique<StayingParts>(model, data, options, at,
                                            *batches_that_stay(model, data, options, at, std::size_t{1} << 40U));
    });
  }
}

TEST(WeightUpdates, ReachBatchesThatComeFromTheHost) {
  const Dataset data = test::planted_data({.nodes = 250, .features = 70});
  for (const Device& device : places()) {
    expect_parts_take(data, device, [&](const Model& model, const InferenceOptions& options, const Device& at) {
      return std::make_unique<PackedParts>(model, data, options, at, Packing{.group_bytes = 4000});
    });
  }
}

TEST(WeightUpdates, OfPlansOverPartsComeByWayOfThePlan) {
  const Dataset data = test::planted_data({.nodes = 250, .features = 70});
  const Partition partition = test::partition_of(data, 40);
  for_each_kind(data, [&](const Precision&, const Model& before, const Model& after) {
    const InferenceOptions options{.partition = &partition, .batch_parts = 7};
    InferencePlan plan(before, data, options);
    plan.set_weights(after);
    expect_runs_of(plan, after, data, options, {});
  });
}

/// What a device holds stays as it is. Of levels one model may have offsets where the other has none.
TEST(WeightUpdates, WriteOverWhatIsThere) {
  for (const Device& device : places()) {
    const Dataset data = test::planted_data({.nodes = 250, .features = 70});
    for_each_kind(data, [&](const Precision& precision, const Model& before, const Model& after) {
      InferencePlan plan(before, data, {}, device);
      const auto bytes_after_runs = [&] {
        for (int repeat = 0; repeat < 2; ++repeat) plan.run();
        return device.memory().live;
      };
      const std::size_t at_first = bytes_after_runs();
      plan.set_weights(after);
      const std::size_t of_other = bytes_after_runs();
      if (!precision.has_levels()) {
        EXPECT_EQ(of_other, at_first);
      }
      plan.set_weights(before);
      EXPECT_EQ(bytes_after_runs(), at_first);
      plan.set_weights(after);
      EXPECT_EQ(bytes_after_runs(), of_other);
    });
  }
}

/// The plan is as it was behind each of them.
TEST(WeightUpdates, RefuseWhatIsNotAlikeAndSayWhat) {
  const Dataset data = test::planted_data({.nodes = 250, .features = 70});
  const auto classes = static_cast<std::size_t>(data.num_classes);
  for (const Device& device : places()) {
    const Model model = epoch(Architecture::sage, Precision::bin, data, 1);
    InferencePlan plan(model, data, {}, device);
    const DenseMatrix<float> before = here(plan.run());
    const auto refuses = [&](const Model& other, ErrorCode code, const std::string& what) {
      test::expect_error_with([&] { plan.set_weights(other); }, code, what);
      expect_same(plan.run(), before);
    };
    const auto changed = [&](const auto& change) {
      Model other = epoch(Architecture::sage, Precision::bin, data, 2);
      change(other);
      return other;
    };
    refuses(random_model(Architecture::sage, Precision::bin, 70, 24, classes, 2, 2), ErrorCode::usage,
            "set_weights: the model has 2 layers, the plan's has 3");
    refuses(random_model(Architecture::sage, Precision::bin, 70, 25, classes, 3, 2), ErrorCode::usage,
            "set_weights: layer 0 has weights 25 x 70, the plan's has 24 x 70");
    refuses(random_model(Architecture::sage, Precision::bin, 71, 24, classes, 3, 2), ErrorCode::usage,
            "set_weights: layer 0 has weights 24 x 71, the plan's has 24 x 70");
    refuses(random_model(Architecture::sage, Precision::bin, 70, 24, classes + 1, 3, 2), ErrorCode::usage, "layer 2");
    refuses(epoch(Architecture::sage, Precision::full, data, 2), ErrorCode::usage,
            "set_weights: layer 0 has precision full, the plan's has bin");
    refuses(epoch(Architecture::sage, Precision::of_levels(8, 8, 8), data, 2), ErrorCode::usage, "precision w8a8");
    refuses(epoch(Architecture::gcn, Precision::bin, data, 2), ErrorCode::usage,
            "set_weights: layer 0 has aggregation symmetric, the plan's has mean");
    refuses(changed([](Model& m) { m.layers[1].root = {}; }), ErrorCode::usage,
            "set_weights: layer 1 has weights for the node itself none, the plan's has 24 x 24");
    refuses(changed([](Model& m) { m.layers[2].neighbor.bias[0] = std::numeric_limits<float>::infinity(); }),
            ErrorCode::bad_input, "layer 2 has a weight that is infinite or not a number");
    refuses(changed([](Model& m) { m.normalize_rows = true; }), ErrorCode::not_possible, "divided by their sums");
    refuses(changed([](Model& m) { m.input_mean[3] += 1; }), ErrorCode::not_possible,
            "another mean, deviation or limit");
    refuses(changed([](Model& m) { m.input_inverse_deviation[3] += 1; }), ErrorCode::not_possible,
            "another mean, deviation or limit");
    const Model after = epoch(Architecture::sage, Precision::bin, data, 2);
    plan.set_weights(after);
    expect_runs_of(plan, after, data, {}, device);
  }
}

/// A network of your own, of two layers with a residual connection or without.
Model own_network(const Dataset& data, bool residual, std::uint64_t seed) {
  Model model = epoch(Architecture::gcn, Precision::full, data, seed);
  model.network = [residual](ProgramBuilder& build) {
    const auto layer = [&](std::size_t l, ValueId x, std::size_t outputs) {
      build.begin_layer(l);
      return build.aggregate(build.product(x, WeightOf::neighbor, outputs), Aggregation::symmetric);
    };
    const ValueId first = build.relu(layer(0, build.features(), 24));
    const ValueId second = layer(1, first, 24);
    return layer(2, residual ? build.add(second, first) : second, 3);
  };
  return model;
}

TEST(WeightUpdates, OfANetworkOfYourOwnHaveItsOperators) {
  const Dataset data = test::planted_data({.nodes = 250, .features = 70});
  for (const Device& device : places()) {
    InferencePlan plan(own_network(data, true, 1), data, {}, device);
    const DenseMatrix<float> before = here(plan.run());
    test::expect_error_with([&] { plan.set_weights(own_network(data, false, 2)); }, ErrorCode::usage,
                            "other operators between them");
    expect_same(plan.run(), before);
    plan.set_weights(own_network(data, true, 2));
    expect_runs_of(plan, own_network(data, true, 2), data, {}, device);
  }
}

}  // namespace
}  // namespace bitgraph::nn
