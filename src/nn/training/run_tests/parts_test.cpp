// SPDX-License-Identifier: Apache-2.0
// Training over the parts of a partition: what its batches have, what they make of a run, and what is refused. The
// steps themselves are compared with an oracle in network_step_test.cpp.
#include "nn/inference/graph_operands.hpp"
#include "nn/model/architectures.hpp"
#include "nn/sampling/parts/seen_part.hpp"
#include "nn/sampling/training_source.hpp"
#include "nn/training/trainer.hpp"
#include "support/cuda_device.hpp"
#include "support/expect_error.hpp"
#include "support/network_cases.hpp"
#include "support/planted_data.hpp"
#include "support/temporary_folder.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/nn/sampling.hpp>
#include <bitgraph/nn/train.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using Nodes = std::vector<NodeId>;

Dataset data() { return test::planted_data({.nodes = 150, .train = 60, .validation = 40}); }

Partition partition_of(const Dataset& dataset, NodeId parts) {
  Nodes part_of;
  for (NodeId i = 0; i < dataset.graph.nrows(); ++i)
    part_of.push_back(static_cast<NodeId>(random_below({5, 0, 0}, i, parts)));
  return Partition(std::move(part_of), parts, {undirected_fingerprint(dataset.graph), 0});
}

TrainOptions over(const Partition& partition, std::size_t batch_parts, Architecture architecture = Architecture::gcn,
                  Precision precision = Precision::real) {
  return {.precision = precision,
          .architecture = architecture,
          .hidden = 10,
          .epochs = 4,
          .partition = &partition,
          .batch_parts = batch_parts,
          .seed = 2};
}

std::unique_ptr<TrainingSource> source_of(const Dataset& dataset, const TrainOptions& options) {
  Model metadata;
  metadata.architecture = options.architecture;
  metadata.precision = options.precision;
  return make_training_source(dataset, preset(options, size_of(dataset)), metadata, 1, {}, Device::host(2));
}

/// Nodes of a batch, which are rows of its features.
Nodes nodes_of(const TrainingBatch& batch) { return {batch.rows.nodes.begin(), batch.rows.nodes.end()}; }

