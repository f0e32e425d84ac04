// SPDX-License-Identifier: Apache-2.0
// What training chooses: facts to recipe as a table, where the facts come from, and early stopping.
#include "nn/training/recipe/recipe.hpp"
#include "nn/training/recipe/feature_maps.hpp"

#include "support/planted_data.hpp"
#include "support/temporary_folder.hpp"

#include <bitgraph/core/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using test::FeatureKind;

struct Row {
  Architecture architecture;
  Precision precision;
  DataFacts facts;
  Recipe recipe;
};

constexpr DataFacts counts{.row_length = 0.25}, mixed{.negative = true}, dense{.dense = true},
    units{.dense = true, .uneven = true}, tails{.dense = true, .uneven = true, .long_tails = true},
    short_rows{.dense = true, .row_length = 0.01}, long_rows{.negative = true, .row_length = 800};

const std::vector<Row> table{
    {Architecture::gcn, Precision::real, counts, {.normalize_rows = true, .feature_scale = 4}},
    {Architecture::gcn, Precision::real, mixed, {}},
    {Architecture::gcn, Precision::real, dense, {}},
    {Architecture::sage, Precision::real, counts, {.normalize_rows = true}},
    {Architecture::gin, Precision::real, counts, {.normalize_rows = true, .feature_scale = 4, .average = true}},
    {Architecture::inductive_gin, Precision::real, dense, {.average = true}},
    {Architecture::sage, Precision::real, dense, {}},
    {Architecture::gcn, Precision::real, units, {.standardize = true}},
    {Architecture::gcn, Precision::real, tails, {.standardize = true, .medians = true}},
    {Architecture::sage, Precision::of_levels(4, 4, 4), tails, {.standardize = true, .medians = true}},
    {Architecture::inductive_gcn, Precision::bin, tails, {.medians = true, .center = true}},
    {Architecture::gcn, Precision::real, {.uneven = true, .row_length = 5}, {.standardize = true}},
    {Architecture::inductive_gcn,
     Precision::of_levels(8, 8, 8),
     {.uneven = true, .row_length = 0.5},
     {.feature_scale = 8, .standardize = true}},
    {Architecture::inductive_gcn,
     Precision::bin,
     {.uneven = true},
     {.standardize = true, .presence = true, .center = true, .even_scales = true, .teacher_weights = true}},
    {Architecture::gcn, Precision::real, short_rows, {.feature_scale = 400}},
    {Architecture::sage, Precision::real, long_rows, {.feature_scale = 0.005F}},
    {Architecture::gcn, Precision::real, {.dense = true, .row_length = 24.9}, {}},
    {Architecture::gcn, Precision::real, {.dense = true, .row_length = 1}, {}},
    {Architecture::sage, Precision::of_levels(4, 4, 4), units, {.standardize = true}},
    {Architecture::inductive_gcn, Precision::bin, units, {.center = true}},
    {Architecture::gcn,
     Precision::full,
     counts,
     {.presence = true,
      .center = true,
      .even_scales = true,
      .teacher_weights = true,
      .average = true,
      .divergence_weight = 4}},
    {Architecture::gcn,
     Precision::full,
     mixed,
     {.center = true, .even_scales = true, .teacher_weights = true, .average = true, .divergence_weight = 4}},
    {Architecture::gcn,
     Precision::full,
     dense,
     {.center = true, .even_scales = true, .teacher_weights = true, .average = true, .divergence_weight = 4}},
    {Architecture::gcn,
     Precision::bin,
     counts,
     {.presence = true, .center = true, .even_scales = true, .teacher_weights = true, .divergence_weight = 4}},
    {Architecture::gcn, Precision::bin, dense, {.center = true, .divergence_weight = 4}},
    {Architecture::saint,
     Precision::full,
     counts,
     {.presence = true, .center = true, .even_scales = true, .teacher_weights = true, .average = true}},
    {Architecture::inductive_gcn, Precision::bin, dense, {.center = true}},
    {Architecture::gcn,
     Precision::of_levels(4, 4, 4),
     counts,
     {.normalize_rows = true, .feature_scale = 4, .divergence_weight = 4}},
    {Architecture::gin, Precision::of_levels(8, 8, 8), dense, {.average = true, .divergence_weight = 4}},
    {Architecture::saint, Precision::of_levels(4, 4, 4), counts, {.normalize_rows = true}},
};

