// SPDX-License-Identifier: Apache-2.0
// A plan over the parts of a partition is a plan over the graph that its batches make.
#include "nn/inference/parts/part_cases.hpp"
#include "nn/model/architectures.hpp"
#include "nn/model/random_model.hpp"
#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/planted_data.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/nn/infer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using test::adds_floats;
using test::expect_logits;
using test::FeatureKind;
using test::level_model;
using test::of_batches;
using test::partition_of;

std::string executor_of(BatchesAt batches_at, const Device& device) {
  if (device.is_host()) return "parts of a partition";
  return batches_at == BatchesAt::host ? "parts of a partition from the host" : "parts of a partition on the device";
}

/// Run after run.
void expect_bits_of_the_batch_graph(const Model& model, const Dataset& dataset, InferenceOptions options,
                                    const Device& device) {
  for (const NodeId parts : {NodeId{9}, NodeId{40}}) {
    const Partition partition = partition_of(dataset, parts);
    for (const std::size_t batch_parts : {1U, 2U, 7U, 99U}) {
      if (test::sanitized && (parts == 9) != (batch_parts < 7)) continue;
      SCOPED_TRACE(std::to_string(batch_parts) + " of " + std::to_string(parts) + " parts");
      const Dataset separate = of_batches(dataset, partition, batch_parts);
      options.partition = nullptr;
      const DenseMatrix<float> expected = InferencePlan(model, separate, options, device).run().to(Device{});
      options.partition = &partition;
      options.batch_parts = batch_parts;
      // On the host the choice changes nothing.
      for (const BatchesAt batches_at : {BatchesAt::automatic, BatchesAt::device, BatchesAt::host}) {
        options.batches_at = batches_at;
        InferencePlan plan(model, dataset, options, device);
        EXPECT_EQ(plan.executor(), executor_of(batches_at, device));
        EXPECT_EQ(plan.num_batches(), (parts + batch_parts - 1) / batch_parts);
        for (int repeat = 0; repeat < 2; ++repeat) {
          const DenseMatrix<float> actual = plan.run().to(Device{});
          ASSERT_EQ(actual.nrows(), dataset.graph.nrows());
          expect_logits(actual, expected, adds_floats(model, device));
        }
        EXPECT_FALSE(plan.explain(1).empty());
        if (device.is_host() && parts != 9) break;
      }
    }
  }
}

void check_every_form(const Device& device) {
  for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::dense}) {
    const Dataset dataset = test::planted_data({.nodes = 250, .features = 70, .kind = kind});
    for (const Architecture architecture : all_architectures()) {
      SCOPED_TRACE(to_string(architecture));
      for (const Precision& precision : {Precision::real, Precision::full, Precision::bin}) {
        SCOPED_TRACE(to_string(precision));
        const Model model = random_model(architecture, precision, 70, 24, 3, 3, 5);
        expect_bits_of_the_batch_graph(model, dataset, {}, device);
      }
      const Model levels = level_model(architecture, dataset);
      expect_bits_of_the_batch_graph(levels, dataset, {}, device);
    }
  }
}

TEST(InferenceOverParts, HasTheBitsOfTheGraphThatTheBatchesMake) { check_every_form(Device::host(2)); }

TEST(InferenceOverParts, HasTheBitsOfTheGraphThatTheBatchesMakeOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  check_every_form(*test::cuda_device());
}

TEST(InferenceOverParts, TakesEveryOptionThatAPlanHas) {
  const Dataset dataset = test::planted_data({.nodes = 250, .features = 70});
  const Model bits = random_model(Architecture::sage, Precision::bin, 70, 24, 3, 2, 5);
  const Model floats = random_model(Architecture::gcn, Precision::real, 70, 24, 3, 2, 5);
  for (const GraphFormat format : {GraphFormat::csr, GraphFormat::sell, GraphFormat::tiles})
    expect_bits_of_the_batch_graph(bits, dataset, {.graph = format}, Device::host(2));
  for (const Sequence sequence : {Sequence::update_first, Sequence::aggregate_first})
    expect_bits_of_the_batch_graph(floats, dataset, {.sequence = sequence}, Device::host(2));
  for (const FeatureStorage storage : {FeatureStorage::sparse, FeatureStorage::dense})
    expect_bits_of_the_batch_graph(floats, dataset, {.features = storage}, Device::host(2));
}

TEST(InferenceOverParts, SumsOfLevelsOverTilesHaveTheBitsOfThePattern) {
  const Dataset dataset = test::planted_data({.nodes = 250, .features = 70});
  const Model model = level_model(Architecture::gcn, dataset);
  const Partition partition = partition_of(dataset, 9);
  const InferenceOptions pattern{.partition = &partition, .batch_parts = 2};
  const InferenceOptions tiles{.graph = GraphFormat::tiles, .tile_dim = 64, .partition = &partition, .batch_parts = 2};
  InferencePlan csr(model, dataset, pattern, Device::host(2));
  const Device device = Device::host(2);
  InferencePlan plan(model, dataset, tiles, device);
  test::expect_identical(plan.run().values(), csr.run().values());
  const auto peak = static_cast<double>(device.memory().peak);
  EXPECT_NEAR(static_cast<double>(plan.predicted().bytes), peak, 0.1 * peak);
}

