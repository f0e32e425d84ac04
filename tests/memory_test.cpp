// SPDX-License-Identifier: Apache-2.0
// Memory of inference plans: predicted, and kept within a limit.
#include <bitgraph/formats/partition.hpp>
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/nn/infer.hpp>

#include "nn/model/architectures.hpp"
#include "nn/model/random_model.hpp"
#include "support/cuda_device.hpp"
#include "support/near_logits.hpp"
#include "support/sanitized.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

const std::vector<Architecture> architectures = all_architectures();

/// A graph whose edges are most of what a plan holds.
Dataset planted(bool dense_features) {
  constexpr NodeId nodes = test::sanitized ? 1500 : 3000;
  if (!dense_features) {
    return generate_planted_partition(
        {.num_nodes = nodes, .num_classes = 5, .num_features = 200, .mean_degree = 60, .seed = 5});
  }
  return generate_planted_graph({.num_nodes = nodes, .num_entries = 40 * nodes, .num_classes = 5, .num_features = 64});
}

template <class Fn>
void for_each_plan(Fn&& fn) {
  for (const bool dense : {false, true}) {
    const Dataset dataset = planted(dense);
    for (const Architecture architecture : architectures) {
      for (const Precision precision : {Precision::real, Precision::full, Precision::bin}) {
        SCOPED_TRACE(std::string(to_string(architecture)) + " " + std::string(to_string(precision)) +
                     (dense ? " dense" : ""));
        fn(random_model(architecture, precision, dataset.num_features(), 64, 5, 2, 3), dataset);
      }
    }
  }
}

TEST(PlanMemory, IsPredictedWithinTwoPercent) {
  for_each_plan([](const Model& model, const Dataset& dataset) {
    for (const FeatureStorage storage : {FeatureStorage::sparse, FeatureStorage::dense}) {
      const Device device = Device::host(1);
      const InferenceOptions options{.features = storage};
      const PredictedMemory predicted = predict_memory(model, dataset, options, device);
      EXPECT_EQ(device.memory().allocations, 0U);
      InferencePlan plan(model, dataset, options, device);
      plan.run();
      EXPECT_EQ(predicted.parts, 1U);
      EXPECT_NEAR(static_cast<double>(predicted.bytes), static_cast<double>(device.memory().peak),
                  0.02 * static_cast<double>(device.memory().peak));
    }
  });
}

TEST(PlanMemory, OfTheFormatThatAPlanNamesIsPredictedToo) {
  for_each_plan([](const Model& model, const Dataset& dataset) {
    for (const GraphFormat graph : {GraphFormat::csr, GraphFormat::sell, GraphFormat::tiles}) {
      for (const int side : {4, 32}) {
        if (side == 32 && graph != GraphFormat::tiles) continue;  // a side is of tiles alone
        SCOPED_TRACE(std::string(to_string(graph)) + " " + std::to_string(side));
        const Device device = Device::host(1);
        InferencePlan plan(model, dataset, InferenceOptions{.graph = graph, .tile_dim = side}, device);
        plan.run();
        const auto peak = static_cast<double>(device.memory().peak);
        EXPECT_NEAR(static_cast<double>(plan.predicted().bytes), peak, 0.02 * peak);
      }
    }
  });
}

TEST(PlanMemory, IsKeptWithinALimitWithTheSameBits) {
  for_each_plan([](const Model& model, const Dataset& dataset) {
    InferencePlan whole(model, dataset, InferenceOptions{}, Device::host(1));
    const DenseMatrix<float>& expected = whole.run();
    const std::size_t graph = dataset.graph.bytes();
    const std::size_t limit = whole.predicted().bytes - graph / 2;
    const Device device = Device::host(2);
    InferencePlan plan(model, dataset, InferenceOptions{.memory = limit}, device);
    EXPECT_GT(plan.predicted().parts, 1U);
    const DenseMatrix<float>& actual = plan.run();
    EXPECT_LE(device.memory().peak, limit + limit / 10);
    EXPECT_NEAR(static_cast<double>(plan.predicted().bytes), static_cast<double>(device.memory().peak),
                0.02 * static_cast<double>(device.memory().peak));
    if (model.precision == Precision::real) return test::expect_near(actual, expected);  // the library's sgemm
    for (std::size_t n = 0; n < expected.values().size(); ++n) ASSERT_EQ(actual.values()[n], expected.values()[n]);
  });
}

