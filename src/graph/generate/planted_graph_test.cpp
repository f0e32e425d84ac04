// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/generate.hpp>

#include "support/everywhere.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

std::size_t largest_degree(const CsrPattern& a) {
  std::size_t largest = 0;
  for (NodeId i = 0; i < a.nrows(); ++i) largest = std::max(largest, a.row(i).size());
  return largest;
}

void expect_near_target(const CsrPattern& a, EdgeOffset num_entries) {
  const auto target = static_cast<double>(num_entries);
  EXPECT_NEAR(static_cast<double>(a.nvals()), target, 0.01 * target);
}

TEST(PlantedGraph, PresetsHaveTheirSizes) {
  struct Case {
    const char* name;
    NodeId nodes;
    EdgeOffset entries;
    std::int32_t classes;
    std::size_t features;
    std::size_t hub;  ///< the largest degree, about
  };
  const std::array<Case, 3> cases{{{"flickr", 89'250, 899'756, 7, 500, 5'425},
                                   {"reddit", 232'965, 114'615'892, 41, 602, 21'657},
                                   {"arxiv", 169'343, 2'500'000, 40, 128, 13'161}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const PlantedGraphOptions options = planted_graph_preset(c.name);
    EXPECT_EQ(options.num_nodes, c.nodes);
    EXPECT_EQ(options.num_entries, c.entries);
    EXPECT_EQ(options.num_classes, c.classes);
    EXPECT_EQ(options.num_features, c.features);
    if (c.entries > 10'000'000) continue;  // too many for a test
    const CsrPattern a = generate_planted_pattern(options);
    EXPECT_EQ(a.nrows(), c.nodes);
    expect_near_target(a, c.entries);
    EXPECT_GT(largest_degree(a), c.hub / 2);
    EXPECT_LT(largest_degree(a), c.hub * 2);
  }
  const PlantedGraphOptions small = planted_graph_preset("reddit", 100);
  EXPECT_EQ(small.num_nodes, 2'330U);
  EXPECT_EQ(small.num_entries, 1'146'159U);
}

TEST(PlantedGraph, PresetsOfQgtcHaveTheSizesOfTable1) {
  struct Case {
    const char* name;
    NodeId nodes;
    EdgeOffset edges;
    std::size_t features;
    std::int32_t classes;
  };
  const std::array<Case, 6> table{{{"proteins", 43'471, 162'088, 29, 2},
                                   {"artist", 50'515, 1'638'396, 100, 12},
                                   {"blogcatalog", 88'784, 2'093'195, 128, 39},
                                   {"ppi", 56'944, 818'716, 50, 121},
                                   {"ogbn-arxiv", 169'343, 1'166'243, 128, 40},
                                   {"ogbn-products", 2'449'029, 61'859'140, 100, 47}}};
  for (const Case& c : table) {
    SCOPED_TRACE(c.name);
    const PlantedGraphOptions options = planted_graph_preset(c.name);
    EXPECT_EQ(options.num_nodes, c.nodes);
    EXPECT_EQ(options.num_entries, 2 * c.edges);
    EXPECT_EQ(options.num_features, c.features);
    EXPECT_EQ(options.num_classes, c.classes);
    EXPECT_NEAR(options.split.train + options.split.validation + options.split.test, 1, 1e-9);
    // The whole graphs have up to 124 million entries: too many for a test.
    const PlantedGraphOptions small = planted_graph_preset(c.name, 20);
    const CsrPattern a = generate_planted_pattern(small);
    EXPECT_EQ(a.nrows(), small.num_nodes);
    if (a.nvals() < 1'000'000) expect_near_target(a, small.num_entries);
  }
}

TEST(PlantedGraph, EntriesComeNearTheTargetWhateverTheShape) {
  for (const double exponent : {2.05, 2.5, 4.0, 100.0}) {
    for (const double homophily : {0.0, 0.7, 0.95}) {
      for (const EdgeOffset entries : {EdgeOffset{20'000}, EdgeOffset{test::sanitized ? 100'000 : 400'000}}) {
        PlantedGraphOptions options{.num_nodes = 3'001, .num_entries = entries};
        options.exponent = exponent;
        options.homophily = homophily;
        const CsrPattern a = generate_planted_pattern(options);
        SCOPED_TRACE(testing::Message() << exponent << " " << homophily << " " << entries);
        a.validate();
        EXPECT_TRUE(is_symmetric(a));
        EXPECT_EQ(num_self_loops(a), 0U);
        expect_near_target(a, entries);
      }
    }
  }
}

TEST(PlantedGraph, DegreesFallAsAPower) {
  PlantedGraphOptions options{.num_nodes = 50'000, .num_entries = 1'000'000};
  options.exponent = 2.5;
  const CsrPattern a = generate_planted_pattern(options);
  std::vector<double> degrees;
  for (NodeId i = 0; i < a.nrows(); ++i) degrees.push_back(static_cast<double>(a.row(i).size()));
  std::ranges::sort(degrees, std::greater<>());
  // Far from the hubs the degree of rank r goes as r^(-1 / (exponent - 1)).
  const double slope = std::log(degrees[30'000] / degrees[1'000]) / std::log(30.0);
  EXPECT_NEAR(slope, -1 / 1.5, 0.08);
  EXPECT_GT(degrees[0], 50 * degrees[25'000]);
}

TEST(PlantedGraph, ClassesAreEqualAndEdgesKeepToThem) {
  PlantedGraphOptions options{.num_nodes = 5'003, .num_entries = 60'000, .num_classes = 5};
  options.homophily = 0.75;
  options.label_noise = 0;
  const Dataset dataset = generate_planted_graph(options);
  std::array<std::size_t, 5> sizes{};
  for (const std::int32_t label : dataset.labels) ++sizes.at(static_cast<std::size_t>(label));
  EXPECT_LE(*std::ranges::max_element(sizes) - *std::ranges::min_element(sizes), 1U);
  std::size_t same = 0;
  for (NodeId i = 0; i < dataset.graph.nrows(); ++i) {
    for (const NodeId j : dataset.graph.row(i)) same += dataset.labels[i] == dataset.labels[j] ? 1U : 0U;
  }
  // One in five of the other edges joins a class by chance; among hubs more of a class's draws are drawn twice.
  EXPECT_NEAR(static_cast<double>(same) / static_cast<double>(dataset.graph.nvals()), 0.8, 0.05);
}

TEST(PlantedGraph, LabelsFeaturesAndSplitFollowTheOptions) {
  PlantedGraphOptions options{.num_nodes = 4'000, .num_entries = 20'000, .num_classes = 4, .num_features = 31};
  options.feature_signal = 1;
  options.label_noise = 0;
  options.split = {.train = 0.5, .validation = 0.3, .test = 0.2};
  const Dataset clean = generate_planted_graph(options);
  EXPECT_TRUE(clean.has_dense_features());
  EXPECT_EQ(clean.num_features(), 31U);
  EXPECT_EQ(clean.train.size(), 2'000U);
  EXPECT_EQ(clean.validation.size(), 1'200U);
  EXPECT_EQ(clean.test.size(), 800U);
  // Within a class, noise of mean 0 and deviation 1 about one mean; the means differ.
  double largest_gap = 0;
  for (std::size_t f = 0; f < 31; ++f) {
    std::array<double, 4> sum{}, squares{}, count{};
    for (NodeId i = 0; i < 4'000; ++i) {
      const auto c = static_cast<std::size_t>(clean.labels[i]);
      const double x = clean.dense_features(i, f);
      sum.at(c) += x;
      squares.at(c) += x * x;
      ++count.at(c);
    }
    for (std::size_t c = 0; c < 4; ++c) {
      const double mean = sum.at(c) / count.at(c);
      EXPECT_NEAR(squares.at(c) / count.at(c) - mean * mean, 1, 0.2);
      largest_gap = std::max(largest_gap, std::abs(mean - sum.at((c + 1) % 4) / count.at((c + 1) % 4)));
    }
  }
  EXPECT_GT(largest_gap, 1);
  options.label_noise = 0.2;
  const Dataset noisy = generate_planted_graph(options);
  EXPECT_EQ(noisy.graph, clean.graph);
  std::size_t changed = 0;
  for (NodeId i = 0; i < 4'000; ++i) changed += noisy.labels[i] != clean.labels[i] ? 1U : 0U;
  EXPECT_NEAR(static_cast<double>(changed) / 4'000, 0.2 * 3 / 4, 0.03);
}

TEST(PlantedGraph, ThreadsDoNotMatterAndSeedsDo) {
  PlantedGraphOptions options{.num_nodes = 3'000, .num_entries = 80'000, .num_features = 13};
  const Dataset expected = generate_planted_graph(options, Device::host(1));
  test::with_thread_counts([&](const Device& device) {
    const Dataset actual = generate_planted_graph(options, device);
    EXPECT_EQ(actual.graph, expected.graph);
    EXPECT_EQ(actual.labels, expected.labels);
    EXPECT_EQ(actual.train, expected.train);
    test::expect_identical(actual.dense_features.values(), expected.dense_features.values());
    EXPECT_EQ(generate_planted_pattern(options, device), expected.graph);
  });
  options.seed = 1;
  EXPECT_FALSE(generate_planted_pattern(options) == expected.graph);
}

TEST(PlantedGraph, SmallAndImpossible) {
  EXPECT_EQ(generate_planted_pattern({.num_nodes = 2, .num_entries = 0, .num_classes = 1}).nvals(), 0U);
  PlantedGraphOptions pair{.num_nodes = 3, .num_entries = 2, .num_classes = 1, .num_features = 1};
  pair.split = {.train = 0.4, .validation = 0.3, .test = 0.3};
  EXPECT_EQ(generate_planted_graph(pair).train.size(), 1U);
  const auto refused = [](PlantedGraphOptions options, const char* what) {
    test::expect_usage_error([&] { (void)generate_planted_pattern(options); }, what);
  };
  refused({.num_nodes = 1, .num_classes = 1}, "two nodes");
  refused({.num_nodes = 5, .num_classes = 6}, "one node a class");
  refused({.num_features = 0}, "feature");
  refused({.exponent = 2}, "exponent");
  refused({.homophily = 1.5}, "shares");
  refused({.num_nodes = 100, .num_entries = 10'000}, "more than");  // all pairs make 9,900
  test::expect_usage_error([] { (void)planted_graph_preset("cora"); }, "use flickr, reddit, arxiv, proteins");
  test::expect_usage_error([] { (void)planted_graph_preset("reddit", 0.5); }, "at least 1");
}

}  // namespace
}  // namespace bitgraph
