// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/sampling.hpp>

#include "nn/sampling/draws.hpp"

#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace bitgraph::nn {
namespace {

using Nodes = std::vector<NodeId>;

/// Skewed degrees, isolated nodes, a hub.
CsrPattern skewed_graph(std::uint64_t seed) { return test::rmat_pattern(9, 3000, seed); }

/// A hub tied to nodes 1 .. degree.
CsrPattern star(NodeId degree) {
  Nodes rows(degree, 0);
  Nodes cols(degree);
  std::iota(cols.begin(), cols.end(), NodeId{1});
  return csr_from_edges(degree + 1, degree + 1, rows, cols, {.symmetrize = true});
}

Nodes some_nodes(NodeId num_nodes, std::size_t count, std::uint64_t seed) {
  Nodes all(num_nodes);
  std::iota(all.begin(), all.end(), NodeId{0});
  Nodes shuffled;
  shuffle_into(shuffled, all, seed, 0);
  shuffled.resize(std::min<std::size_t>(count, num_nodes));
  return shuffled;
}

bool has_edge(const CsrPattern& graph, NodeId i, NodeId j) { return std::ranges::binary_search(graph.row(i), j); }

/// Everything that a sample promises but its chances.
void expect_sample(const NeighborSample& sample, const CsrPattern& graph, const Nodes& targets,
                   const std::vector<std::size_t>& fan_outs) {
  ASSERT_EQ(sample.layers.size(), fan_outs.size());
  ASSERT_TRUE(std::ranges::equal(std::span(sample.nodes).first(targets.size()), targets));
  EXPECT_EQ(std::set<NodeId>(sample.nodes.begin(), sample.nodes.end()).size(), sample.nodes.size());
  EXPECT_EQ(sample.num_inputs(0), sample.nodes.size());
  EXPECT_EQ(sample.num_targets(fan_outs.size() - 1), targets.size());
  for (std::size_t l = 0; l < fan_outs.size(); ++l) {
    const CsrPattern& layer = sample.layers[l].get();
    layer.validate();
    const std::size_t fan_out = fan_outs[fan_outs.size() - 1 - l];
    std::vector<bool> needed(layer.ncols(), false);
    std::fill_n(needed.begin(), layer.nrows(), true);
    for (NodeId i = 0; i < layer.nrows(); ++i) {
      EXPECT_EQ(layer.row(i).size(), std::min(fan_out, graph.row(sample.nodes[i]).size()));
      for (const NodeId j : layer.row(i)) {
        EXPECT_TRUE(has_edge(graph, sample.nodes[i], sample.nodes[j]));
        needed[j] = true;
      }
    }
    EXPECT_TRUE(std::ranges::all_of(needed, [](bool b) { return b; }));
    EXPECT_TRUE(std::is_sorted(sample.nodes.begin() + layer.nrows(), sample.nodes.begin() + layer.ncols()));
    if (l > 0) {
      EXPECT_EQ(sample.num_inputs(l), sample.num_targets(l - 1));
    }
  }
}

TEST(NeighborSampler, KeepsItsPromises) {
  EXPECT_TRUE(rc::check([] {
    const CsrPattern graph = skewed_graph(*rc::gen::inRange<std::uint64_t>(0, 20));
    const auto fan_outs = *rc::gen::nonEmpty(
        rc::gen::container<std::vector<std::size_t>>(rc::gen::element<std::size_t>(1, 2, 3, 10, 70, all_neighbors)));
    NeighborSampler sampler(graph, fan_outs, *rc::gen::arbitrary<std::uint64_t>());
    NeighborSample sample;
    for (std::uint32_t batch = 0; batch < 3; ++batch) {
      const Nodes targets = some_nodes(graph.nrows(), *rc::gen::inRange<std::size_t>(0, 100), batch);
      sampler.sample_into(sample, targets, 1, batch);
      expect_sample(sample, graph, targets, fan_outs);
      RC_ASSERT(!testing::Test::HasFailure());
    }
  }));
}

/// The statistic of Pearson's test of counts that should all be `expected`.
double chi_square(const std::vector<double>& counts, double expected) {
  double sum = 0;
  for (const double count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

/// Whatever a row is drawn with, it is what Floyd's algorithm makes of below(), or, of many, Knuth's.
TEST(NeighborSampler, DrawsAreThoseOfTheAlgorithms) {
  for (const NodeId degree : {7U, 64U, 65U, 500U, 4096U, 4097U}) {
    const CsrPattern graph = star(degree);
    for (const std::size_t fan_out : {1U, 3U, 6U, 63U, 64U, 65U}) {
      if (fan_out >= degree) continue;
      NeighborSampler sampler(graph, {fan_out}, 7);
      NeighborSample sample;
      for (std::uint32_t batch = 0; batch < 20; ++batch) {
        sampler.sample_into(sample, Nodes{0}, 3, batch);
        NodeDraws draws(seed_of_batch(7, Draw::neighbors, 3, batch), 0, 0);
        std::set<NodeId> expected;
        for (std::size_t n = 0; fan_out > 64 && expected.size() < fan_out; ++n) {
          if (draws.below(degree - n) < fan_out - expected.size()) expected.insert(static_cast<NodeId>(n + 1));
        }
        for (std::size_t last = degree - fan_out; fan_out <= 64 && last < degree; ++last) {
          const NodeId drawn = draws.below(last + 1) + 1;
          if (!expected.insert(drawn).second) expected.insert(static_cast<NodeId>(last + 1));
        }
        ASSERT_TRUE(std::ranges::equal(std::span(sample.nodes).subspan(1), expected)) << degree << " " << fan_out;
      }
    }
  }
}

TEST(NeighborSampler, EverySetOfNeighborsIsEquallyLikely) {
  const CsrPattern graph = star(6);
  NeighborSampler sampler(graph, {3}, 7);
  NeighborSample sample;
  const Nodes hub{0};
  std::map<Nodes, double> seen;
  constexpr std::uint32_t draws = 8000;
  for (std::uint32_t batch = 0; batch < draws; ++batch) {
    sampler.sample_into(sample, hub, batch / 100, batch % 100);
    ++seen[Nodes(sample.nodes.begin() + 1, sample.nodes.end())];
  }
  ASSERT_EQ(seen.size(), 20U);  // 6 over 3
  std::vector<double> counts;
  for (const auto& [nodes, count] : seen) counts.push_back(count);
  EXPECT_LT(chi_square(counts, draws / 20.0), 43.8);  // 19 degrees of freedom: exceeded once in 1,000 times
}

TEST(NeighborSampler, EveryNeighborIsEquallyLikelyWhateverTheFanOut) {
  constexpr NodeId degree = 100;
  const CsrPattern graph = star(degree);
  const Nodes hub{0};
  for (const std::size_t fan_out :
       {std::size_t{1}, std::size_t{10}, std::size_t{64}, std::size_t{65}, std::size_t{90}}) {
    NeighborSampler sampler(graph, {fan_out}, 11);
    NeighborSample sample;
    std::vector<double> counts(degree, 0);
    constexpr std::uint32_t draws = 2000;
    for (std::uint32_t batch = 0; batch < draws; ++batch) {
      sampler.sample_into(sample, hub, 0, batch);
      for (std::size_t n = 1; n < sample.nodes.size(); ++n) ++counts[sample.nodes[n] - 1];
    }
    const double share = static_cast<double>(fan_out) / degree;
    // Without replacement the counts vary less than Pearson's test takes them to: by the share that is not drawn.
    const double statistic = chi_square(counts, draws * share) / (1 - share) * (degree - 1) / degree;
    EXPECT_LT(statistic, 148.2) << fan_out;  // 99 degrees of freedom: exceeded once in 1,000 times
    EXPECT_GT(statistic, 60.0) << fan_out;   // fallen short of as rarely
  }
}

TEST(NeighborSampler, ThreadsDoNotMatterAndKeysDo) {
  const CsrPattern graph = test::rmat_pattern(13, 60'000, 3);
  const Nodes targets = some_nodes(graph.nrows(), 512, 1);
  const auto sampled = [&](std::uint64_t seed, std::uint32_t epoch, std::uint32_t batch, const Device& device) {
    NeighborSampler sampler(graph, {25, 10}, seed, device);
    NeighborSample sample;
    sampler.sample_into(sample, targets, epoch, batch);
    return sample;
  };
  const NeighborSample expected = sampled(1, 2, 3, Device::host(1));
  test::with_thread_counts([&](const Device& device) {
    const NeighborSample actual = sampled(1, 2, 3, device);
    EXPECT_EQ(actual.nodes, expected.nodes);
    for (std::size_t l = 0; l < 2; ++l) EXPECT_EQ(actual.layers[l].get(), expected.layers[l].get());
  });
  for (const NeighborSample& other : {sampled(2, 2, 3, {}), sampled(1, 3, 3, {}), sampled(1, 2, 4, {})}) {
    EXPECT_NE(other.nodes, expected.nodes);
  }
}

TEST(NeighborSampler, SmallAndOdd) {
  const Nodes none_of_them;
  const CsrPattern empty = csr_from_edges(0, 0, none_of_them, none_of_them);
  NeighborSampler of_nothing(empty, {5, 5}, 1);
  NeighborSample sample;
  of_nothing.sample_into(sample, none_of_them, 0, 0);
  expect_sample(sample, empty, {}, {5, 5});
  const CsrPattern isolated = csr_from_edges(3, 3, none_of_them, none_of_them);
  NeighborSampler of_isolated(isolated, {5}, 1);
  of_isolated.sample_into(sample, Nodes{2, 0}, 0, 0);
  expect_sample(sample, isolated, {2, 0}, {5});
  const CsrPattern pair = star(1);
  NeighborSampler of_pair(pair, {5, 1, all_neighbors}, 1);
  of_pair.sample_into(sample, none_of_them, 0, 0);
  expect_sample(sample, pair, {}, {5, 1, all_neighbors});
  of_pair.sample_into(sample, Nodes{1}, 0, 0);
  EXPECT_EQ(sample.nodes, (Nodes{1, 0}));
  const Nodes loop{1};
  const CsrPattern with_loop = csr_from_edges(2, 2, loop, loop);
  NeighborSampler of_loop(with_loop, {5}, 1);
  of_loop.sample_into(sample, Nodes{1}, 0, 0);
  EXPECT_EQ(sample.nodes, (Nodes{1}));
  EXPECT_EQ(sample.layers[0].get().nvals(), 1U);
}

TEST(NeighborSampler, RefusesWhatIsWrongAndGoesOn) {
  const CsrPattern graph = star(5);
  NeighborSampler sampler(graph, {2}, 1);
  NeighborSample sample;
  test::expect_usage_error([&] { sampler.sample_into(sample, Nodes{3, 1, 3}, 0, 0); }, "target 3 stands twice");
  test::expect_usage_error(
      [&] {
        sampler.sample_into(sample, Nodes{3, 6}, 0, 0);
      },
      "target 6 is no node of a graph of 6");
  sampler.sample_into(sample, Nodes{3, 1}, 0, 0);
  expect_sample(sample, graph, {3, 1}, {2});
  test::expect_usage_error([&] { NeighborSampler(graph, {}, 1); }, "fan-out");
  test::expect_usage_error([&] { NeighborSampler(graph, {3, 0}, 1); }, "fan-out");
  const CsrPattern wide = test::random_pattern(3, 4, 0.5, 1);
  test::expect_usage_error([&] { NeighborSampler(wide, {3}, 1); }, "square");
}

/// All edges between the nodes, looked up one by one.
void expect_induced(const CsrPattern& part, const CsrPattern& graph, const Nodes& nodes) {
  ASSERT_EQ(part.nrows(), nodes.size());
  ASSERT_EQ(part.ncols(), nodes.size());
  part.validate();
  EdgeOffset inside = 0;
  for (const NodeId i : nodes) {
    for (const NodeId j : graph.row(i)) inside += std::ranges::binary_search(nodes, j) ? 1U : 0U;
  }
  EXPECT_EQ(part.nvals(), inside);
  for (NodeId i = 0; i < part.nrows(); ++i) {
    for (const NodeId j : part.row(i)) EXPECT_TRUE(has_edge(graph, nodes[i], nodes[j]));
  }
}

TEST(RandomWalkSampler, GivesTheSubgraphOfWhatWasMet) {
  EXPECT_TRUE(rc::check([] {
    const CsrPattern graph = skewed_graph(*rc::gen::inRange<std::uint64_t>(0, 20));
    const Nodes roots = some_nodes(graph.nrows(), *rc::gen::inRange<std::size_t>(0, 100), 5);
    const RandomWalkOptions options{.num_roots = *rc::gen::inRange<std::size_t>(1, 40),
                                    .walk_length = *rc::gen::inRange<std::size_t>(0, 5),
                                    .seed = *rc::gen::arbitrary<std::uint64_t>()};
    RandomWalkSampler sampler(graph, roots, options);
    SubgraphSample sample;
    for (std::uint32_t batch = 0; batch < 3; ++batch) {
      sampler.sample_into(sample, 0, batch);
      RC_ASSERT(std::ranges::is_sorted(sample.nodes));
      RC_ASSERT(!sample.nodes.empty());
      RC_ASSERT(sample.nodes.size() <= options.num_roots * (options.walk_length + 1));
      expect_induced(sample.pattern.get(), graph, sample.nodes);
      if (options.walk_length == 0 && !roots.empty()) {
        for (const NodeId i : sample.nodes) RC_ASSERT(std::ranges::find(roots, i) != roots.end());
      }
      RC_ASSERT(sample.loss_weight.empty() && sample.entry_scale.empty());
      RC_ASSERT(!testing::Test::HasFailure());
    }
  }));
}

TEST(RandomWalkSampler, CoefficientsMakeSumsRightOnAverage) {
  const CsrPattern graph = test::rmat_pattern(7, 600, 1);
  RandomWalkSampler sampler(graph, {}, {.num_roots = 30, .walk_length = 2, .seed = 4});
  constexpr std::uint32_t samples = test::sanitized ? 500 : 20'000;
  sampler.estimate(samples);
  std::vector<double> loss(graph.nrows(), 0);
  std::vector<double> aggregated(graph.nrows(), 0);
  std::vector<double> met(graph.nrows(), 0);
  SubgraphSample sample;
  for (std::uint32_t batch = 0; batch < samples; ++batch) {
    sampler.sample_into(sample, 0, batch);
    ASSERT_EQ(sample.loss_weight.size(), sample.nodes.size());
    ASSERT_EQ(sample.entry_scale.size(), sample.pattern.get().nvals());
    for (NodeId i = 0; i < sample.nodes.size(); ++i) {
      loss[sample.nodes[i]] += sample.loss_weight[i];
      ++met[sample.nodes[i]];
      for (EdgeOffset e = sample.pattern.get().row_ptr()[i]; e < sample.pattern.get().row_ptr()[i + 1]; ++e)
        aggregated[sample.nodes[i]] += sample.entry_scale[e];
    }
  }
  if (test::sanitized) return;  // so few say nothing yet
  // The loss of every node counts once on average, and so does each of its neighbours where it is met.
  for (NodeId i = 0; i < graph.nrows(); ++i) {
    EXPECT_NEAR(loss[i] / samples, 1, 0.1) << i;
    const auto degree = static_cast<double>(graph.row(i).size());
    EXPECT_NEAR(aggregated[i] / met[i], degree, 0.1 * degree) << i;
  }
}

TEST(RandomWalkSampler, StepsAreUniform) {
  constexpr NodeId degree = 20;
  const CsrPattern graph = star(degree);
  const Nodes hub{0};
  RandomWalkSampler sampler(graph, hub, {.num_roots = 1, .walk_length = 1, .seed = 3});
  SubgraphSample sample;
  std::vector<double> counts(degree, 0);
  constexpr std::uint32_t draws = 10'000;
  for (std::uint32_t batch = 0; batch < draws; ++batch) {
    sampler.sample_into(sample, 0, batch);
    ASSERT_EQ(sample.nodes.size(), 2U);
    ++counts[sample.nodes[1] - 1];
  }
  EXPECT_LT(chi_square(counts, draws / double{degree}), 43.8);  // 19 degrees of freedom
}

TEST(RandomWalkSampler, ThreadsDoNotMatterAndKeysDo) {
  const CsrPattern graph = test::rmat_pattern(12, 40'000, 3);
  const auto sampled = [&](std::uint64_t seed, std::uint32_t epoch, std::uint32_t batch, const Device& device) {
    RandomWalkSampler sampler(graph, {}, {.num_roots = 300, .walk_length = 3, .seed = seed}, device);
    sampler.estimate(50);
    SubgraphSample sample;
    sampler.sample_into(sample, epoch, batch);
    return sample;
  };
  const SubgraphSample expected = sampled(1, 2, 3, Device::host(1));
  test::with_thread_counts([&](const Device& device) {
    const SubgraphSample actual = sampled(1, 2, 3, device);
    EXPECT_EQ(actual.nodes, expected.nodes);
    EXPECT_EQ(actual.pattern.get(), expected.pattern.get());
    EXPECT_EQ(actual.loss_weight, expected.loss_weight);
    EXPECT_EQ(actual.entry_scale, expected.entry_scale);
  });
  for (const SubgraphSample& other : {sampled(2, 2, 3, {}), sampled(1, 3, 3, {}), sampled(1, 2, 4, {})}) {
    EXPECT_NE(other.nodes, expected.nodes);
  }
}

TEST(RandomWalkSampler, CoverageAndLimits) {
  const CsrPattern graph = skewed_graph(1);
  RandomWalkSampler sampler(graph, {}, {.num_roots = 50, .walk_length = 2});
  const std::size_t needed = sampler.subgraphs_for_coverage(50);
  SubgraphSample sample;
  sampler.sample_into(sample, 0, 0);
  const double about = 50.0 * graph.nrows() / static_cast<double>(sample.nodes.size());
  EXPECT_NEAR(static_cast<double>(needed), about, 0.5 * about);
  EXPECT_EQ(sampler.subgraphs_for_coverage(1e9), 65'535U);
  test::expect_usage_error([&] { sampler.estimate(0); }, "0 subgraphs");
  test::expect_usage_error([&] { sampler.estimate(65'536); }, "65536 subgraphs");
  test::expect_usage_error([&] { RandomWalkSampler(graph, Nodes{9999}, {}); }, "root 9999");
  test::expect_usage_error([&] { RandomWalkSampler(graph, {}, {.num_roots = 0}); }, "root");
  const Nodes none_of_them;
  const CsrPattern empty = csr_from_edges(0, 0, none_of_them, none_of_them);
  test::expect_usage_error([&] { RandomWalkSampler(empty, {}, {}); }, "no nodes");
  const CsrPattern isolated = csr_from_edges(3, 3, none_of_them, none_of_them);
  RandomWalkSampler alone(isolated, Nodes{2}, {.num_roots = 5, .walk_length = 4});
  alone.estimate(3);
  alone.sample_into(sample, 0, 0);
  EXPECT_EQ(sample.nodes, Nodes{2});
  EXPECT_EQ(sample.loss_weight, std::vector<float>{1});
  EXPECT_TRUE(sample.entry_scale.empty());
}

TEST(InducedSubgraph, HasAllEdgesBetweenItsNodes) {
  const CsrPattern graph = skewed_graph(2);
  for (const std::size_t count : {0U, 1U, 64U, 300U, 512U}) {
    Nodes nodes = some_nodes(graph.nrows(), count, 9);
    std::ranges::sort(nodes);
    expect_induced(induced_subgraph(graph, nodes), graph, nodes);
  }
  Nodes all(graph.nrows());
  std::iota(all.begin(), all.end(), NodeId{0});
  EXPECT_EQ(induced_subgraph(graph, all), graph);
  test::expect_usage_error([&] { (void)induced_subgraph(graph, Nodes{3, 2}); }, "element 1 is node 2");
  test::expect_usage_error([&] { (void)induced_subgraph(graph, Nodes{512}); }, "element 0 is node 512");
}

TEST(Shuffle, IsAnOrderOfItsOwnForEachEpoch) {
  Nodes nodes(1000);
  std::iota(nodes.begin(), nodes.end(), NodeId{7});
  Nodes first;
  Nodes second;
  shuffle_into(first, nodes, 1, 0);
  shuffle_into(second, nodes, 1, 1);
  EXPECT_NE(first, second);
  shuffle_into(second, nodes, 1, 0);
  EXPECT_EQ(first, second);
  EXPECT_NE(first, nodes);
  std::ranges::sort(first);
  EXPECT_EQ(first, nodes);
}

}  // namespace
}  // namespace bitgraph::nn
