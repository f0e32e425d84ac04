// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/closeness.hpp>

#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/walk_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace bitgraph {
namespace {

/// Levels of all nodes, searching from `source` by a plain queue.
std::vector<std::int32_t> levels_from(const CsrPattern& graph, NodeId source) {
  std::vector<std::int32_t> level(graph.nrows(), -1);
  std::vector<NodeId> queue{source};
  level[source] = 0;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    for (const NodeId j : graph.row(queue[next])) {
      if (level[j] >= 0) continue;
      level[j] = level[queue[next]] + 1;
      queue.push_back(j);
    }
  }
  return level;
}

/// By the definition, from the distances of the sources.
std::vector<double> by_definition(const CsrPattern& graph, const std::vector<NodeId>& sources, ClosenessScore score) {
  const NodeId n = graph.nrows();
  std::vector<double> reaching(n, 0), sum(n, 0), inverse(n, 0), others(n, static_cast<double>(sources.size()));
  for (const NodeId source : sources) {
    const auto level = levels_from(graph, source);
    others[source] -= 1;
    for (NodeId i = 0; i < n; ++i) {
      if (level[i] <= 0) continue;
      reaching[i] += 1;
      sum[i] += level[i];
      inverse[i] += 1.0 / level[i];
    }
  }
  std::vector<double> expected(n, 0);
  for (NodeId i = 0; i < n; ++i) {
    if (reaching[i] == 0) continue;
    expected[i] = score == ClosenessScore::harmonic     ? inverse[i] * (n - 1.0) / others[i]
                  : score == ClosenessScore::unimproved ? reaching[i] / sum[i]
                                                        : reaching[i] / sum[i] * reaching[i] / others[i];
  }
  return expected;
}

void expect_close(const Buffer<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], 1e-12 * (1 + expected[i])) << "node " << i;
}

std::vector<NodeId> all_nodes(const CsrPattern& graph) {
  std::vector<NodeId> nodes(graph.nrows());
  std::iota(nodes.begin(), nodes.end(), NodeId{0});
  return nodes;
}

constexpr std::array scores{ClosenessScore::improved, ClosenessScore::unimproved, ClosenessScore::harmonic};

TEST(Closeness, SmallGraphs) {
  for (const auto& test : test::small_graphs()) {
    std::vector<NodeId> few{test.graph.nrows() - 1};
    if (test.graph.nrows() > 3) few.push_back(1);
    for (const ClosenessScore score : scores) {
      SCOPED_TRACE(test.name);
      const auto expected = by_definition(test.graph, all_nodes(test.graph), score);
      const auto from_few = by_definition(test.graph, few, score);
      test::every_packing(test, Device::host(2), [&](const PackedGraph& packed) {
        expect_close(closeness(packed, {.score = score}), expected);
        expect_close(closeness(packed, {.score = score, .sources = few}), from_few);
      });
    }
  }
}

// More sources than one pass takes, by levels that push and that pull; the same bits for every format and thread count.
TEST(Closeness, SeveralPassesInEveryFormatAndThreadCount) {
  const CsrPattern graph = test::rmat_pattern(10, 5000, 3);
  for (const ClosenessScore score : scores) {
    const Buffer<double> one = closeness(pack_graph(graph, {.tile_dim = csr_tile}, Device::host(1)), {.score = score});
    expect_close(one, by_definition(graph, all_nodes(graph), score));
    test::with_thread_counts([&](const Device& device) {
      for (const int tile_dim : {csr_tile, 8, 64}) {
        const PackedGraph packed = pack_graph(graph, {.tile_dim = tile_dim, .order = Order::degree}, device);
        const Buffer<double> many = closeness(packed, {.score = score});
        EXPECT_TRUE(std::equal(one.begin(), one.end(), many.begin(), many.end())) << "tile " << tile_dim;
      }
    });
  }
}

TEST(Closeness, SamplesAreDrawnBySeedAndAllOfThemAreExact) {
  const CsrPattern graph = test::rmat_pattern(8, 3000, 3);
  const PackedGraph packed = pack_graph(graph);
  const auto same = [](const Buffer<double>& a, const Buffer<double>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  const Buffer<double> drawn = closeness(packed, {.samples = 40, .seed = 5});
  EXPECT_TRUE(same(drawn, closeness(packed, {.samples = 40, .seed = 5})));
  EXPECT_FALSE(same(drawn, closeness(packed, {.samples = 40, .seed = 6})));
  const Buffer<double> exact = closeness(packed);
  EXPECT_FALSE(same(drawn, exact));
  EXPECT_TRUE(same(closeness(packed, {.samples = graph.nrows()}), exact));
  EXPECT_TRUE(same(closeness(packed, {.samples = 100000}), exact));
}

TEST(Closeness, Refusals) {
  const PackedGraph packed = pack_graph(test::grid_pattern(3, 3));
  test::expect_usage_error([&] { return closeness(packed, {.sources = std::vector<NodeId>{9}}); }, "0 to 8");
  test::expect_usage_error(
      [&] {
        return closeness(packed, {.sources = std::vector<NodeId>{3, 1, 3}});
      },
      "source 3 is named twice");
  EXPECT_EQ(closeness(pack_graph(CsrPattern())).size(), 0U);
}

TEST(Closeness, OnCuda) {
  BITGRAPH_REQUIRE_CUDA();
  for (const auto& test : test::small_graphs()) {
    for (const ClosenessScore score : scores) {
      SCOPED_TRACE(test.name);
      const Buffer<double> found = closeness(pack_graph(test.graph, {}, *test::cuda_device()), {.score = score});
      EXPECT_EQ(found.device(), *test::cuda_device());
      expect_close(found.to(Device{}), by_definition(test.graph, all_nodes(test.graph), score));
    }
  }
}

}  // namespace
}  // namespace bitgraph