TEST(TrainingOverParts, ABatchIsTheSubgraphOfItsPartsAndAnEpochHasEachNodeOnce) {
  const Dataset dataset = data();
  const Partition partition = partition_of(dataset, 9);
  for (const Architecture architecture : {Architecture::gcn, Architecture::sage}) {
    const auto source = source_of(dataset, over(partition, 2, architecture));
    ASSERT_EQ(source->batches(), 5U);
    std::set<Nodes> first_epoch;
    std::size_t again = 0;
    for (std::size_t epoch = 1; epoch <= 2; ++epoch) {
      Nodes met, counted;
      for (std::size_t n = 0; n < source->batches(); ++n) {
        const TrainingBatch& batch = source->batch(epoch, n);
        const Nodes nodes = nodes_of(batch);
        const CsrPattern part = induced_subgraph(dataset.graph, nodes);
        EXPECT_TRUE(batch.graphs[0]->pattern ==
                    (architecture == Architecture::gcn ? with_self_loops(part) : part.clone()));
        EXPECT_EQ(batch.graphs[0], batch.graphs[1]) << "one graph for all layers";
        for (std::size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(batch.labels[i], dataset.labels[nodes[i]]);
        for (const NodeId row : batch.counted.span()) counted.push_back(nodes[row]);
        met.insert(met.end(), nodes.begin(), nodes.end());
        if (epoch == 1) first_epoch.insert(nodes);
        again += epoch == 2 && first_epoch.contains(nodes) ? 1U : 0U;
      }
      std::ranges::sort(met);
      Nodes all(dataset.graph.nrows());
      std::iota(all.begin(), all.end(), NodeId{0});
      EXPECT_EQ(met, all);
      // The first training node has no label.
      Nodes trained(dataset.train.begin() + 1, dataset.train.end());
      std::ranges::sort(trained);
      std::ranges::sort(counted);
      EXPECT_EQ(counted, trained);
    }
    EXPECT_LT(again, 5U) << "the parts are drawn anew";
  }
}

/// Of levels, what is added up in a batch is as large as in the whole graph, where the model is judged.
TEST(TrainingOverParts, GcnOfLevelsIsNormalizedByDegreesInTheWholeGraph) {
  const Dataset dataset = data();
  const Partition partition = partition_of(dataset, 9);
  for (const bool levels : {false, true}) {
    const Precision precision = levels ? Precision::of_levels(4, 4, 4) : Precision(Precision::real);
    const auto source = source_of(dataset, over(partition, 2, Architecture::gcn, precision));
    const TrainingBatch& batch = source->batch(1, 0);
    const Nodes nodes = nodes_of(batch);
    for (NodeId i = 0; i < nodes.size(); ++i) {
      const auto all = static_cast<float>(dataset.graph.row(nodes[i]).size() + 1);
      const auto there = static_cast<float>(batch.graphs[0]->pattern.row(i).size());
      EXPECT_NEAR(batch.graphs[0]->col_scale[i], 1 / std::sqrt(levels ? all : there), 1e-6);
      EXPECT_NEAR(batch.graphs[0]->row_scale[i], levels ? std::sqrt(all) / there : 1 / std::sqrt(there), 1e-5);
    }
  }
}

TEST(TrainingOverParts, APartWithoutSeenNodesIsGone) {
  const Partition partition({2, 0, 0, 2, 3, 1}, 5);
  EXPECT_EQ(part_of(partition, Nodes{1, 3, 4}), Partition({0, 1, 2}, 3));
  EXPECT_EQ(part_of(partition, Nodes{0, 1, 2, 3, 4, 5}), Partition({2, 0, 0, 2, 3, 1}, 4));
  EXPECT_EQ(part_of(partition, Nodes{}), Partition({}, 1));
}

/// Parameters after some epochs, one after the other.
std::vector<float> trained(const Dataset& dataset, const TrainOptions& options, std::optional<std::size_t> threads = {},
                           const Device& device = Device::host(2)) {
  const auto trainer = make_trainer(dataset, preset(options, size_of(dataset)), device, {}, threads);
  for (std::size_t epoch = 1; epoch <= 4; ++epoch) trainer->train_epoch(epoch, 0.02F);
  std::vector<float> values;
  for (const Parameter& parameter : trainer->parameters()) {
    const DenseMatrix<float> here = parameter.value.to(Device{});
    values.insert(values.end(), here.values().begin(), here.values().end());
  }
  return values;
}

/// The gradients of the first step.
std::vector<DenseMatrix<float>> gradients_of(const Dataset& dataset, const TrainOptions& options) {
  const auto trainer = make_trainer(dataset, preset(options, size_of(dataset)), Device::host(2), {});
  trainer->train_epoch(1, 0.02F);
  std::vector<DenseMatrix<float>> gradients;
  for (const Parameter& parameter : trainer->parameters()) gradients.push_back(parameter.gradient.clone());
  return gradients;
}

/// Nothing is normalized by parts then: symmetric normalizations, means and sums are those of the whole graph.
TEST(TrainingOverParts, OfOnePartIsTrainingOverTheWholeGraph) {
  const Dataset dataset = data();
  const Partition one(Nodes(dataset.graph.nrows(), 0), 1);
  for (const Architecture architecture : {Architecture::gcn, Architecture::gin}) {
    for (const Precision& precision : {Precision::real, Precision::full}) {
      SCOPED_TRACE(std::string(to_string(architecture)) + " " + to_string(precision));
      TrainOptions options = over(one, 1, architecture, precision);
      options.dropout = 0;
      const auto parts = gradients_of(dataset, options);
      options.partition = nullptr;
      options.batch_parts.reset();
      const auto whole = gradients_of(dataset, options);
      ASSERT_EQ(parts.size(), whole.size());
      for (std::size_t p = 0; p < whole.size(); ++p) {
        const auto expected = std::as_const(whole[p]).values(), actual = std::as_const(parts[p]).values();
        float largest = 0;
        for (const float value : expected) largest = std::max(largest, std::abs(value));
        for (std::size_t n = 0; n < expected.size(); ++n)
          ASSERT_NEAR(actual[n], expected[n], 1e-5F * largest + 1e-9F) << "parameter " << p << " value " << n;
      }
    }
  }
}

TEST(TrainingOverParts, ThreadsThatDrawChangeNoBit) {
  const Dataset dataset = data();
  const Partition partition = partition_of(dataset, 9);
  for (const Architecture architecture : all_architectures()) {
    const TrainOptions options = over(partition, 2, architecture);
    const std::vector<float> expected = trained(dataset, options, 0);
    for (const std::size_t threads : {1U, 3U}) EXPECT_EQ(trained(dataset, options, threads), expected);
    TrainOptions other = options;
    other.batch_parts = 3;
    EXPECT_NE(trained(dataset, other, 0), expected);
  }
}

TEST(TrainingOverParts, ADeviceTrainsAsTheHostDoes) {
  BITGRAPH_REQUIRE_CUDA();
  const Dataset dataset = data();
  const Partition partition = partition_of(dataset, 9);
  for (const Architecture architecture : all_architectures()) {
    TrainOptions options = over(partition, 2, architecture);
    options.dropout = 0;
    const std::vector<float> expected = trained(dataset, options);
    const std::vector<float> actual = trained(dataset, options, {}, *test::cuda_device());
    for (std::size_t n = 0; n < expected.size(); ++n) ASSERT_NEAR(actual[n], expected[n], 2e-3F) << n;
  }
}

std::string bytes_of(const Model& model, const test::TemporaryFolder& folder) {
  model.save(folder / "model");
  return test::contents(folder / "model");
}

TEST(TrainingOverParts, ARunThatIsStoppedGoesOnAndEndsWithTheSameBits) {
  const Dataset dataset = data();
  const Partition partition = partition_of(dataset, 9);
  for (const char* precision : {"float", "full", "bin", "w4a4"}) {
    for (const Architecture architecture : {Architecture::gcn, Architecture::sage, Architecture::inductive_gin}) {
      SCOPED_TRACE(std::string(precision) + " " + std::string(to_string(architecture)));
      const test::TemporaryFolder folder(test::folder_in_memory());
      TrainOptions options = over(partition, 2, architecture, precision_from_string(precision));
      const std::string whole = bytes_of(train(dataset, options, Device::host(2)).model, folder);
      options.checkpoint = folder / "state";
      options.checkpoint_every = 1;
      for (std::size_t epochs = 1; epochs < 3; ++epochs) {
        std::stop_source stop;
        const auto look = [&](const EpochReport& report) {
          if (!report.of_teacher && report.epoch >= epochs) stop.request_stop();
        };
        EXPECT_THROW((void)train(dataset, options, Device::host(2).with_stop(stop.get_token()), look), Error);
      }
      EXPECT_EQ(bytes_of(train(dataset, options, Device::host(2)).model, folder), whole);
      const Partition other = partition_of(dataset, 8);
      options.partition = &other;
      test::expect_error_with([&] { (void)train(dataset, options, Device::host(2)); }, ErrorCode::bad_input,
                              "samples is 'batches of 2 of 9 parts");
    }
  }
}

TEST(TrainingOverParts, EveryFormLearns) {
  const Dataset dataset = test::planted_data({.nodes = 300, .features = 60, .train = 120, .validation = 90});
  const Partition partition = partition_of(dataset, 12);
  for (const Architecture architecture : all_architectures()) {
    for (const char* precision : {"float", "full", "bin", "w4a4"}) {
      TrainOptions options = over(partition, 3, architecture, precision_from_string(precision));
      options.hidden = 32;
      options.epochs = 40;
      const TrainResult result = train(dataset, options, Device::host(2));
      EXPECT_GT(result.validation_accuracy, 0.6) << precision << " " << to_string(architecture);
    }
  }
}

/// Training nodes have no features, only neighbours that have some: a teacher knows their labels over the whole graph,
/// and not over parts of two nodes without an edge.
TEST(TrainingOverParts, ATeacherSaysWhatItWouldOfThePartsOfAStep) {
  Dataset dataset =
      test::planted_data({.nodes = 400, .kind = test::FeatureKind::dense, .train = 100, .validation = 100});
  for (const NodeId node : dataset.train) {
    for (float& value : dataset.dense_features.row(node)) value = 0;
  }
  const Model teacher = train(dataset, {.precision = Precision::real, .epochs = 200}, Device::host(2)).model;
  TrainOptions options{.precision = Precision::of_levels(8, 8, 8), .epochs = 1, .teacher = &teacher};
  EXPECT_FALSE(train(dataset, options, Device::host(2)).ignores_teacher);
  std::vector<NodeId> part_of_node(400);
  for (NodeId node = 0; node < 400; ++node) part_of_node[node] = node % 200;
  const Partition pairs(part_of_node, 200);
  options.partition = &pairs;
  options.batch_parts = 1;
  EXPECT_TRUE(train(dataset, options, Device::host(2)).ignores_teacher);
  options.batch_parts = 200;
  EXPECT_FALSE(train(dataset, options, Device::host(2)).ignores_teacher);
}

TEST(TrainingOverParts, HasARecipeThatSaysSo) {
  const Dataset dataset = data();
  const Partition partition = partition_of(dataset, 64);
  TrainOptions options{.precision = Precision::real, .partition = &partition};
  for (const Architecture architecture : all_architectures()) {
    options.architecture = architecture;
    const TrainOptions made = preset(options, size_of(dataset));
    EXPECT_EQ(made.batch_parts, 3U);
    EXPECT_EQ(made.epochs, 200U);
    EXPECT_EQ(made.patience, 50U);
    options.precision = Precision::bin;
    EXPECT_EQ(preset(options, size_of(dataset)).patience, 0U);
    options.precision = Precision::real;
    TrainOptions whole = options;
    whole.partition = nullptr;
    EXPECT_FLOAT_EQ(*made.weight_decay, *preset(whole, size_of(dataset)).weight_decay / 10);
  }
  EXPECT_NE(explain_recipe(dataset, options).find("; 3 of 64 parts a step; 200 epochs at most, patience 50"),
            std::string::npos)
      << explain_recipe(dataset, options);
  options.epochs = 7;
  options.patience = 5;
  options.batch_parts = 30;
  EXPECT_NE(explain_recipe(dataset, options).find("; 30 of 64 parts a step; 7 epochs at most, patience 5"),
            std::string::npos);
}

TEST(TrainingOverParts, WhatDoesNotFitIsRefused) {
  const Dataset dataset = data();
  const Partition partition = partition_of(dataset, 9);
  const auto refused = [&](const TrainOptions& options, ErrorCode code, const std::string& message) {
    test::expect_error_with([&] { (void)train(dataset, options, Device::host(2)); }, code, message);
  };
  const Dataset other = test::planted_data({.nodes = 150, .train = 60, .validation = 40, .seed = 2});
  const Partition of_other = partition_of(other, 9);
  refused(over(of_other, 2), ErrorCode::bad_input, "train: the partition: the parts belong to another graph");
  refused(over(Partition({0, 1}, 2), 2), ErrorCode::bad_input, "the parts are of 2 nodes, and the graph has 150");
  refused(over(partition, 0), ErrorCode::usage, "train: a batch needs at least one part");
  refused({.batch_parts = 3}, ErrorCode::usage, "train: parts of a batch are given, and no partition");
}

}  // namespace
}  // namespace bitgraph::nn
