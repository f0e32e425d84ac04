// SPDX-License-Identifier: Apache-2.0
// Batches packed for a CUDA device. On the host the same packing runs without a second stream.
#include "nn/inference/parts/packed_parts.hpp"

#include "nn/inference/parts/part_cases.hpp"
#include "nn/model/random_model.hpp"
#include "support/cuda_device.hpp"
#include "support/expect_error.hpp"

#include <bitgraph/core/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using test::even_parts;
using test::expect_runs;
using test::FeatureKind;
using test::logits_of;
using test::models_for;
using test::options_for;
using test::places;

void expect_bits_of_the_batch_graph(const Model& model, const Dataset& dataset, const Partition& partition,
                                    const Device& device) {
  for (const std::size_t batch_parts : {1U, 7U, 99U}) {
    const DenseMatrix<float> expected = logits_of(model, test::of_batches(dataset, partition, batch_parts), device);
    for (const Packing& packing : {Packing{.group_bytes = 0}, Packing{.group_bytes = 4000},
                                   Packing{.group_bytes = 0, .pins = false}, Packing{}}) {
      SCOPED_TRACE(std::to_string(batch_parts) + " parts, groups of " + std::to_string(packing.group_bytes) +
                   (packing.pins ? "" : ", not pinned"));
      PackedParts plan(model, dataset, options_for(model, partition, batch_parts), device, packing);
      EXPECT_EQ(plan.num_batches(), (partition.num_parts() + batch_parts - 1) / batch_parts);
      if (packing.group_bytes == 0 && batch_parts == 1) {
        EXPECT_GT(plan.num_groups(), 2 * most_slots);
      }
      if (packing.group_bytes == preset_group_bytes) {
        EXPECT_EQ(plan.num_groups(), 1U);
      }
      EXPECT_EQ(plan.pinned(), packing.pins && !device.is_host());
      expect_runs(plan, expected, test::adds_floats(model, device));
      EXPECT_FALSE(plan.explain(1).empty());
      expect_runs(plan, expected, test::adds_floats(model, device));
    }
  }
}

TEST(PackedParts, HaveTheBitsOfTheGraphThatTheBatchesMake) {
  for (const Device& device : places()) {
    for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::dense}) {
      const Dataset dataset = test::planted_data({.nodes = 250, .features = 70, .kind = kind});
      const Partition partition = test::partition_of(dataset, 40);
      for (const Architecture architecture : {Architecture::gcn, Architecture::gin, Architecture::sage}) {
        for (const Model& model : models_for(dataset, architecture)) {
          SCOPED_TRACE(device.name() + " " + std::string(to_string(architecture)) + " " + to_string(model.precision));
          expect_bits_of_the_batch_graph(model, dataset, partition, device);
        }
      }
    }
  }
}

TEST(PackedParts, TakeEveryFormatOfTheGraphAndWayOfLaunching) {
  for (const Device& device : places()) {
    const Dataset dataset = test::planted_data({.nodes = 250, .features = 70});
    const Partition partition = test::partition_of(dataset, 40);
    const Dataset separate = test::of_batches(dataset, partition, 2);
    for (const Precision& precision : {Precision::bin, Precision::real}) {
      const Model model = random_model(Architecture::gcn, precision, 70, 24, 3, 2, 5);
      const DenseMatrix<float> expected = logits_of(model, separate, device);
      InferenceOptions options = options_for(model, partition, 2);
      for (const GraphFormat format : {GraphFormat::csr, GraphFormat::tiles}) {
        for (const Launching launching : {Launching::steps, Launching::graph}) {
          options.graph = format;
          options.launching = launching;
          PackedParts plan(model, dataset, options, device, {.group_bytes = 3000});
          expect_runs(plan, expected, test::adds_floats(model, device));
        }
      }
    }
  }
}

