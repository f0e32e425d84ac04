// SPDX-License-Identifier: Apache-2.0
// Batches that stay on the device. On the host the same plan runs, too.
#include "nn/inference/parts/staying_parts.hpp"

#include "nn/inference/parts/packed_parts.hpp"
#include "nn/inference/parts/part_cases.hpp"
#include "nn/model/random_model.hpp"
#include "support/cuda_device.hpp"
#include "support/expect_error.hpp"
#include "support/sanitized.hpp"

#include <bitgraph/core/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using test::even_parts;
using test::expect_runs;
using test::FeatureKind;
using test::models_for;
using test::options_for;
using test::places;

constexpr std::size_t much = std::size_t{1} << 40;

std::unique_ptr<StayingParts> staying_plan(const Model& model, const Dataset& dataset, InferenceOptions options,
                                           const Device& device) {
  options.batches_at = BatchesAt::device;
  return std::make_unique<StayingParts>(model, dataset, options, device,
                                        *batches_that_stay(model, dataset, options, device, 0));
}

/// Parts of consecutive nodes.
Partition parts_in_order(const Dataset& dataset, NodeId parts) {
  std::vector<NodeId> part_of(dataset.graph.nrows());
  for (NodeId i = 0; i < part_of.size(); ++i) part_of[i] = i * parts / dataset.graph.nrows();
  return Partition(std::move(part_of), parts);
}

void expect_bits_of_copied_batches(const Model& model, const Dataset& dataset, const Partition& partition,
                                   const Device& device) {
  const bool floats = test::adds_floats(model, device);
  for (const std::size_t batch_parts : {1U, 7U, 99U}) {
    SCOPED_TRACE(std::to_string(batch_parts) + " parts");
    InferenceOptions options = options_for(model, partition, batch_parts);
    PackedParts copied(model, dataset, options, device, {.group_bytes = 0});
    const DenseMatrix<float> expected = copied.run().to(Device{});
    for (const Launching launching : {Launching::automatic, Launching::graph, Launching::steps}) {
      if (device.is_host() && launching != Launching::automatic) continue;
      options.launching = launching;
      const auto plan = staying_plan(model, dataset, options, device);
      EXPECT_EQ(plan->num_batches(), copied.num_batches());
      EXPECT_EQ(plan->executor(), "parts of a partition on the device");
      expect_runs(*plan, expected, floats);
      EXPECT_FALSE(plan->explain(1).empty());
      expect_runs(*plan, expected, floats);
    }
  }
}

TEST(StayingParts, HaveTheBitsOfBatchesThatAreCopied) {
  for (const Device& device : places()) {
    for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::dense}) {
      const Dataset dataset = test::planted_data({.nodes = 250, .features = 70, .kind = kind});
      for (const Architecture architecture : {Architecture::gcn, Architecture::gin, Architecture::sage}) {
        for (const Model& model : models_for(dataset, architecture)) {
          SCOPED_TRACE(device.name() + " " + std::string(to_string(architecture)) + " " + to_string(model.precision));
          expect_bits_of_copied_batches(model, dataset, test::partition_of(dataset, 40), device);
          expect_bits_of_copied_batches(model, dataset, parts_in_order(dataset, 10), device);
        }
      }
    }
  }
}

TEST(StayingParts, TakeEveryFormatOfTheGraph) {
  for (const Device& device : places()) {
    const Dataset dataset = test::planted_data({.nodes = 250, .features = 70});
    const Partition partition = test::partition_of(dataset, 40);
    const Model model = random_model(Architecture::gcn, Precision::bin, 70, 24, 3, 2, 5);
    InferenceOptions options = options_for(model, partition, 2);
    const DenseMatrix<float> expected = PackedParts(model, dataset, options, device).run().to(Device{});
    for (const GraphFormat format : {GraphFormat::csr, GraphFormat::tiles}) {
      options.graph = format;
      expect_runs(*staying_plan(model, dataset, options, device), expected, test::adds_floats(model, device));
    }
  }
}

/// How logits come into the order of the nodes: by the last operator, by one of its own, or not at all.
TEST(StayingParts, HaveNoOperatorMoreWhereTheLastOneIsOfLevels) {
  const Dataset dataset = test::planted_data({.nodes = 250, .features = 70});
  const Partition partition = test::partition_of(dataset, 40), in_order = parts_in_order(dataset, 10);
  const auto program = [&](const Model& model, const Partition& parts) {
    const auto plan = staying_plan(model, dataset, options_for(model, parts, 3), Device::host(2));
    return plan->program();
  };
  const auto copied = [&](const Model& model) {
    return PackedParts(model, dataset, options_for(model, partition, 3), Device::host(2)).program().operators.size();
  };
  for (const Architecture architecture : {Architecture::gcn, Architecture::gin}) {
    const Model model = test::level_model(architecture, dataset);
    const Program made = program(model, partition);
    EXPECT_EQ(made.operators.size(), copied(model));
    EXPECT_TRUE(made.operators.back().reorders);
    EXPECT_TRUE(paper_name(made, made.operators.back()).ends_with(" + REORDER"));
  }
  const Model model = random_model(Architecture::sage, Precision::bin, 70, 24, 3, 2, 5);
  EXPECT_EQ(program(model, partition).operators.size(), copied(model) + 1);
  EXPECT_EQ(program(model, partition).operators.back().kind, OperatorKind::reorder);
  EXPECT_EQ(program(model, in_order).operators.size(), copied(model));
}