/// Hubs first: the first part has most of the entries. Tiles differ with the order, too.
TEST(PlanMemory, OfAnotherOrderIsPredictedToo) {
  for_each_plan([](const Model& model, const Dataset& dataset) {
    for (const Order order : {Order::degree, Order::community}) {
      SCOPED_TRACE(to_string(order));
      InferenceOptions limited{.order = order};
      const Device own = Device::host(1);
      limited.memory = predict_memory(model, dataset, limited, own).bytes - dataset.graph.bytes() / 4;
      InferencePlan parts(model, dataset, limited, own);
      EXPECT_GT(parts.predicted().parts, 1U);
      const DenseMatrix<float>& actual = parts.run();
      const auto peak_of_parts = static_cast<double>(own.memory().peak);
      EXPECT_NEAR(static_cast<double>(parts.predicted().bytes), peak_of_parts, 0.02 * peak_of_parts);

      for (const GraphFormat graph : {GraphFormat::csr, GraphFormat::tiles}) {
        SCOPED_TRACE(to_string(graph));
        const InferenceOptions options{.graph = graph, .tile_dim = 16, .order = order};
        const Device device = Device::host(1);
        InferencePlan whole(model, dataset, options, device);
        const DenseMatrix<float>& expected = whole.run();
        const auto peak = static_cast<double>(device.memory().peak);
        EXPECT_NEAR(static_cast<double>(whole.predicted().bytes), peak, 0.02 * peak);
        EXPECT_EQ(predict_memory(model, dataset, options, device).bytes, whole.predicted().bytes);
        if (model.precision == Precision::real) {
          test::expect_near(actual, expected);  // the library's sgemm
        } else {
          EXPECT_TRUE(std::ranges::equal(actual.values(), expected.values()));
        }
      }
    }
  });
}

TEST(PlanMemory, OnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  for_each_plan([](const Model& model, const Dataset& dataset) {
    const Device device = Device::cuda();
    InferencePlan whole(model, dataset, InferenceOptions{}, device);
    const DenseMatrix<float> expected = whole.run().to(Device());
    const std::size_t limit = whole.predicted().bytes - dataset.graph.bytes() / 2;
    const Device own = Device::cuda();
    InferencePlan plan(model, dataset, InferenceOptions{.memory = limit}, own);
    EXPECT_GT(plan.predicted().parts, 1U);
    const DenseMatrix<float> actual = plan.run().to(Device());
    float largest = 0;
    for (const float v : expected.values()) largest = std::max(largest, std::fabs(v));
    for (std::size_t n = 0; n < expected.values().size(); ++n)
      ASSERT_NEAR(actual.values()[n], expected.values()[n], 1e-5F * largest);
  });
}

/// Kernels that do more than one operator need no workspace.
TEST(PlanMemory, OfFusedLayersIsPredictedWithinTwoPercent) {
  BITGRAPH_REQUIRE_CUDA();
  for_each_plan([](const Model& model, const Dataset& dataset) {
    if (model.precision != Precision::bin || model.architecture == Architecture::gcn) return;
    const Device device = Device::cuda();
    const InferenceOptions options{.launching = Launching::graph};
    InferencePlan plan(model, dataset, options, device);
    plan.run();
    const auto peak = static_cast<double>(device.memory().peak);
    EXPECT_NEAR(static_cast<double>(plan.predicted().bytes), peak, 0.02 * peak);
  });
}

/// Sums of few features with weights, or in rows of five, are of a copy.
TEST(PlanMemory, OfSumsOnADeviceIsPredictedWithinTwoPercent) {
  BITGRAPH_REQUIRE_CUDA();
  const Dataset dataset = generate_planted_graph(
      {.num_nodes = 50000, .num_entries = 500000, .num_classes = 5, .num_features = 64, .seed = 3});
  for (const Architecture architecture : architectures) {
    SCOPED_TRACE(to_string(architecture));
    const Model model = random_model(architecture, Precision::full, 64, 32, 5, 2, 3);
    const Device device = Device::cuda();
    InferencePlan plan(model, dataset, InferenceOptions{.launching = Launching::graph}, device);
    const auto predicted = static_cast<double>(plan.predicted().bytes);
    plan.run();
    EXPECT_NEAR(predicted, static_cast<double>(device.memory().peak), 0.02 * predicted);
    test::expect_near(plan.run().to(Device()), emulate(model, dataset, model.layer_forms(Precision::full)));
  }
}