TEST(Recipe, IsTheTable) {
  for (const Row& row : table) {
    const Recipe made = choose_recipe({.precision = row.precision, .architecture = row.architecture}, row.facts);
    SCOPED_TRACE(std::string(to_string(row.architecture)) + " " + to_string(row.precision) +
                 (row.facts.dense      ? ", dense"
                  : row.facts.negative ? ", mixed"
                                       : ", counts"));
    EXPECT_EQ(made.normalize_rows, row.recipe.normalize_rows);
    EXPECT_EQ(made.feature_scale, row.recipe.feature_scale);
    EXPECT_EQ(made.standardize, row.recipe.standardize);
    EXPECT_EQ(made.medians, row.recipe.medians);
    EXPECT_EQ(made.presence, row.recipe.presence);
    EXPECT_EQ(made.center, row.recipe.center);
    EXPECT_EQ(made.even_scales, row.recipe.even_scales);
    EXPECT_EQ(made.teacher_weights, row.recipe.teacher_weights);
    EXPECT_EQ(made.average, row.recipe.average);
    EXPECT_EQ(made.divergence_weight, row.recipe.divergence_weight);
  }
}

/// Its features are taken by its own rules, and their length was measured by others.
TEST(Recipe, OfAModelToStartFromTakesFeaturesAsItDoes) {
  const DataFacts one_unit{.dense = true, .row_length = 0.01}, uneven{.dense = true, .uneven = true, .row_length = 40};
  Model plain, standardized;
  standardized.input_mean = Buffer<float>(3, 1.0F);
  const auto recipe = [](const Model& start, const DataFacts& facts) {
    return choose_recipe({.precision = Precision::real, .architecture = Architecture::gcn, .start = &start}, facts);
  };
  Model limited;
  limited.input_mean = Buffer<float>(3, 1.0F);
  limited.input_limit = 3;
  EXPECT_TRUE(recipe(limited, uneven).medians);
  EXPECT_FALSE(recipe(standardized, tails).medians);
  for (const Model* start : {&plain, &limited}) {  // signs are those of the data, whatever the float model takes
    const TrainOptions of_signs{.precision = Precision::bin, .architecture = Architecture::gcn, .start = start};
    EXPECT_TRUE(choose_recipe(of_signs, tails).medians);
    EXPECT_FALSE(choose_recipe(of_signs, uneven).medians);
  }
  EXPECT_FALSE(recipe(plain, uneven).standardize);
  EXPECT_EQ(recipe(plain, uneven).feature_scale, 1);
  EXPECT_EQ(recipe(plain, one_unit).feature_scale, 400);
  EXPECT_TRUE(recipe(standardized, one_unit).standardize);
  EXPECT_EQ(recipe(standardized, one_unit).feature_scale, 1);
  EXPECT_EQ(recipe(standardized, uneven).feature_scale, 0.1F);
}

TEST(Recipe, OfUnevenFeaturesIsTold) {
  const auto expect_told = [](FeatureKind kind, const Precision& precision, const std::string& what) {
    const std::string line =
        explain_recipe(test::planted_data({.features = 80, .kind = kind}), {.precision = precision});
    EXPECT_NE(line.find(what), std::string::npos) << line;
  };
  expect_told(FeatureKind::units, Precision::real,
              "features are dense, in units of their own or far from 0: each less its mean and divided by its "
              "deviation");
  expect_told(FeatureKind::tails, Precision::real,
              "features are dense, with long tails: each less its median, in deviations of most values, 3 at most");
  expect_told(FeatureKind::tails, Precision::full, "signs of medians, since they have long tails");
  expect_told(FeatureKind::counts_in_units, Precision::real,
              "features are sparse and not negative, in units of their own: each divided by its size");
  expect_told(FeatureKind::counts_in_units, Precision::full,
              "signs of presence, and batch norm where most nodes have the feature, less their mean");
}

