// SPDX-License-Identifier: Apache-2.0
// The recipes as tables: a changed default fails here, and only here.
#include <bitgraph/core/error.hpp>
#include <bitgraph/nn/train.hpp>
#include <bitgraph/ops/select.hpp>

#include "nn/model/architectures.hpp"
#include "support/planted_data.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace bitgraph::nn {
namespace {

struct Recipe {
  Architecture architecture;
  Precision precision;
  bool dense;
  std::size_t training_nodes, epochs;
  float learning_rate, weight_decay, dropout;
};

/// Sampled models train for 2000 steps, but 30 to 300 epochs. A step has 512 nodes, or 6000 walks of 2 edges, which are
/// 18,000 nodes.
const std::vector<Recipe> recipes{
    {Architecture::gcn, Precision::real, false, 140, 1000, 1e-2F, 1e-2F, 0.5F},
    {Architecture::gcn, Precision::real, true, 140, 1000, 1e-2F, 1e-2F, 0.5F},
    {Architecture::gcn, Precision::full, false, 140, 400, 3e-3F, 0, 0.3F},
    {Architecture::gcn, Precision::full, true, 140, 400, 3e-3F, 0, 0.5F},
    {Architecture::gcn, Precision::bin, false, 140, 400, 3e-3F, 0, 0.3F},
    {Architecture::gcn, Precision::bin, true, 0, 400, 3e-3F, 0, 0.5F},
    {Architecture::gin, Precision::real, false, 140, 1000, 1e-2F, 1e-2F, 0.5F},
    {Architecture::gin, Precision::bin, false, 140, 400, 3e-3F, 0, 0.3F},
    {Architecture::inductive_gin, Precision::bin, true, 5120, 200, 3e-3F, 0, 0.5F},
    {Architecture::inductive_gcn, Precision::real, false, 0, 100, 1e-2F, 0, 0.5F},
    {Architecture::inductive_gcn, Precision::full, false, 140, 300, 3e-3F, 0, 0.3F},
    {Architecture::inductive_gcn, Precision::bin, true, 5120, 200, 3e-3F, 0, 0.5F},
    {Architecture::sage, Precision::real, false, 512000, 30, 1e-2F, 0, 0.5F},
    {Architecture::sage, Precision::full, true, 20480, 50, 3e-3F, 0, 0.5F},
    {Architecture::sage, Precision::bin, false, 5120, 200, 3e-3F, 0, 0.3F},
    {Architecture::saint, Precision::real, true, 0, 100, 1e-2F, 0, 0.5F},
    {Architecture::saint, Precision::full, false, 180000, 200, 3e-3F, 0, 0.3F},
    {Architecture::saint, Precision::bin, false, 180000, 200, 3e-3F, 0, 0.3F},
    {Architecture::saint, Precision::bin, false, 9000, 300, 3e-3F, 0, 0.3F},
};

TEST(Preset, IsTheTableOfRecipes) {
  for (const Recipe& row : recipes) {
    SCOPED_TRACE(std::string(to_string(row.architecture)) + " " + to_string(row.precision));
    const TrainOptions made = preset({.precision = row.precision, .architecture = row.architecture},
                                     {.training_nodes = row.training_nodes, .dense_features = row.dense});
    EXPECT_EQ(*made.epochs, row.epochs);
    EXPECT_EQ(*made.learning_rate, row.learning_rate);
    EXPECT_EQ(*made.weight_decay, row.weight_decay);
    EXPECT_EQ(*made.dropout, row.dropout);
    const std::size_t patience = row.precision.multiplies_signs() ? 0 : 100;
    EXPECT_EQ(*made.patience, traits_of(row.architecture).sampled() ? 0U : patience);
    EXPECT_EQ(*made.batch_size, 512U);
    EXPECT_EQ(*made.walk_roots, 6000U);
    EXPECT_EQ(*made.walk_length, 2U);
    EXPECT_EQ(made.fan_outs, (std::vector<std::size_t>{25, 10}));
  }
  EXPECT_EQ(preset({.depth = 3}).fan_outs, (std::vector<std::size_t>{25, 10, 10}));
}

TEST(Preset, WeightsOfTwoBitsTakeLargerSteps) {
  const auto rate = [](Architecture architecture, int weight_bits) {
    const Precision precision = Precision::of_levels(weight_bits, 4, 4);
    return *preset({.precision = precision, .architecture = architecture}, {}).learning_rate;
  };
  for (const Architecture architecture : {Architecture::gcn, Architecture::gin, Architecture::sage}) {
    for (const int bits : {1, 2}) EXPECT_EQ(rate(architecture, bits), 1e-2F);
    for (const int bits : {3, 4, 8}) EXPECT_EQ(rate(architecture, bits), 3e-3F);
  }
}

TEST(Preset, DecayOfFloatFallsWhereNodesHaveMoreThanEightNeighbors) {
  const auto decay = [](Architecture architecture, Precision precision, double mean_degree) {
    return *preset({.precision = precision, .architecture = architecture}, {.mean_degree = mean_degree}).weight_decay;
  };
  for (const Architecture architecture : {Architecture::gcn, Architecture::gin}) {
    for (const double degree : {0.0, 1.0, 8.0}) EXPECT_EQ(decay(architecture, Precision::real, degree), 1e-2F);
    EXPECT_EQ(decay(architecture, Precision::real, 16), 5e-3F);
    EXPECT_EQ(decay(architecture, Precision::real, 80), 1e-3F);
    EXPECT_EQ(decay(architecture, Precision::full, 80), 0);
  }
  EXPECT_EQ(decay(Architecture::sage, Precision::real, 80), 0);
}

TEST(Preset, DropoutFallsWhereAModelHasFewWeightsForItsLabels) {
  const auto dropout = [](Precision precision, std::size_t labels, std::size_t hidden, std::size_t classes = 40) {
    return *preset({.precision = precision, .hidden = hidden, .depth = 3},
                   {.training_nodes = labels, .features = 128, .classes = classes})
                .dropout;
  };
  // 128 x 16 + 16 x 16 + 16 x 40 = 2944 weights.
  EXPECT_FLOAT_EQ(dropout(Precision::real, 736, 16), 0.5F);
  EXPECT_FLOAT_EQ(dropout(Precision::real, 1472, 16), 0.25F);
  EXPECT_FLOAT_EQ(dropout(Precision::full, 1472, 16), 0.15F);
  EXPECT_FLOAT_EQ(dropout(Precision::of_levels(4, 4, 4), 73600, 16), 0.003F);
  EXPECT_FLOAT_EQ(dropout(Precision::real, 1472, 256), 0.5F);
  for (const std::size_t unknown : {0U, 1U})
    EXPECT_FLOAT_EQ(dropout(Precision::real, unknown == 0 ? 0 : 73600, 16, unknown == 0 ? 40 : 0), 0.5F);
  EXPECT_FLOAT_EQ(*preset({.precision = Precision::real, .depth = 3, .dropout = 0.4F},
                          {.training_nodes = 1 << 20, .features = 1, .classes = 2})
                       .dropout,
                  0.4F);
  // Of GraphSAGE each layer has weights for the node and for its neighbours; of many graphs each has one label.
  EXPECT_FLOAT_EQ(*preset({.precision = Precision::real, .architecture = Architecture::sage, .hidden = 10},
                          {.training_nodes = 200, .features = 10, .classes = 10})
                       .dropout,
                  0.25F);
  EXPECT_FLOAT_EQ(*preset({.precision = Precision::real, .hidden = 10},
                          {.training_nodes = 1000, .training_graphs = 100, .features = 10, .classes = 10})
                       .dropout,
                  0.25F);
}

TEST(Preset, SizesAreOfTrainingAndValidationNodesAlone) {
  Dataset dataset = test::planted_data({});
  const DataSize before = size_of(dataset);
  EXPECT_EQ(before.training_nodes, dataset.train.size());
  EXPECT_FALSE(before.dense_features);
  EXPECT_EQ(before.features, dataset.num_features());
  EXPECT_EQ(before.classes, static_cast<std::size_t>(dataset.num_classes));
  std::vector<bool> seen(dataset.graph.nrows(), false);
  std::size_t entries = 0;
  for (const auto* nodes : {&dataset.train, &dataset.validation}) {
    for (const NodeId node : *nodes) seen[node] = true, entries += dataset.graph.row(node).size();
  }
  const auto nodes = static_cast<double>(dataset.train.size() + dataset.validation.size());
  EXPECT_DOUBLE_EQ(before.mean_degree, static_cast<double>(entries) / nodes);
  dataset.graph = select(dataset.graph, [&](NodeId i, NodeId) { return seen[i]; });
  EXPECT_EQ(size_of(dataset).mean_degree, before.mean_degree);
  EXPECT_TRUE(size_of(test::planted_data({.kind = test::FeatureKind::dense})).dense_features);
  dataset.train.clear();
  dataset.validation.clear();
  EXPECT_EQ(size_of(dataset).mean_degree, 0);
}

TEST(Preset, ChoosesWhatSamplesAreTakenFrom) {
  const DataSize few{.neighbors = 4, .training_neighbors = 0.9};
  const DataSize many{.neighbors = 4, .training_neighbors = 1};
  const DataSize lonely{.neighbors = 0.9, .training_neighbors = 0};
  const auto chosen = [](TrainOptions options, const DataSize& size) { return preset(options, size).sample_from; };
  for (const Architecture architecture : {Architecture::sage, Architecture::saint}) {
    EXPECT_EQ(chosen({.architecture = architecture}, few), SampleFrom::all);
    for (const DataSize& size : {many, lonely, DataSize{}})
      EXPECT_EQ(chosen({.architecture = architecture}, size), SampleFrom::training);
    EXPECT_EQ(chosen({.architecture = architecture, .sample_from = SampleFrom::training}, few), SampleFrom::training);
    const Partition partition({0, 1}, 2);
    EXPECT_EQ(chosen({.architecture = architecture, .partition = &partition}, few), SampleFrom::training);
  }
  for (const Architecture architecture : {Architecture::inductive_gcn, Architecture::inductive_gin}) {
    EXPECT_EQ(chosen({.architecture = architecture}, few), SampleFrom::training);
    EXPECT_EQ(chosen({.architecture = architecture, .sample_from = SampleFrom::all}, many), SampleFrom::all);
  }
  for (const Architecture architecture : {Architecture::gcn, Architecture::gin})
    EXPECT_EQ(chosen({.architecture = architecture}, few), SampleFrom::automatic);
}

TEST(Preset, SamplesAreChosenByName) {
  for (const SampleFrom from : {SampleFrom::automatic, SampleFrom::training, SampleFrom::all})
    EXPECT_EQ(sample_from_string(to_string(from)), from);
  EXPECT_EQ(to_string(SampleFrom::automatic), "auto");
  EXPECT_THROW((void)sample_from_string("some"), Error);
  for (const Architecture architecture : {Architecture::gcn, Architecture::gin}) {
    for (const SampleFrom from : {SampleFrom::training, SampleFrom::all}) {
      EXPECT_THROW((void)explain_recipe(test::planted_data({}), {.architecture = architecture, .sample_from = from}),
                   Error);
    }
  }
}

struct FirstEpoch {
  Architecture architecture;
  Precision precision;
  bool of_teacher;
  std::size_t epochs;  ///< of the teacher where there is one
};

/// What default options begin with, over 30 training nodes.
const std::vector<FirstEpoch> first_epochs{
    {Architecture::gcn, Precision::real, false, 1000},
    {Architecture::gcn, Precision::full, true, 1000},
    {Architecture::gcn, Precision::bin, true, 1000},
    {Architecture::inductive_gcn, Precision::real, false, 300},
    {Architecture::inductive_gcn, Precision::full, true, 300},
    {Architecture::inductive_gcn, Precision::bin, true, 300},
    {Architecture::sage, Precision::real, false, 300},
    {Architecture::sage, Precision::full, true, 300},
    {Architecture::sage, Precision::bin, true, 300},
    {Architecture::saint, Precision::real, false, 300},
    {Architecture::saint, Precision::full, true, 300},
    {Architecture::saint, Precision::bin, true, 300},
};

TEST(Preset, SaysWhoIsTaughtAndForHowManyEpochs) {
  const Dataset dataset = test::planted_data({});
  struct Stop {};
  for (const FirstEpoch& row : first_epochs) {
    SCOPED_TRACE(std::string(to_string(row.architecture)) + " " + to_string(row.precision));
    const auto look = [&](const EpochReport& report) {
      EXPECT_EQ(report.of_teacher, row.of_teacher);
      EXPECT_EQ(report.epochs, row.epochs);
      throw Stop();
    };
    EXPECT_THROW((void)train(dataset, {.precision = row.precision, .architecture = row.architecture, .hidden = 4},
                             Device::host(1), look),
                 Stop);
  }
}

TEST(Preset, GivesHiddenWidths) {
  EXPECT_EQ(preset_hidden(Architecture::gcn, "flickr"), 64U);
  EXPECT_EQ(preset_hidden(Architecture::gin, "flickr"), 64U);
  for (const Architecture architecture : {Architecture::inductive_gcn, Architecture::sage, Architecture::saint}) {
    EXPECT_EQ(preset_hidden(architecture, "flickr"), 256U);
    EXPECT_EQ(preset_hidden(architecture, "reddit"), 128U);
  }
}

TEST(Preset, KeepsWhatIsGiven) {
  for (const Recipe& row : recipes) {
    const TrainOptions made =
        preset({.precision = row.precision,
                .architecture = row.architecture,
                .epochs = 7,
                .patience = 3,
                .learning_rate = 0.25F,
                .weight_decay = 0.125F,
                .dropout = 0.0625F,
                .batch_size = 8,
                .fan_outs = {4, 3},
                .walk_roots = 9,
                .walk_length = 5},
               {.training_nodes = row.training_nodes, .mean_degree = 100, .dense_features = row.dense});
    EXPECT_EQ(*made.epochs, 7U);
    EXPECT_EQ(*made.patience, 3U);
    EXPECT_EQ(*made.learning_rate, 0.25F);
    EXPECT_EQ(*made.weight_decay, 0.125F);
    EXPECT_EQ(*made.dropout, 0.0625F);
    EXPECT_EQ(*made.batch_size, 8U);
    EXPECT_EQ(made.fan_outs, (std::vector<std::size_t>{4, 3}));
    EXPECT_EQ(*made.walk_roots, 9U);
    EXPECT_EQ(*made.walk_length, 5U);
  }
}

}  // namespace
}  // namespace bitgraph::nn