/// Of batches from the host: two slots, the values of the largest group and the logits; the packed batches are on the
/// host. Of batches that stay: all of their graph and features.
TEST(PlanMemory, OfPartsOnADeviceIsPredictedWithinTwoPercent) {
  BITGRAPH_REQUIRE_CUDA();
  const Dataset dataset = generate_planted_graph(
      {.num_nodes = 100'000, .num_entries = 1'000'000, .num_classes = 5, .num_features = 512, .seed = 3});
  std::vector<NodeId> part_of(dataset.graph.nrows());
  for (NodeId i = 0; i < part_of.size(); ++i) part_of[i] = i / 2000;
  const Partition partition(std::move(part_of), 50);
  for (const Architecture architecture : architectures) {
    for (const Precision precision : {Precision::full, Precision::bin}) {
      const Model model = random_model(architecture, precision, 512, 64, 5, 2, 3);
      for (const BatchesAt batches_at : {BatchesAt::host, BatchesAt::device}) {
        SCOPED_TRACE(testing::Message() << to_string(architecture) << " " << to_string(precision) << ", batches at the "
                                        << to_string(batches_at));
        const Device device = Device::cuda();
        const InferenceOptions options{.partition = &partition, .batch_parts = 2, .batches_at = batches_at};
        InferencePlan plan(model, dataset, options, device);
        plan.run();
        const auto peak = static_cast<double>(device.memory().peak);
        EXPECT_NEAR(static_cast<double>(plan.predicted().bytes), peak, 0.02 * peak);
        EXPECT_EQ(plan.predicted().bytes, predict_memory(model, dataset, options, device).bytes);
        if (batches_at == BatchesAt::device) continue;
        EXPECT_LT(plan.predicted().bytes, plan.predicted().whole_bytes);
        EXPECT_GT(plan.predicted().host_bytes, 2 * plan.bytes().features);
      }
    }
  }
}

/// Counts of so many nodes and columns are made block by block, and the graph is held in blocks.
void expect_blocks(const Device& device) {
  Dataset dataset = generate_planted_partition(
      {.num_nodes = 40000, .num_classes = 5, .num_features = 30, .mean_degree = 8, .seed = 5});
  dataset.graph = generate_grid(200, 200);
  const Model model = random_model(Architecture::sage, Precision::bin, 30, 600, 5, 2, 3);
  InferencePlan blocks(model, dataset, InferenceOptions{.sequence = Sequence::aggregate_first}, device);
  const auto steps = blocks.steps();
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "BSpMM.BBF + BMM by parts"), 1);
  InferencePlan plain(model, dataset, InferenceOptions{.sequence = Sequence::update_first}, device);
  for (int repeat = 0; repeat < (test::sanitized ? 1 : 2); ++repeat) {
    const DenseMatrix<float> actual = blocks.run().to(Device());
    const DenseMatrix<float> expected = plain.run().to(Device());
    float largest = 0;
    for (const float v : expected.values()) largest = std::max(largest, std::fabs(v));
    for (std::size_t n = 0; n < expected.values().size(); ++n)
      ASSERT_NEAR(actual.values()[n], expected.values()[n], 1e-5F * largest);
  }
}

TEST(PlanMemory, CountsAreMadeByBlocks) { expect_blocks(Device::host(2)); }

TEST(PlanMemory, CountsAreMadeByBlocksOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  expect_blocks(*test::cuda_device());
}

/// A graph that is large, of long rows, and there for votes and counts only.
TEST(PlanMemory, OfVotesAndCountsAloneIsSell) {
  const Dataset dataset = generate_planted_graph(
      {.num_nodes = 20000, .num_entries = 1'200'000, .num_classes = 20, .num_features = 64, .seed = 3});
  for (const Architecture architecture : {Architecture::inductive_gcn, Architecture::sage, Architecture::saint}) {
    if (test::sanitized && architecture != Architecture::sage) continue;
    SCOPED_TRACE(to_string(architecture));
    const Model model = random_model(architecture, Precision::bin, 64, 128, 20, 2, 3);
    InferencePlan csr(model, dataset, InferenceOptions{.graph = GraphFormat::csr}, Device::host(2));
    const DenseMatrix<float>& expected = csr.run();
    const Device device = Device::host(2);
    InferencePlan plan(model, dataset, InferenceOptions{}, device);
    const auto steps = plan.steps();
    EXPECT_GT(std::count(steps.begin(), steps.end(), "BSpMM.BBB by parts"), 0);
    EXPECT_NEAR(static_cast<double>(plan.predicted().bytes), static_cast<double>(device.memory().peak),
                0.02 * static_cast<double>(device.memory().peak));
    EXPECT_LT(plan.bytes().graph, dataset.graph.bytes() * 11 / 10);
    for (int repeat = 0; repeat < 2; ++repeat) {
      const DenseMatrix<float>& actual = plan.run();
      for (std::size_t n = 0; n < expected.values().size(); ++n) ASSERT_EQ(actual.values()[n], expected.values()[n]);
    }
    const Device own = Device::host(1);
    InferencePlan parts(model, dataset, InferenceOptions{.memory = plan.predicted().bytes * 2 / 3}, own);
    EXPECT_GT(parts.predicted().parts, 1U);
    const DenseMatrix<float>& in_parts = parts.run();
    EXPECT_NEAR(static_cast<double>(parts.predicted().bytes), static_cast<double>(own.memory().peak),
                0.02 * static_cast<double>(own.memory().peak));
    for (std::size_t n = 0; n < expected.values().size(); ++n) ASSERT_EQ(in_parts.values()[n], expected.values()[n]);
  }
}

