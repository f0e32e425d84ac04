// SPDX-License-Identifier: Apache-2.0
// Plans whose sums of levels are multiplied where they are made.
#include <bitgraph/nn/infer.hpp>

#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/level_models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>

namespace bitgraph::nn {
namespace {

using test::LevelModel;

DenseMatrix<float> logits_of_host(const Model& model, const Dataset& data) {
  InferencePlan plan(model, data, {}, Device::host(1));
  return plan.run().to(Device());
}

/// Sums over means and the product behind them in one kernel: the host's logits, in the memory that was predicted, also
/// once the plan has other weights.
TEST(MultipliedSumsCuda, HaveTheBitsOfTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const Dataset data = test::level_data({.nodes = 400, .features = 96, .edges = 9000, .density = 1, .seed = 6});
  for (const char* const name : {"w2a2", "w4a4", "w8a4", "w8a8", "w5a7"}) {
    for (const std::size_t hidden : {64, 128, 256}) {
      SCOPED_TRACE(std::string(name) + ", " + std::to_string(hidden) + " columns");
      const LevelModel model{.architecture = Architecture::inductive_gcn, .hidden = hidden};
      const Model made = model.in_levels(data, precision_from_string(name));
      const InferenceOptions options{.launching = Launching::steps};
      const auto predicted = static_cast<double>(predict_memory(made, data, options, device).bytes);
      const std::size_t before = device.memory().live;
      device.reset_peak();
      InferencePlan plan(made, data, options, device);
      test::expect_identical(plan.run().to(Device()).values(), logits_of_host(made, data).values());
      const auto peak = static_cast<double>(device.memory().peak - before);
      EXPECT_NEAR(predicted, peak, 0.02 * peak);
      const bool fused = std::ranges::any_of(
          plan.explain(1), [](const auto& op) { return op.kernel.find("level_sum_product") != std::string::npos; });
      EXPECT_EQ(fused, std::string(name) != "w2a2" || hidden == 256);
      LevelModel other = model;
      other.seed = 8;
      const Model next = other.in_levels(data, precision_from_string(name));
      plan.set_weights(next);
      test::expect_identical(plan.run().to(Device()).values(), logits_of_host(next, data).values());
    }
  }
}

}  // namespace
}  // namespace bitgraph::nn