TEST(StayingParts, ReadNothingOfTheDataSetAndAllocateNothingInARun) {
  for (const Device& device : places()) {
    for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::dense}) {
      for (const Architecture architecture : {Architecture::gcn, Architecture::sage}) {
        Dataset dataset = test::planted_data({.nodes = 250, .features = 70, .kind = kind});
        const Partition partition = test::partition_of(dataset, 40);
        for (const Model& model : models_for(dataset, architecture)) {
          SCOPED_TRACE(device.name() + " " + std::string(to_string(architecture)) + " " + to_string(model.precision));
          auto gone = std::make_unique<Dataset>(test::of_batches(dataset, partition, 99));
          const auto plan = staying_plan(model, *gone, options_for(model, partition, 3), device);
          const DenseMatrix<float> expected = plan->run().to(Device{});
          gone.reset();
          static_cast<void>(plan->run());
          const std::size_t allocations = device.memory().allocations;
          expect_runs(*plan, expected, false);
          EXPECT_EQ(device.memory().allocations, allocations);
        }
      }
    }
  }
}

/// tests/memory_test.cpp has larger plans of a CUDA device. More nodes than one launch takes.
TEST(StayingParts, HoldWhatWasPredicted) {
  const Dataset sparse = test::planted_data({.nodes = 17000, .features = 200});
  const Dataset dense = test::planted_data({.nodes = 17000, .features = 200, .kind = FeatureKind::dense});
  for (const Device& place : places()) {
    for (const Dataset* dataset : {&sparse, &dense}) {
      for (const Architecture architecture : {Architecture::gcn, Architecture::sage, Architecture::gin}) {
        for (const Model& model : models_for(*dataset, architecture)) {
          const bool of_levels = model.precision.has_levels();
          if (test::sanitized && (of_levels != (dataset == &dense) || architecture == Architecture::gin)) continue;
          if (model.precision == Precision::real && !place.is_host()) continue;  // BLAS has a workspace of its own
          SCOPED_TRACE(place.name() + " " + std::string(to_string(architecture)) + " " + to_string(model.precision));
          const Device device = place.is_host() ? Device::host(2) : Device::cuda();
          const Partition partition = even_parts(*dataset);
          const auto plan = staying_plan(model, *dataset, options_for(model, partition, 1), device);
          static_cast<void>(plan->run());
          static_cast<void>(plan->run());
          const auto peak = static_cast<double>(device.memory().peak);
          EXPECT_NEAR(static_cast<double>(plan->predicted().bytes), peak, 0.02 * peak);
          EXPECT_EQ(plan->predicted().host_bytes, 0U);
        }
      }
    }
  }
}

TEST(StayingParts, StayWhereTheyFit) {
  const Dataset dataset = test::planted_data({.nodes = 2000, .features = 70});
  const Partition partition = even_parts(dataset);
  const Model model = random_model(Architecture::gcn, Precision::full, 70, 24, 3, 2, 5);
  const Device device = Device::host(2);
  InferenceOptions options = options_for(model, partition, 2);
  const auto stay = [&](std::size_t device_bytes) {
    return batches_that_stay(model, dataset, options, device, device_bytes);
  };
  const std::size_t bytes = stay(much)->predicted.bytes;
  EXPECT_EQ(stay(much)->count, 10U);
  EXPECT_TRUE(stay(2 * bytes)) << "half of the device";
  EXPECT_FALSE(stay(2 * bytes - 2));
  options.memory = bytes;
  EXPECT_TRUE(stay(0)) << "a limit counts, and nothing else";
  options.memory = bytes - 1;
  EXPECT_FALSE(stay(much));
  options.batches_at = BatchesAt::device;
  test::expect_error_with([&] { (void)stay(much); }, ErrorCode::not_possible, "let them come from the host");
  options.memory = 0;
  EXPECT_TRUE(stay(0));
  options.batches_at = BatchesAt::host;
  EXPECT_FALSE(stay(much));
}

/// A plan and its prediction take one way.
TEST(StayingParts, APlanOnADeviceTakesTheWayThatFits) {
  BITGRAPH_REQUIRE_CUDA();
  const Dataset dataset = test::planted_data({.nodes = 16000, .features = 200, .kind = FeatureKind::dense});
  const Partition partition = even_parts(dataset);
  const Model model = random_model(Architecture::gcn, Precision::full, 200, 32, 3, 3, 5);
  InferenceOptions options = options_for(model, partition, 1);
  const auto expect_way = [&](const std::string& executor) {
    const Device device = Device::cuda();
    InferencePlan plan(model, dataset, options, device);
    EXPECT_EQ(plan.executor(), executor);
    const PredictedMemory predicted = predict_memory(model, dataset, options, device);
    EXPECT_EQ(plan.predicted().bytes, predicted.bytes);
    EXPECT_EQ(predicted.host_bytes == 0, executor == "parts of a partition on the device");
    return predicted.bytes;
  };
  options.memory = expect_way("parts of a partition on the device") - 1;
  expect_way("parts of a partition from the host");
  options.memory = 0;
  options.batches_at = BatchesAt::host;
  expect_way("parts of a partition from the host");
}

}  // namespace
}  // namespace bitgraph::nn
