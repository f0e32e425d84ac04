// SPDX-License-Identifier: Apache-2.0
// What training chooses: facts to recipe as a table, where the facts come from, and early stopping.
#include "nn/training/recipe.hpp"

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

TEST(Recipe, FactsAreOfTrainingAndValidationNodesAlone) {
  Dataset dataset = test::planted_data({});
  const DataFacts before = measure_facts(dataset);
  EXPECT_FALSE(before.dense);
  EXPECT_FALSE(before.negative);
  EXPECT_EQ(before.classes, 3U);
  std::vector<bool> seen(dataset.graph.nrows(), false);
  for (const auto* nodes : {&dataset.train, &dataset.validation}) {
    for (const NodeId node : *nodes) seen[node] = true;
  }
  const auto first_entry = [&](bool of_seen) {
    for (NodeId i = 0; i < dataset.graph.nrows(); ++i) {
      if (seen[i] == of_seen && !dataset.features.pattern.row(i).empty()) return dataset.features.pattern.row_ptr()[i];
    }
    return EdgeOffset{0};
  };
  for (NodeId i = 0; i < dataset.graph.nrows(); ++i) {
    if (!seen[i]) dataset.labels[i] = 0;
  }
  dataset.features.values[first_entry(false)] = -5;
  const DataFacts unseen = measure_facts(dataset);
  EXPECT_FALSE(unseen.negative);
  EXPECT_EQ(unseen.row_length, before.row_length);
  EXPECT_EQ(unseen.classes, 3U);
  dataset.features.values[first_entry(true)] = -5;
  EXPECT_TRUE(measure_facts(dataset).negative);
  EXPECT_GT(measure_facts(dataset).row_length, 1) << "rows are no longer divided by their sums";
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
  EXPECT_FALSE(recipe(plain, uneven).standardize);
  EXPECT_EQ(recipe(plain, uneven).feature_scale, 1);
  EXPECT_EQ(recipe(plain, one_unit).feature_scale, 400);
  EXPECT_TRUE(recipe(standardized, one_unit).standardize);
  EXPECT_EQ(recipe(standardized, one_unit).feature_scale, 1);
  EXPECT_EQ(recipe(standardized, uneven).feature_scale, 0.1F);
}

TEST(Recipe, RowLengthIsTheRootMeanSquareOfRowsDividedByTheirSums) {
  Dataset dataset = test::planted_data({});
  double squares = 0;
  for (const auto* nodes : {&dataset.train, &dataset.validation}) {
    for (const NodeId node : *nodes) {
      ASSERT_FALSE(dataset.features.pattern.row(node).empty());
      const EdgeOffset begin = dataset.features.pattern.row_ptr()[node];
      const EdgeOffset end = dataset.features.pattern.row_ptr()[node + std::size_t{1}];
      for (EdgeOffset e = begin; e < end; ++e) dataset.features.values[e] = 7;
      squares += 1 / static_cast<double>(end - begin);
    }
  }
  const auto rows = static_cast<double>(dataset.train.size() + dataset.validation.size());
  EXPECT_NEAR(measure_facts(dataset).row_length, std::sqrt(squares / rows), 1e-9);
}

TEST(Recipe, RowLengthIsTheRootMeanSquareOfDenseRowsAndOfRowsOfBothSigns) {
  for (const FeatureKind kind : {FeatureKind::dense, FeatureKind::mixed}) {
    Dataset dataset = test::planted_data({.kind = kind});
    double squares = 0;
    for (const auto* nodes : {&dataset.train, &dataset.validation}) {
      for (const NodeId node : *nodes) {
        if (kind == FeatureKind::dense) {
          for (const float v : std::as_const(dataset.dense_features).row(node)) squares += v * v;
        } else {
          const auto& row_ptr = dataset.features.pattern.row_ptr();
          for (EdgeOffset e = row_ptr[node]; e < row_ptr[node + std::size_t{1}]; ++e)
            squares += dataset.features.values[e] * dataset.features.values[e];
        }
      }
    }
    const auto rows = static_cast<double>(dataset.train.size() + dataset.validation.size());
    EXPECT_NEAR(measure_facts(dataset).row_length, std::sqrt(squares / rows), 1e-5);
  }
}

