// SPDX-License-Identifier: Apache-2.0
// Every architecture, depth and form: the plan beside the model in plain float arithmetic.
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/nn/infer.hpp>

#include "nn/model/architectures.hpp"
#include "nn/model/random_model.hpp"
#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/near_logits.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace bitgraph::nn {
namespace {

using test::expect_near;

const std::vector<Architecture> architectures = all_architectures();

/// 70 features: two words a row, the second with padding. Some nodes have no neighbours.
Dataset planted() {
  return generate_planted_partition(
      {.num_nodes = 150, .num_classes = 3, .num_features = 70, .mean_degree = 3, .seed = 5});
}

/// All forms that a model of so many layers can run in.
std::vector<std::vector<Precision>> forms_of(const Model& model) {
  const std::size_t votes = model.precision == Precision::real ? 0 : model.layers.size() - 1;
  std::vector<std::vector<Precision>> all;
  for (std::size_t mask = 0; mask < (std::size_t{1} << votes); ++mask) {
    // What stands side by side is all bits or all floats.
    if (model.concatenates() && mask != 0 && mask + 1 != (std::size_t{1} << votes)) continue;
    std::vector<Precision> forms;
    for (std::size_t l = 0; l < model.layers.size(); ++l) {
      if (model.precision == Precision::real) {
        forms.push_back(Precision::real);
      } else {
        forms.push_back(((mask >> l) & 1U) != 0 ? Precision::bin : Precision::full);
      }
    }
    all.push_back(std::move(forms));
  }
  return all;
}

/// Signs that hidden layers read have scales of their rows, or none.
void set_inputs(Model& model, bool plain) {
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    Precision& form = model.layers[l].precision;
    form = plain && l != 0 ? model.precision.with_plain_input() : model.precision;
    if (l + 1 == model.layers.size()) form = form.of_last_layer();
  }
}

bool has_plain_inputs(const Model& model) {
  return std::any_of(model.layers.begin(), model.layers.end(),
                     [](const Layer& layer) { return layer.precision.has_plain_input(); });
}

template <class Fn>
void for_each_case(Fn&& fn) {
  const Dataset dataset = planted();
  for (const Architecture architecture : architectures) {
    for (const Precision precision : {Precision::real, Precision::bin}) {
      for (const std::size_t depth : {1, 2, 3, 0}) {
        const bool jumping = depth == 0;
        Model model = random_model(architecture, precision, 70, 65, 3, jumping ? 2 : depth, 11, jumping);
        for (const bool plain : {true, false}) {
          set_inputs(model, plain);
          if (plain && !has_plain_inputs(model)) continue;
          for (const auto& forms : forms_of(model)) {
            std::string trace = std::string(to_string(architecture)) + (jumping ? " jumping" : "");
            for (const Precision form : forms) trace += " " + std::string(to_string(form));
            SCOPED_TRACE(trace + (plain ? ", plain signs" : ""));
            fn(model, dataset, forms);
          }
        }
      }
    }
  }
}

TEST(Architectures, PlansMatchPlainArithmetic) {
  for_each_case([](const Model& model, const Dataset& dataset, const std::vector<Precision>& forms) {
    const DenseMatrix<float> expected = emulate(model, dataset, forms);
    for (const FeatureStorage storage : {FeatureStorage::sparse, FeatureStorage::dense}) {
      InferencePlan plan(model, dataset, {.forms = forms, .features = storage}, Device::host(2));
      expect_near(plan.run(), expected);
    }
  });
}

TEST(Architectures, SignsHaveTheScalesThatTheModelWasTrainedWith) {
  const Dataset dataset = planted();
  const test::TemporaryFolder folder;
  for (const Architecture architecture : architectures) {
    Model model = random_model(architecture, Precision::full, 70, 65, 3, 2, 11);
    SCOPED_TRACE(to_string(architecture));
    EXPECT_EQ(has_plain_inputs(model), architecture != Architecture::gcn);
    set_inputs(model, true);
    const auto logits = [&](const char* name) {
      DenseMatrix<float> of_model = InferencePlan(model, dataset).run().clone();
      model.save(folder / name);
      EXPECT_EQ(test::distance(InferencePlan(Model::load(folder / name), dataset).run(), of_model), 0);
      return of_model;
    };
    const DenseMatrix<float> plain = logits("plain.safetensors");
    set_inputs(model, false);
    EXPECT_NE(test::distance(logits("scaled.safetensors"), plain), 0);
  }
}

TEST(Architectures, PlansOnADeviceMatchPlainArithmetic) {
  BITGRAPH_REQUIRE_CUDA();
  const Device device = *test::cuda_device();
  for_each_case([&](const Model& model, const Dataset& dataset, const std::vector<Precision>& forms) {
    InferencePlan plan(model, dataset, {.forms = forms}, device);
    plan.run();
    const std::size_t before = device.memory().allocations;
    const DenseMatrix<float> actual = plan.run().to(Device());
    EXPECT_EQ(device.memory().allocations, before);
    expect_near(actual, emulate(model, dataset, forms));
  });
}

