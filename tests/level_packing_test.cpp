// SPDX-License-Identifier: Apache-2.0
// Plans whose kernels hand levels of two bits to each other in planes have the logits of those that do not, also behind
// updates.
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/quantize.hpp>

#include "nn/model/architectures.hpp"
#include "nn/model/random_model.hpp"
#include "support/cuda_device.hpp"
#include "support/level_planes.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

constexpr NodeId num_nodes = 500;
constexpr std::size_t num_features = 130;

/// Features are dense numbers.
Dataset dense_dataset(std::uint64_t seed) {
  Dataset dataset = generate_planted_partition(
      {.num_nodes = num_nodes, .num_classes = 3, .num_features = num_features, .mean_degree = 9, .seed = seed});
  const std::vector<float> values = test::random_floats(num_nodes * num_features, seed, -1, 1);
  dataset.dense_features = DenseMatrix<float>(num_nodes, num_features, Buffer<float>::copy_of(values));
  return dataset;
}

Model quantized(Architecture architecture, const Dataset& dataset, int w_bits, std::size_t hidden) {
  const Model floats = random_model(architecture, Precision::real, num_features, hidden, 3, 3, 7);
  return quantize(floats, dataset, {.precision = Precision::of_levels(w_bits, 2, 2)});
}

std::vector<float> logits(InferencePlan& plan) {
  const DenseMatrix<float> here = plan.run().to(Device());
  return {here.values().begin(), here.values().end()};
}

InferenceOptions by(LevelStrategy levels, Launching launching = Launching::automatic) {
  InferenceOptions options;
  options.levels = levels;
  options.launching = launching;
  return options;
}

/// The first nodes, 63 neighbours each.
CsrPattern full_tile() {
  constexpr NodeId side = 64;
  std::vector<NodeId> rows, columns;
  for (NodeId i = 0; i < side; ++i) {
    for (NodeId j = 0; j < side; ++j) {
      if (i != j) rows.push_back(i), columns.push_back(j);
    }
  }
  return csr_from_edges(num_nodes, num_nodes, rows, columns);
}

bool in_planes(const InferencePlan& plan) { return plan.program_text().find(" in planes") != std::string::npos; }

void expect_the_same_logits(const Device& device) {
  const Dataset dataset = dense_dataset(5);
  std::size_t packed = 0;
  for (const Architecture architecture : all_architectures()) {
    for (const auto& [w_bits, hidden] : {std::pair(2, 64), {1, 128}, {2, 40}, {4, 64}}) {
      SCOPED_TRACE(testing::Message() << to_string(architecture) << ", W of " << w_bits << " bits, " << hidden);
      const Model model = quantized(architecture, dataset, w_bits, static_cast<std::size_t>(hidden));
      device.reset_peak();
      const std::size_t before = device.memory().live;
      InferencePlan planes(model, dataset, by(LevelStrategy::planes), device);
      const auto peak = static_cast<double>(device.memory().peak - before);
      EXPECT_NEAR(static_cast<double>(planes.predicted().bytes), peak, 0.02 * peak) << planes.program_text();
      InferencePlan bytes(model, dataset, by(LevelStrategy::bytes), device);
      packed += in_planes(planes) ? 1 : 0;
      EXPECT_TRUE(w_bits <= 2 || device.is_host() || !in_planes(planes));
      EXPECT_FALSE(in_planes(bytes));
      ASSERT_EQ(logits(planes), logits(bytes)) << planes.program_text();
      InferencePlan in_steps(model, dataset, by(LevelStrategy::planes, Launching::steps), device);
      ASSERT_EQ(logits(in_steps), logits(bytes));
    }
  }
  EXPECT_GE(packed, 3U) << "no plan had levels in planes";
}

TEST(LevelPacking, PlansHaveTheSameLogits) { expect_the_same_logits(Device::host(2)); }

TEST(LevelPacking, PlansHaveTheSameLogitsOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  BITGRAPH_REQUIRE_LEVELS_IN_PLANES(*test::cuda_device());
  expect_the_same_logits(*test::cuda_device());
}

void expect_that_updates_keep_it(const Device& device) {
  Dataset dataset = dense_dataset(5);
  const Dataset other = dense_dataset(6);
  const Model model = quantized(Architecture::gcn, dataset, 2, 64);
  InferencePlan plan(model, dataset, by(LevelStrategy::planes, Launching::steps), device);
  ASSERT_TRUE(in_planes(plan));
  const auto expect_as_new = [&] {
    InferencePlan fresh(model, dataset, by(LevelStrategy::bytes), device);
    ASSERT_EQ(logits(plan), logits(fresh));
    ASSERT_TRUE(in_planes(plan)) << plan.program_text();
  };
  expect_as_new();

  const std::vector<NodeId> rows{3, 77, 499};
  DenseMatrix<float> few(rows.size(), num_features);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < num_features; ++j)
      few(i, j) = dataset.dense_features(rows[i], j) = other.dense_features(i, j);
  }
  plan.set_features(rows, few);
  expect_as_new();

  dataset.dense_features = other.dense_features.clone();
  plan.set_features(dataset.dense_features);
  expect_as_new();

  dataset.graph =
      generate_planted_partition(
          {.num_nodes = num_nodes, .num_classes = 3, .num_features = num_features, .mean_degree = 2, .seed = 9})
          .graph.clone();
  plan.set_graph(dataset.graph.clone());
  expect_as_new();

  dataset.graph = full_tile();  // a new plan on a device would multiply it
  plan.set_graph(dataset.graph.clone());
  expect_as_new();
}

TEST(LevelPacking, OutlivesUpdates) { expect_that_updates_keep_it(Device::host(2)); }

TEST(LevelPacking, OutlivesUpdatesOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  BITGRAPH_REQUIRE_LEVELS_IN_PLANES(*test::cuda_device());
  expect_that_updates_keep_it(*test::cuda_device());
}

}  // namespace
}  // namespace bitgraph::nn