/// More columns than 16 bits name: strips of them.
TEST(PlanMemory, SellOfManyColumnsIsInStrips) {
  const Dataset dataset = generate_planted_graph(
      {.num_nodes = 70000, .num_entries = 2'600'000, .num_classes = 20, .num_features = 40, .seed = 3});
  const Model model = random_model(Architecture::inductive_gcn, Precision::bin, 40, 64, 20, 2, 3);
  InferencePlan csr(model, dataset, InferenceOptions{.graph = GraphFormat::csr}, Device::host(2));
  const Device device = Device::host(2);
  InferencePlan plan(model, dataset, InferenceOptions{}, device);
  const DenseMatrix<float>& actual = plan.run();
  EXPECT_NEAR(static_cast<double>(plan.predicted().bytes), static_cast<double>(device.memory().peak),
              0.05 * static_cast<double>(device.memory().peak));
  EXPECT_LT(plan.bytes().graph, dataset.graph.bytes());
  EXPECT_TRUE(std::ranges::equal(actual.values(), csr.run().values()));
}

/// Outputs that stand side by side are put together some thousand rows at a time, the last time fewer.
TEST(PlanMemory, JoinedRowsGiveWhatPlainArithmeticGives) {
  const Dataset dataset = generate_planted_partition(
      {.num_nodes = 20000, .num_classes = 5, .num_features = 30, .mean_degree = 3, .seed = 5});
  for (const std::size_t hidden : {40, 64}) {
    const Model model = random_model(Architecture::saint, Precision::bin, 30, hidden, 5, 3, 3);
    const Device device = Device::host(2);
    InferencePlan plan(model, dataset, InferenceOptions{}, device);
    EXPECT_EQ(plan.steps().back(), "CONCAT + BMM.BBF by parts");
    const auto predicted = static_cast<double>(plan.predicted().bytes);
    EXPECT_NEAR(predicted, static_cast<double>(device.memory().peak), 0.02 * predicted);
    test::expect_near(plan.run(), emulate(model, dataset, model.layer_forms(Precision::bin)));
  }
}

/// Rows that have to be divided by their sums on the way to bits.
TEST(PlanMemory, OfNormalizedDenseFeaturesHasNoCopyOfThem) {
  Dataset dataset = generate_planted_graph(
      {.num_nodes = 6000, .num_entries = 20000, .num_classes = 5, .num_features = 600, .seed = 3});
  for (float& value : dataset.dense_features.values()) value = std::fabs(value) + 0.01F;
  Model model = random_model(Architecture::sage, Precision::bin, 600, 64, 5, 2, 3);
  model.normalize_rows = true;
  const Device device = Device::host(2);
  InferencePlan plan(model, dataset, InferenceOptions{}, device);
  EXPECT_LT(device.memory().peak, dataset.dense_features.bytes());
  test::expect_near(plan.run(), emulate(model, dataset, model.layer_forms(Precision::bin)));
}

TEST(PlanMemory, TooLittleIsRefusedBeforeAnythingIsAllocated) {
  const Dataset dataset = planted(false);
  const Model model = random_model(Architecture::gcn, Precision::bin, 200, 64, 5, 2, 3);
  const Device device = Device::host(1);
  try {
    InferencePlan(model, dataset, InferenceOptions{.memory = 1000}, device);
    ADD_FAILURE() << "it was made";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_possible);
    EXPECT_NE(std::string(error.what()).find("limit of 1000 bytes"), std::string::npos) << error.what();
  }
  EXPECT_EQ(device.memory().allocations, 0U);
}

/// Each node is tied to one far away alone: of the tiles of A + I half hold nothing but loops.
TEST(PlanMemory, TilesThatHoldLoopsAloneAreCounted) {
  const NodeId n = 4096;
  std::vector<NodeId> rows, cols;
  for (NodeId i = 0; i < n / 2; ++i) rows.push_back(i), cols.push_back(i + n / 2);
  Dataset dataset;
  dataset.graph = csr_from_edges(n, n, rows, cols, {.symmetrize = true});
  Buffer<EdgeOffset> row_ptr(n + 1);
  for (NodeId i = 0; i <= n; ++i) row_ptr[i] = i;
  dataset.features = {CsrPattern(n, 1, std::move(row_ptr), Buffer<NodeId>(n, NodeId{0})), Buffer<float>(n, 1.0F)};
  const Model model = random_model(Architecture::gcn, Precision::bin, 1, 1, 1, 2, 3);
  const Device device = Device::host(1);
  InferencePlan plan(model, dataset, {.graph = GraphFormat::tiles, .tile_dim = 64}, device);
  plan.run();
  const auto peak = static_cast<double>(device.memory().peak);
  EXPECT_NEAR(static_cast<double>(plan.predicted().bytes), peak, 0.02 * peak);
}

}  // namespace
}  // namespace bitgraph::nn