TEST(Recipe, IsToldInOneLine) {
  const Dataset dataset = test::planted_data({});
  const std::string real = explain_recipe(dataset, {.precision = Precision::real});
  EXPECT_NE(real.find("rows divided by their sums, times "), std::string::npos) << real;
  EXPECT_NE(real.find("1000 epochs at most, patience 100, rate 0.01"), std::string::npos) << real;
  const std::string full = explain_recipe(dataset, {.precision = Precision::full, .epochs = 7, .patience = 0});
  EXPECT_NE(full.find("sparse and not negative: signs of presence"), std::string::npos) << full;
  EXPECT_NE(full.find("a float teacher, trained first"), std::string::npos) << full;
  EXPECT_NE(full.find("7 epochs, rate"), std::string::npos) << full;
  EXPECT_EQ(full.find('\n'), std::string::npos);
}

TEST(Recipe, SamplesAreOfAllNodesWhereTrainingNodesHardlyHaveANeighborAmongThem) {
  Dataset dataset = test::planted_data({});
  const auto told = [&](Architecture architecture, SampleFrom from = SampleFrom::automatic) {
    const std::string line =
        explain_recipe(dataset, {.precision = Precision::real, .architecture = architecture, .sample_from = from});
    const std::size_t found = line.find("samples of ");
    return found == std::string::npos ? std::string() : line.substr(found);
  };
  // All training nodes beside one that is none, then by twos.
  std::vector<NodeId> rows = dataset.train, columns(rows.size(), dataset.validation.front());
  rows.insert(rows.end(), columns.begin(), columns.end());
  columns.insert(columns.end(), dataset.train.begin(), dataset.train.end());
  const NodeId nodes = dataset.graph.nrows();
  dataset.graph = csr_from_edges(nodes, nodes, rows, columns);
  EXPECT_EQ(size_of(dataset).neighbors, 1);
  EXPECT_EQ(size_of(dataset).training_neighbors, 0);
  for (const Architecture architecture : {Architecture::sage, Architecture::saint}) {
    EXPECT_EQ(told(architecture), "samples of all nodes: of the 1 neighbours of a training node 0 are training nodes");
  }
  const std::string hint =
      "samples of the training nodes: a training node has 0 of its 1 neighbours there, --sample-from all sees all";
  for (const Architecture architecture : {Architecture::inductive_gcn, Architecture::inductive_gin})
    EXPECT_EQ(told(architecture), hint);
  EXPECT_EQ(told(Architecture::sage, SampleFrom::training), hint);
  EXPECT_EQ(told(Architecture::gcn), "");
  const std::vector<NodeId> others(dataset.train.rbegin(), dataset.train.rend());
  dataset.graph = csr_from_edges(nodes, nodes, dataset.train, others);
  EXPECT_EQ(size_of(dataset).training_neighbors, 1);
  EXPECT_EQ(told(Architecture::sage), "samples of the training nodes");
  EXPECT_EQ(told(Architecture::sage, SampleFrom::all), "samples of all nodes");
}

/// A run that overfits soon.
TrainOptions impatient(Precision precision, const Model* teacher) {
  return {
      .precision = precision, .hidden = 16, .epochs = 200, .patience = 7, .learning_rate = 0.05F, .teacher = teacher};
}

Model teacher_for(const Dataset& dataset) {
  return train(dataset, {.precision = Precision::real, .hidden = 5, .epochs = 20}, Device::host(1)).model;
}