TEST(PackedParts, SumsOfLevelsTakeTiles) {
  for (const Device& device : places()) {
    const Dataset dataset = test::planted_data({.nodes = 250, .features = 70});
    const Partition partition = test::partition_of(dataset, 40);
    const Model model = test::level_model(Architecture::gcn, dataset);
    const DenseMatrix<float> expected = logits_of(model, test::of_batches(dataset, partition, 2), device);
    for (const Launching launching : {Launching::steps, Launching::graph}) {
      InferenceOptions options = options_for(model, partition, 2);
      options.graph = GraphFormat::tiles;
      options.tile_dim = 64;
      options.launching = launching;
      PackedParts plan(model, dataset, options, device, {.group_bytes = 3000});
      expect_runs(plan, expected, test::adds_floats(model, device));
    }
  }
}

/// Some batches have no edges, and some no nodes.
TEST(PackedParts, BatchesMayBeEmpty) {
  for (const Device& device : places()) {
    Dataset dataset = test::planted_data({.nodes = 250, .features = 70});
    const auto isolated = [](NodeId i) { return i % 3 == 0; };
    dataset.graph = select(dataset.graph, [&](NodeId i, NodeId j) { return !isolated(i) && !isolated(j); });
    std::vector<NodeId> part_of;
    for (NodeId i = 0; i < 250; ++i) part_of.push_back(isolated(i) ? 5 + i % 2 : 10 + i % 7);
    const Partition partition(std::move(part_of), 20);
    for (const Architecture architecture : {Architecture::gcn, Architecture::gin, Architecture::sage}) {
      for (const Model& model : models_for(dataset, architecture)) {
        SCOPED_TRACE(device.name() + " " + std::string(to_string(architecture)) + " " + to_string(model.precision));
        expect_bits_of_the_batch_graph(model, dataset, partition, device);
      }
    }
  }
}

/// Copies of some groups are shorter than their kernels and of others longer. Without the events that order them a
/// group would read what the groups before have left in its slot, or what a later one has brought already.
TEST(PackedParts, CopiesAndKernelsKeepTheirOrder) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const Dataset dataset = test::planted_data({.nodes = 16000, .features = 200, .kind = FeatureKind::dense});
  const Partition partition = even_parts(dataset);
  const Dataset separate = test::of_batches(dataset, partition, 1);
  std::vector<Model> models;
  models.push_back(test::level_model(Architecture::gin, dataset));                       // short copies
  models.push_back(random_model(Architecture::gcn, Precision::bin, 200, 64, 3, 3, 5));   // the shortest
  models.push_back(random_model(Architecture::sage, Precision::real, 200, 8, 3, 2, 5));  // long ones
  for (const Model& model : models) {
    SCOPED_TRACE(to_string(model.precision));
    const DenseMatrix<float> expected = logits_of(model, separate, device);
    for (const Launching launching : {Launching::automatic, Launching::steps}) {
      InferenceOptions options = options_for(model, partition, 1);
      options.launching = launching;
      PackedParts plan(model, dataset, options, device, {.group_bytes = 0});
      ASSERT_EQ(plan.num_groups(), 20U);
      expect_runs(plan, expected, test::adds_floats(model, device), 10);
      for (int run = 0; run < 10; ++run) static_cast<void>(plan.run());  // nothing waits between them
      expect_runs(plan, expected, test::adds_floats(model, device), 1);
    }
  }
}