TEST(Recipe, SparseRowsOfSizeOneAreAsLongAsTheRootOfTheirEntries) {
  const Dataset dataset = test::planted_data({.kind = FeatureKind::counts_in_units});
  double entries = 0;
  for (const auto* nodes : {&dataset.train, &dataset.validation}) {
    for (const NodeId node : *nodes) entries += static_cast<double>(dataset.features.pattern.row(node).size());
  }
  const auto rows = static_cast<double>(dataset.train.size() + dataset.validation.size());
  EXPECT_NEAR(measure_facts(dataset).row_length, std::sqrt(entries / rows), 1e-9);
}

TEST(Recipe, SignsOfUnevenFeaturesAreOfPresenceButForThoseThatMostNodesHave) {
  Dataset dataset = test::planted_data({.features = 3, .kind = FeatureKind::counts_in_units});
  // Of ten nodes all have the first feature, five the second and two the third.
  const std::vector<NodeId> nodes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 8, 9};
  const std::vector<NodeId> columns{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2};
  dataset.features.pattern = csr_from_edges(10, 3, nodes, columns);
  dataset.features.values = Buffer<float>(17, 1.0F);
  for (NodeId i = 0; i < 10; ++i)
    dataset.features.values[dataset.features.pattern.row_ptr()[i]] = 100 + static_cast<float>(i);
  const FeatureMap map = sign_map(dataset, {.standardize = true, .presence = true});
  EXPECT_EQ(map.shift[0], 104.5F);
  EXPECT_NEAR(map.scale[0], 1 / std::sqrt(8.25F), 1e-5F);
  EXPECT_EQ(map.shift[1], 0.5F);
  EXPECT_EQ(map.shift[2], 0.5F);
  EXPECT_EQ(sign_map(dataset, {.presence = true}).shift[0], 52.25F);
}

TEST(Recipe, StandardizedRowsAreAsLongAsTheRootOfTheColumnsThatDoNotHoldOneValue) {
  Dataset dataset = test::planted_data({.features = 26, .kind = FeatureKind::units});
  for (std::size_t i = 0; i < dataset.dense_features.nrows(); ++i) dataset.dense_features(i, 3) = 7;
  EXPECT_NEAR(measure_facts(dataset).row_length, 5, 1e-9);
}

/// What is 0 does not count: words that few nodes have are no smaller than others.
TEST(Recipe, FeaturesAreUnevenWhereOneIsAHundredTimesTheUsualOneOrATenthOfThemAnEighth) {
  const auto uneven = [](const auto& size_of) {
    Dataset dataset = test::planted_data({.features = 40, .kind = FeatureKind::dense});
    DenseMatrix<float>& x = dataset.dense_features;
    for (std::size_t i = 0; i < x.nrows(); ++i) {
      for (std::size_t j = 0; j < x.ncols(); ++j) x(i, j) = ((i + j) % 2 == 0 ? 1.0F : -1.0F) * size_of(i, j);
    }
    return measure_facts(dataset).uneven;
  };
  using Size = std::size_t;
  EXPECT_FALSE(uneven([](Size, Size) { return 5.0F; }));
  EXPECT_FALSE(uneven([](Size i, Size j) { return i % (j + 1) == 0 ? 1.0F : 0.0F; }));
  EXPECT_FALSE(uneven([](Size, Size j) { return j == 7 ? 99.0F : 1.0F; }));
  EXPECT_TRUE(uneven([](Size, Size j) { return j == 7 ? 101.0F : 1.0F; }));
  EXPECT_FALSE(uneven([](Size i, Size j) { return j == 7 ? (i % 12 == 0 ? 1000.0F : 0.0F) : 1.0F; }));
  EXPECT_TRUE(uneven([](Size i, Size j) { return j == 7 ? (i % 5 == 0 ? 1000.0F : 0.0F) : 1.0F; }));
  EXPECT_FALSE(uneven([](Size, Size j) { return j < 4 ? 0.001F : 1.0F; }));
  EXPECT_TRUE(uneven([](Size, Size j) { return j < 5 ? 0.12F : 1.0F; }));
  EXPECT_FALSE(uneven([](Size, Size j) { return j < 5 ? 0.13F : 1.0F; }));
  EXPECT_FALSE(uneven([](Size, Size) { return 0.0F; }));
}