TEST(Architectures, TheOrderDoesNotMatter) {
  const Dataset dataset = planted();
  const auto check = [&](const Device& device) {
    for (const Architecture architecture : architectures) {
      const Model model = random_model(architecture, Precision::bin, 70, 65, 3, 2, 11);
      InferencePlan original(model, dataset, InferenceOptions{}, device);
      const DenseMatrix<float> expected = original.run().to(Device());
      for (const Order order : {Order::degree, Order::reverse_cuthill_mckee}) {
        InferencePlan plan(model, dataset, {.order = order}, device);
        expect_near(plan.run().to(Device()), expected);
      }
    }
  };
  check(Device::host(2));
  if (test::cuda_device()) check(*test::cuda_device());
}

/// A graph with hubs, and perhaps more rows than a device has warps.
Dataset with_hubs(std::size_t nodes) {
  Dataset dataset = generate_planted_partition(
      {.num_nodes = static_cast<NodeId>(nodes), .num_classes = 3, .num_features = 70, .mean_degree = 3, .seed = 5});
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  for (NodeId i = 0; i < dataset.graph.nrows(); ++i) {
    for (const NodeId j : dataset.graph.row(i)) {
      rows.push_back(i);
      cols.push_back(j);
    }
    for (NodeId hub = 0; hub < 40; ++hub) {
      if (hub == i || i % (hub + 1) != 0) continue;
      rows.push_back(hub);
      cols.push_back(i);
    }
  }
  dataset.graph = csr_from_edges(dataset.graph.nrows(), dataset.graph.ncols(), rows, cols, {.symmetrize = true});
  return dataset;
}

TEST(Architectures, OneLaunchMatchesSteps) {
  BITGRAPH_REQUIRE_CUDA();
  const Device device = *test::cuda_device();
  for (const std::size_t nodes : {40, 300, 5000, 9000}) {
    Dataset dataset = with_hubs(nodes);
    for (const Architecture architecture : architectures) {
      for (const std::size_t hidden : {7, 64, 130}) {
        dataset.num_classes = hidden == 7 ? 11 : 3;
        const auto classes = static_cast<std::size_t>(dataset.num_classes);
        Model model = random_model(architecture, Precision::bin, 70, hidden, classes, 2, 11);
        set_inputs(model, hidden == 64);
        for (const auto& forms : forms_of(model)) {
          SCOPED_TRACE(std::string(to_string(architecture)) + " " + std::to_string(nodes) + " " +
                       std::to_string(hidden) + " " + std::string(to_string(forms.front())));
          for (const Order order : {Order::original, Order::degree}) {
            InferenceOptions options{.forms = forms, .order = order, .sequence = Sequence::update_first};
            options.launching = Launching::steps;
            InferencePlan steps(model, dataset, options, device);
            options.launching = Launching::one;
            InferencePlan one(model, dataset, options, device);
            if (hidden <= 64) {  // wider rows may not fit
              EXPECT_EQ(one.executor(), "one launch") << one.program_text();
            }
            const DenseMatrix<float> actual = one.run().to(Device());
            expect_near(actual, steps.run().to(Device()));
            for (int repeat = 0; repeat < 3; ++repeat) one.run();
            const DenseMatrix<float> again = one.run().to(Device());
            EXPECT_TRUE(std::ranges::equal(again.values(), actual.values()));
          }
        }
      }
    }
  }
}

/// Aggregation first where it can be, on a graph whose nodes all have a neighbour.
TEST(Architectures, TheSequenceDoesNotMatter) {
  Dataset dataset = planted();
  dataset.graph = generate_grid(15, 10);
  const auto check = [&](const Device& device) {
    for (const Architecture architecture : architectures) {
      const Model model = random_model(architecture, Precision::bin, 70, 130, 3, 3, 11);
      InferencePlan update_first(model, dataset, {.sequence = Sequence::update_first}, device);
      InferencePlan aggregate_first(model, dataset, {.sequence = Sequence::aggregate_first}, device);
      const bool mean = architecture == Architecture::inductive_gcn || architecture == Architecture::sage;
      const auto steps = aggregate_first.steps();
      EXPECT_EQ(std::count(steps.begin(), steps.end(), "BSpMM.BBF"), mean ? 1 : 0);
      expect_near(aggregate_first.run().to(Device()), update_first.run().to(Device()));
    }
  };
  check(Device::host(2));
  if (test::cuda_device()) check(*test::cuda_device());
}

