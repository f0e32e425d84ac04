// SPDX-License-Identifier: Apache-2.0
// Models of levels as one launch of a CUDA device, beside a launch for each operator: the same bits.
#include <bitgraph/nn/infer.hpp>

#include "nn/inference/predict.hpp"
#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/level_models.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using Floats = DenseMatrix<float>;
using test::LevelModel;

/// Some nodes have many neighbours: warps share their rows.
Dataset with_hubs(NodeId nodes) {
  Dataset data = test::level_data(
      {.nodes = nodes, .features = 700, .edges = std::size_t{3} * nodes, .density = 0.01, .seed = nodes});
  std::vector<NodeId> from, to;
  for (NodeId i = 0; i + 1 < nodes; ++i) {
    for (const NodeId j : data.graph.row(i)) from.push_back(i), to.push_back(j);
    for (NodeId hub = 0; hub < 40 && hub + 1 < nodes; ++hub) {
      if (hub != i && i % (hub + 1) == 0) from.push_back(hub), to.push_back(i);
    }
  }
  data.graph = csr_from_edges(nodes, nodes, from, to, {.symmetrize = true, .drop_loops = true});
  return data;
}

Floats logits_of(InferencePlan& plan) { return plan.run().to(Device()); }

/// Logits of one launch, which are those of steps, and those of its later runs.
void expect_one_launch(const Model& model, const Dataset& data, Order order, const Device& device) {
  InferenceOptions options{.order = order};
  options.launching = Launching::steps;
  InferencePlan steps(model, data, options, device);
  options.launching = Launching::one;
  InferencePlan one(model, data, options, device);
  ASSERT_EQ(one.executor(), "one launch") << one.program_text();
  const Floats expected = logits_of(steps);
  test::expect_identical(logits_of(one).values(), expected.values());
  for (int repeat = 0; repeat < 3; ++repeat) one.run();
  test::expect_identical(logits_of(one).values(), expected.values());
}

TEST(LevelLaunch, HasTheBitsOfALaunchForEachOperator) {
  BITGRAPH_REQUIRE_CUDA();
  const Device device = *test::cuda_device();
  constexpr const char* precisions[] = {"w4a4", "w8a8", "w2a2", "w8a4m2", "w3a5m7", "w1a1"};
  std::size_t turn = 0;
  for (const NodeId nodes : {40, 300, 3000, 9000}) {
    const Dataset data = with_hubs(nodes);
    for (const Architecture architecture : {Architecture::gcn, Architecture::inductive_gcn}) {
      for (const std::size_t hidden : {3, 12, 33, 64, 130}) {
        const char* const precision = precisions[turn++ % std::size(precisions)];
        SCOPED_TRACE(std::string(to_string(architecture)) + " " + precision + ", " + std::to_string(nodes) +
                     " nodes, width " + std::to_string(hidden));
        const LevelModel of{.architecture = architecture, .hidden = hidden, .depth = 2 + turn % 2};
        const Model model = of.in_levels(data, precision_from_string(precision));
        expect_one_launch(model, data, turn % 3 == 0 ? Order::degree : Order::original, device);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

/// Layers that add two products, levels of 16 bits, sums of floats.
TEST(LevelLaunch, OfWhatItCannotRunIsALaunchForEachOperator) {
  BITGRAPH_REQUIRE_CUDA();
  const Device device = *test::cuda_device();
  const Dataset data = with_hubs(300);
  for (const auto& [architecture, precision] : {std::pair{Architecture::sage, "w4a4"},
                                                {Architecture::saint, "w4a4"},
                                                {Architecture::gcn, "w16a16"},
                                                {Architecture::gcn, "w8a8m32"}}) {
    SCOPED_TRACE(std::string(to_string(architecture)) + " " + precision);
    const LevelModel of{.architecture = architecture, .hidden = 16};
    const Model model = of.in_levels(data, precision_from_string(precision));
    InferencePlan plan(model, data, {}, device);
    EXPECT_EQ(plan.executor(), "CUDA graph") << plan.program_text();
    InferenceOptions options;
    options.launching = Launching::steps;
    InferencePlan steps(model, data, options, device);
    test::expect_identical(logits_of(plan).values(), logits_of(steps).values());
  }
}

TEST(LevelLaunch, TakesOtherWeightsAndPredictsItsMemory) {
  BITGRAPH_REQUIRE_CUDA();
  const Device device = *test::cuda_device();
  const Dataset data = with_hubs(3000);
  for (const char* const precision : {"w4a4", "w8a8"}) {
    SCOPED_TRACE(precision);
    const Precision form = precision_from_string(precision);
    InferencePlan plan(LevelModel{.hidden = 64, .seed = 1}.in_levels(data, form), data, {}, device);
    ASSERT_EQ(plan.executor(), "one launch");
    const Model other = LevelModel{.hidden = 64, .seed = 2}.in_levels(data, form);
    plan.set_weights(other);
    InferencePlan made(other, data, {}, device);
    test::expect_identical(logits_of(plan).values(), logits_of(made).values());
    EXPECT_EQ(plan.executor(), "one launch");
    const Device own = Device::cuda();
    InferencePlan measured(other, data, {}, own);
    measured.run();
    const auto peak = static_cast<double>(own.memory().peak);
    EXPECT_NEAR(static_cast<double>(measured.predicted().bytes), peak, 0.02 * peak);
  }
}

}  // namespace
}  // namespace bitgraph::nn