/// tests/memory_test.cpp has larger plans.
TEST(PackedParts, HoldWhatWasPredictedAndARepeatedRunAllocatesNothing) {
  BITGRAPH_REQUIRE_CUDA();
  for (const FeatureKind kind : {FeatureKind::counts, FeatureKind::dense}) {
    const Dataset dataset = test::planted_data({.nodes = 16000, .features = 200, .kind = kind});
    const Partition partition = even_parts(dataset);
    for (const Architecture architecture : {Architecture::gcn, Architecture::sage, Architecture::gin}) {
      for (const Model& model : models_for(dataset, architecture)) {
        if (model.precision == Precision::real) continue;  // BLAS has a workspace of its own
        for (const std::size_t group_bytes : {std::size_t{0}, std::size_t{300'000}, preset_group_bytes}) {
          SCOPED_TRACE(std::string(to_string(architecture)) + " " + to_string(model.precision) + " " +
                       std::to_string(group_bytes));
          const Device device = Device::cuda();
          PackedParts plan(model, dataset, options_for(model, partition, 1), device, {.group_bytes = group_bytes});
          static_cast<void>(plan.run());
          const auto peak = static_cast<double>(device.memory().peak);
          EXPECT_NEAR(static_cast<double>(plan.predicted().bytes), peak, 0.1 * peak);
          const auto packed = static_cast<double>(plan.packed_bytes());
          EXPECT_NEAR(static_cast<double>(plan.predicted().host_bytes), packed, 0.05 * packed);
          const std::size_t allocations = device.memory().allocations;
          for (int run = 0; run < 3; ++run) static_cast<void>(plan.run());
          EXPECT_EQ(device.memory().allocations, allocations);
        }
      }
    }
  }
}

TEST(PackedParts, ALimitMakesGroupsSmallerAndThenTakesASlot) {
  const Dataset dataset = test::planted_data({.nodes = 6000, .features = 200, .kind = FeatureKind::dense});
  const Partition partition = even_parts(dataset);
  const Model model = random_model(Architecture::gcn, Precision::full, 200, 32, 3, 3, 5);
  for (const Device& device : places()) {
    SCOPED_TRACE(device.name());
    InferenceOptions options = options_for(model, partition, 1);
    const DenseMatrix<float> expected = logits_of(model, test::of_batches(dataset, partition, 1), device);
    PackedLayout layout = lay_out_batches(model, dataset, options, device, 100'000);
    ASSERT_LT(layout.groups.size(), 20U);
    EXPECT_EQ(layout.slots, most_slots);
    for (const std::size_t slots : {2U, 1U}) {
      options.memory = layout.predicted.bytes - 1;
      layout = lay_out_batches(model, dataset, options, device, 100'000);
      EXPECT_LE(layout.predicted.bytes, options.memory);
      EXPECT_EQ(layout.groups.size(), 20U);
      EXPECT_EQ(layout.slots, slots);
      PackedParts plan(model, dataset, options, device, {.group_bytes = 100'000});
      expect_runs(plan, expected, test::adds_floats(model, device));
    }
    options.memory = layout.predicted.bytes - 1;
    test::expect_error_with([&] { (void)lay_out_batches(model, dataset, options, device); }, ErrorCode::not_possible,
                            "take fewer parts in a batch");
  }
}

TEST(PackedLayout, AGroupIsItsBatchesSideBySide) {
  const Dataset dataset = test::planted_data({.nodes = 250, .features = 70});
  const Partition partition = test::partition_of(dataset, 40);
  const Model model = random_model(Architecture::gcn, Precision::full, 70, 24, 3, 2, 5);
  const InferenceOptions options = options_for(model, partition, 3);
  const Dataset separate = test::of_batches(dataset, partition, 3);
  for (const std::size_t group_bytes : {std::size_t{0}, std::size_t{2000}, std::size_t{9000}, preset_group_bytes}) {
    const PackedLayout layout = lay_out_batches(model, dataset, options, Device::host(2), group_bytes);
    PartBatches batches = inference_batches(dataset, options, Device::host(2));
    std::set<NodeId> seen;
    std::size_t next = 0;
    for (const BatchGroup& group : layout.groups) {
      EXPECT_EQ(group.first, next);
      next = group.last;
      const GroupSample sample = take_group(batches, group);
      ASSERT_EQ(sample.nodes.size(), group.nodes);
      ASSERT_EQ(sample.pattern.nvals(), group.entries);
      for (NodeId i = 0; i < sample.nodes.size(); ++i) {
        EXPECT_TRUE(seen.insert(sample.nodes[i]).second) << "a node is in one group";
        std::vector<NodeId> neighbors;
        for (const NodeId j : sample.pattern.row(i)) neighbors.push_back(sample.nodes[j]);
        std::ranges::sort(neighbors);
        EXPECT_TRUE(std::ranges::equal(neighbors, separate.graph.row(sample.nodes[i])));
      }
    }
    EXPECT_EQ(next, batches.num_batches());
    EXPECT_EQ(seen.size(), 250U);
  }
}

}  // namespace
}  // namespace bitgraph::nn
