// SPDX-License-Identifier: Apache-2.0
#include "nn/training/recipe/facts.hpp"

#include "support/planted_data.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace bitgraph::nn {
namespace {

using test::FeatureKind;

TEST(DataFacts, AreOfTrainingAndValidationNodesAlone) {
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

TEST(DataFacts, RowLengthIsTheRootMeanSquareOfRowsDividedByTheirSums) {
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

TEST(DataFacts, RowLengthIsTheRootMeanSquareOfDenseRowsAndOfRowsOfBothSigns) {
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

TEST(DataFacts, SparseRowsOfSizeOneAreAsLongAsTheRootOfTheirEntries) {
  const Dataset dataset = test::planted_data({.kind = FeatureKind::counts_in_units});
  double entries = 0;
  for (const auto* nodes : {&dataset.train, &dataset.validation}) {
    for (const NodeId node : *nodes) entries += static_cast<double>(dataset.features.pattern.row(node).size());
  }
  const auto rows = static_cast<double>(dataset.train.size() + dataset.validation.size());
  EXPECT_NEAR(measure_facts(dataset).row_length, std::sqrt(entries / rows), 1e-9);
}

TEST(DataFacts, StandardizedRowsAreAsLongAsTheRootOfTheColumnsThatDoNotHoldOneValue) {
  Dataset dataset = test::planted_data({.features = 26, .kind = FeatureKind::units});
  for (std::size_t i = 0; i < dataset.dense_features.nrows(); ++i) dataset.dense_features(i, 3) = 7;
  EXPECT_NEAR(measure_facts(dataset).row_length, 5, 1e-9);
}

/// What is 0 does not count: words that few nodes have are no smaller than others.
TEST(DataFacts, FeaturesAreUnevenWhereOneIsAHundredTimesTheUsualOneOrATenthOfThemAnEighth) {
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

TEST(DataFacts, FeaturesHaveLongTailsWhereAQuarterOfTheirDeviationsAreThreeTimesAsLargeByThemOrATenthTenTimes) {
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
  // Features that hold one value do not count. Where half of the values are one, a larger distance is looked at.
  EXPECT_TRUE(long_tails([&](std::size_t j, double evenly) { return j < 30 ? 5 : j < 33 ? tail(evenly) : evenly; }));
  EXPECT_FALSE(long_tails([](std::size_t, double evenly) { return evenly > 0.85 ? 1.0 : 0.0; }));
  EXPECT_TRUE(long_tails([&](std::size_t, double evenly) { return evenly > 0 ? long_tail(evenly) : 1.0; }));
}

TEST(DataFacts, FeaturesAreUnevenWhereTheirMeanIsThreeDeviationsLong) {
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

}  // namespace
}  // namespace bitgraph::nn