TEST(Recipe, FeaturesHaveLongTailsWhereAQuarterOfTheirDeviationsAreThreeTimesAsLargeByThemOrATenthTenTimes) {
  const auto long_tails = [](const auto& value_of, std::size_t count = 100) {
    Dataset dataset = test::planted_data({.nodes = 400, .features = 40, .kind = FeatureKind::dense, .train = count});
    for (std::size_t n = 0; n < count; ++n) {
      const double evenly = (2 * static_cast<double>(n) + 1) / static_cast<double>(count) - 1;  // -1 to 1
      for (std::size_t j = 0; j < 40; ++j)
        dataset.dense_features(dataset.train[n], j) = static_cast<float>(value_of(j, evenly));
    }
    const DataFacts facts = measure_facts(dataset);
    EXPECT_TRUE(facts.uneven || !facts.long_tails);
    return facts.long_tails;
  };
  const auto exponential = [](double evenly) { return -std::log(1 - (evenly + 1) / 2); };
  const auto tail = [](double evenly) { return std::exp(3 * evenly); };
  const auto long_tail = [](double evenly) { return std::exp(8 * evenly); };
  EXPECT_FALSE(long_tails([](std::size_t, double evenly) { return evenly; }));
  EXPECT_FALSE(long_tails([&](std::size_t, double evenly) { return exponential(evenly); }));
  EXPECT_FALSE(long_tails([&](std::size_t j, double evenly) { return j < 9 ? tail(evenly) : evenly; }));
  EXPECT_TRUE(long_tails([&](std::size_t j, double evenly) { return j < 10 ? tail(evenly) : evenly; }));
  EXPECT_FALSE(long_tails([&](std::size_t j, double evenly) { return j < 3 ? long_tail(evenly) : evenly; }));
  EXPECT_TRUE(long_tails([&](std::size_t j, double evenly) { return j < 4 ? long_tail(evenly) : evenly; }));
  EXPECT_FALSE(long_tails([&](std::size_t, double evenly) { return long_tail(evenly); }, 19)) << "few say nothing";
  EXPECT_TRUE(long_tails([&](std::size_t, double evenly) { return long_tail(evenly); }, 20));
  // Features that hold one value do not count, and of those that nearly always do a tenth of the nodes is looked at.
  EXPECT_TRUE(long_tails([&](std::size_t j, double evenly) { return j < 30 ? 5 : j < 33 ? tail(evenly) : evenly; }));
  EXPECT_FALSE(long_tails([](std::size_t, double evenly) { return evenly > 0.85 ? 1.0 : 0.0; }));
  EXPECT_TRUE(long_tails([&](std::size_t, double evenly) { return evenly > 0 ? long_tail(evenly) : 1.0; }));
}

TEST(Recipe, TypicalMapsOfFewRowsOrOfOneValueAreThoseOfMeansAndDeviations) {
  Dataset dataset = test::planted_data({.features = 3, .kind = FeatureKind::tails});
  DenseMatrix<float>& x = dataset.dense_features;
  for (std::size_t i = 0; i < x.nrows(); ++i) x(i, 0) = 7, x(i, 1) = i == 5 ? 1e30F : 0;
  const FeatureMap typical = typical_map(dataset), standard = standard_map(dataset);
  for (const std::size_t j : {0U, 1U}) {
    EXPECT_EQ(typical.shift[j], standard.shift[j]);
    EXPECT_EQ(typical.scale[j], standard.scale[j]);
  }
  EXPECT_LT(typical.shift[2], standard.shift[2]);
  EXPECT_GT(typical.scale[2], standard.scale[2]);
  const FeatureMap signs = sign_map(dataset, {.medians = true, .center = true});
  EXPECT_EQ(signs.shift[2], typical.shift[2]);
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

TEST(Recipe, FeaturesAreUnevenWhereTheirMeanIsThreeDeviationsLong) {
  const auto uneven = [](float mean) {
    Dataset dataset = test::planted_data({.kind = FeatureKind::dense});
    DenseMatrix<float>& x = dataset.dense_features;
    for (std::size_t i = 0; i < dataset.train.size() + dataset.validation.size(); ++i) {
      const NodeId node = i < dataset.train.size() ? dataset.train[i] : dataset.validation[i - dataset.train.size()];
      for (std::size_t j = 0; j < x.ncols(); ++j)
        x(node, j) = (i % 2 == 0 ? 0.1F : -0.1F) + (j % 3 == 0 ? mean : -mean);
    }
    return measure_facts(dataset).uneven;
  };
  EXPECT_FALSE(uneven(0));
  EXPECT_FALSE(uneven(0.29F));
  EXPECT_TRUE(uneven(0.31F));
  EXPECT_TRUE(uneven(1000));
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