TEST(Patience, EndsTrainingSoManyEpochsAfterTheBest) {
  const Dataset dataset = test::planted_data({.mixing = 0.7});
  const Model teacher = teacher_for(dataset);
  for (const Precision& precision : {Precision::real, Precision::full, Precision::bin}) {
    SCOPED_TRACE(to_string(precision));
    std::size_t last = 0;
    const auto look = [&](const EpochReport& report) { last = report.epoch; };
    TrainOptions options = impatient(precision, precision.multiplies_signs() ? &teacher : nullptr);
    const TrainResult result = train(dataset, options, Device::host(1), look);
    EXPECT_LT(last, 200U);
    // Votes come in after half of the epochs: no epoch before counts.
    EXPECT_EQ(last, std::max<std::size_t>(result.best_epoch, precision.votes() ? 100 : 0) + 7);
    options.patience = 0;
    options.epochs = 120;
    (void)train(dataset, options, Device::host(1), look);
    EXPECT_EQ(last, 120U);
  }
}

TEST(Patience, IsKeptByACheckpoint) {
  const Dataset dataset = test::planted_data({.mixing = 0.7});
  const test::TemporaryFolder folder;
  for (const Precision& precision : {Precision::real, Precision::full}) {
    SCOPED_TRACE(to_string(precision));
    const Model teacher = teacher_for(dataset);
    TrainOptions options = impatient(precision, precision.multiplies_signs() ? &teacher : nullptr);
    const TrainResult whole = train(dataset, options, Device::host(1));
    whole.model.save(folder / "whole.safetensors");
    options.checkpoint = folder / ("state." + to_string(precision));
    options.checkpoint_every = 3;
    // Stopped between the best epoch and the end.
    std::stop_source stop;
    const auto look = [&](const EpochReport& report) {
      if (report.epoch == whole.best_epoch + 4) stop.request_stop();
    };
    EXPECT_THROW((void)train(dataset, options, Device::host(1).with_stop(stop.get_token()), look), Error);
    for (int run = 0; run < 2; ++run) {  // the second finds a run that has ended
      std::size_t last = 0;
      const TrainResult resumed =
          train(dataset, options, Device::host(1), [&](const EpochReport& report) { last = report.epoch; });
      EXPECT_EQ(last, run == 0 ? whole.best_epoch + 7 : 0);
      EXPECT_EQ(resumed.best_epoch, whole.best_epoch);
      resumed.model.save(folder / "resumed.safetensors");
      EXPECT_EQ(test::contents(folder / "whole.safetensors"), test::contents(folder / "resumed.safetensors"));
    }
    options.patience = 8;
    EXPECT_THROW((void)train(dataset, options, Device::host(1)), Error);
  }
}

/// The one line that a data set is refused with.
std::string refusal(const Dataset& dataset) {
  try {
    (void)train(dataset, {});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    return error.what();
  }
  return "none";
}

TEST(Recipe, RefusesDataThatTeachNothing) {
  Dataset dataset = test::planted_data({});
  for (std::int32_t& label : dataset.labels) label = label < 0 ? -1 : 0;
  EXPECT_NE(refusal(dataset).find("fewer than two classes"), std::string::npos) << refusal(dataset);
  dataset = test::planted_data({});
  dataset.features.pattern =
      CsrPattern(dataset.graph.nrows(), 0, Buffer<EdgeOffset>(dataset.graph.nrows() + 1, EdgeOffset{0}), {});
  dataset.features.values = {};
  EXPECT_NE(refusal(dataset).find("has no features"), std::string::npos) << refusal(dataset);
  dataset = test::planted_data({});
  dataset.train.insert(dataset.train.end(), dataset.validation.begin(), dataset.validation.end());
  dataset.validation.clear();
  EXPECT_NE(refusal(dataset).find("no validation nodes, 50 of 72 are for training"), std::string::npos)
      << refusal(dataset);
}

}  // namespace
}  // namespace bitgraph::nn