/// On a small graph only where one launch is not wanted.
TEST(Architectures, FusedLayersMatchThoseOneByOne) {
  BITGRAPH_REQUIRE_CUDA();
  const Device device = *test::cuda_device();
  const Dataset sparse = planted();
  Dataset all_linked = planted();
  all_linked.graph = generate_grid(15, 10);
  for (const Architecture architecture : architectures) {
    for (const std::size_t depth : {1, 2, 3}) {
      for (const std::size_t hidden : {64, 100, 256}) {
        const Model model = random_model(architecture, Precision::bin, 70, hidden, 3, depth, 11);
        for (const Sequence sequence : {Sequence::automatic, Sequence::aggregate_first}) {
          SCOPED_TRACE(std::string(to_string(architecture)) + " " + std::to_string(depth) + " x " +
                       std::to_string(hidden));
          const Dataset& dataset = sequence == Sequence::automatic ? sparse : all_linked;
          InferenceOptions options{.sequence = sequence, .launching = Launching::graph};
          InferencePlan fused(model, dataset, options, device);
          options.fusion = Fusion::none;
          InferencePlan plain(model, dataset, options, device);
          const DenseMatrix<float> expected = plain.run().to(Device());
          EXPECT_LE(fused.steps().size(), plain.steps().size());
          fused.run();
          const std::size_t before = device.memory().allocations;
          for (int repeat = 0; repeat < 2; ++repeat) {
            const DenseMatrix<float> actual = fused.run().to(Device());
            float largest = 0;
            for (const float v : expected.values()) largest = std::max(largest, std::fabs(v));
            for (std::size_t n = 0; n < expected.values().size(); ++n)
              ASSERT_NEAR(actual.values()[n], expected.values()[n], 1e-5F * largest);
          }
          EXPECT_EQ(device.memory().allocations, before);
        }
      }
    }
  }
}

TEST(Architectures, ARepeatedRunAllocatesNothing) {
  for_each_case([](const Model& model, const Dataset& dataset, const std::vector<Precision>& forms) {
    const Device device = Device::host(1);
    InferencePlan plan(model, dataset, {.forms = forms}, device);
    plan.run();
    const std::size_t before = device.memory().allocations;
    plan.run();
    EXPECT_EQ(device.memory().allocations, before);
  });
}

TEST(Architectures, GoThroughAFileUnchanged) {
  const test::TemporaryFolder folder;
  for_each_case([&](const Model& model, const Dataset&, const std::vector<Precision>&) {
    model.save(folder / "a.safetensors");
    const Model read = Model::load(folder / "a.safetensors");
    EXPECT_EQ(read.architecture, model.architecture);
    EXPECT_EQ(read.layers.size(), model.layers.size());
    EXPECT_EQ(read.concatenates(), model.concatenates());
    read.save(folder / "b.safetensors");
    EXPECT_EQ(test::contents(folder / "a.safetensors"), test::contents(folder / "b.safetensors"));
  });
}

TEST(Architectures, FormsThatDoNotFitAreRefused) {
  const Dataset dataset = planted();
  const Model binary = random_model(Architecture::gcn, Precision::bin, 70, 8, 3, 2, 1);
  const Model saint = random_model(Architecture::saint, Precision::bin, 70, 8, 3, 2, 1);
  const auto refuse = [&](const Model& model, const std::vector<Precision>& forms, const char* message) {
    test::expect_usage_error([&] { InferencePlan(model, dataset, {.forms = forms}); }, message);
  };
  refuse(binary, {Precision::bin}, "1 forms are given for a model of 2 layers");
  refuse(binary, {Precision::bin, Precision::bin}, "layer 1 cannot be bin");
  refuse(binary, {Precision::real, Precision::full}, "has no layer of form float");
  refuse(saint, {Precision::bin, Precision::full, Precision::full}, "side by side must all be bin, or none");
}

TEST(Architectures, ShapesOfLayers) {
  const auto shapes = layer_shapes(Architecture::saint, 10, 4, 3, 2);
  ASSERT_EQ(shapes.size(), 3U);
  EXPECT_EQ(shapes[2].inputs, 8U);
  EXPECT_EQ(shapes[2].aggregation, Aggregation::none);
  EXPECT_EQ(layer_shapes(Architecture::gcn, 10, 4, 3, 1)[0].outputs, 3U);
  const auto gin = layer_shapes(Architecture::gin, 10, 4, 3, 2);
  ASSERT_EQ(gin.size(), 4U);
  EXPECT_EQ(gin[1].aggregation, Aggregation::none);
  EXPECT_EQ(gin[2].aggregation, Aggregation::sum_with_self);
  EXPECT_EQ(gin[2].outputs, 4U);
  EXPECT_EQ(gin[3].outputs, 3U);
  const auto jumping = layer_shapes(Architecture::gin, 10, 4, 3, 2, true);
  ASSERT_EQ(jumping.size(), 5U);
  EXPECT_EQ(jumping[3].outputs, 4U);
  EXPECT_EQ(jumping[4].inputs, 8U);
  test::expect_usage_error([] { static_cast<void>(layer_shapes(Architecture::gcn, 10, 4, 3, 0)); }, "layer");
}

}  // namespace
}  // namespace bitgraph::nn