TEST(InferenceOverParts, OfAllPartsAtOnceIsThePlanOverTheGraph) {
  const Dataset dataset = test::planted_data({.nodes = 250, .features = 70});
  const Partition partition = partition_of(dataset, 9);
  for (const Precision& precision : {Precision::real, Precision::full, Precision::bin}) {
    const Model model = random_model(Architecture::gcn, precision, 70, 24, 3, 2, 5);
    for (const int threads : test::thread_counts) {
      InferencePlan whole(model, dataset, {}, Device::host(threads));
      InferencePlan parts(model, dataset, {.partition = &partition, .batch_parts = 9}, Device::host(threads));
      test::expect_identical(parts.run().values(), whole.run().values());
      InferencePlan some(model, dataset, {.partition = &partition, .batch_parts = 2}, Device::host(threads));
      EXPECT_FALSE(std::ranges::equal(some.run().values(), whole.run().values())) << "edges to other batches count";
    }
  }
}

/// Predicted and measured peak, within 10 %; less than all of the graph takes.
void expect_memory(const Model& model, const Dataset& dataset, const Partition& partition) {
  const InferenceOptions options{.partition = &partition, .batch_parts = 2};
  const Device device = Device::host(2);
  const PredictedMemory predicted = predict_memory(model, dataset, options, device);
  InferencePlan plan(model, dataset, options, device);
  (void)plan.run();
  (void)plan.run();
  const auto peak = static_cast<double>(device.memory().peak);
  EXPECT_NEAR(static_cast<double>(predicted.bytes), peak, 0.1 * peak);
  EXPECT_EQ(plan.predicted().bytes, predicted.bytes);
  EXPECT_LT(predicted.bytes, predicted.whole_bytes / 2);
  InferenceOptions limited = options;
  limited.memory = predicted.bytes;
  EXPECT_NO_THROW((void)predict_memory(model, dataset, limited, device));
  limited.memory -= 1;
  test::expect_error_with([&] { InferencePlan(model, dataset, limited, device); }, ErrorCode::not_possible,
                          "take fewer parts in a batch");
}

TEST(InferenceOverParts, HoldsOneBatchAsPredicted) {
  for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::dense}) {
    const Dataset dataset = test::planted_data({.nodes = 16000, .features = 200, .kind = kind});
    std::vector<NodeId> part_of(dataset.graph.nrows());
    for (NodeId i = 0; i < part_of.size(); ++i) part_of[i] = i % 20;
    const Partition partition(std::move(part_of), 20);
    for (const Architecture architecture : {Architecture::gcn, Architecture::sage, Architecture::gin}) {
      for (const Precision& precision : {Precision::real, Precision::full, Precision::bin}) {
        SCOPED_TRACE(std::string(to_string(architecture)) + " " + to_string(precision) + " " +
                     std::to_string(static_cast<int>(kind)));
        expect_memory(random_model(architecture, precision, 200, 32, 3, 3, 5), dataset, partition);
      }
    }
    expect_memory(level_model(Architecture::gcn, dataset), dataset, partition);
  }
}

TEST(InferenceOverParts, WhatDoesNotGoWithItIsRefused) {
  const Dataset dataset = test::planted_data({.nodes = 250, .features = 70});
  const Partition partition = partition_of(dataset, 9);
  const Model model = random_model(Architecture::gcn, Precision::full, 70, 24, 3, 2, 5);
  const auto refused = [&](const InferenceOptions& options, ErrorCode code, const std::string& message) {
    test::expect_error_with([&] { InferencePlan(model, dataset, options); }, code, message);
    test::expect_error_with([&] { (void)predict_memory(model, dataset, options); }, code, message);
  };
  const Dataset other = test::planted_data({.nodes = 250, .features = 70, .seed = 2});
  const Partition of_other = partition_of(other, 9);
  refused({.partition = &of_other}, ErrorCode::bad_input, "the parts belong to another graph");
  refused({.order = Order::degree, .partition = &partition}, ErrorCode::usage, "no other order");
  refused({.partition = &partition, .capacity = {.nodes = 300}}, ErrorCode::usage, "no room");
  InferencePlan plan(model, dataset, {.partition = &partition});
  EXPECT_EQ(plan.num_nodes(), 250U);
  EXPECT_EQ(plan.num_batches(), 9U);
  const auto no_update = [&](const auto& update) {
    test::expect_error_with(update, ErrorCode::not_possible, "takes no updates");
  };
  no_update([&] { plan.set_features(dataset.features); });
  no_update([&] { plan.set_graph(dataset.graph.clone()); });
  no_update([&] { (void)plan.add_nodes(1); });
  no_update([&] { plan.add_edges({}, {}); });
}

}  // namespace
}  // namespace bitgraph::nn
