// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/betweenness.hpp>

#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/temporary_folder.hpp"
#include "support/walk_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace bitgraph {
namespace {

struct AllPairs {
  std::vector<std::vector<std::int32_t>> level;
  std::vector<std::vector<double>> paths;
};

AllPairs all_pairs(const CsrPattern& graph) {
  const NodeId n = graph.nrows();
  AllPairs all{std::vector(n, std::vector<std::int32_t>(n, -1)), std::vector(n, std::vector<double>(n, 0))};
  for (NodeId s = 0; s < n; ++s) {
    auto& level = all.level[s];
    std::vector<NodeId> queue{s};
    level[s] = 0;
    all.paths[s][s] = 1;
    for (std::size_t next = 0; next < queue.size(); ++next) {
      for (const NodeId j : graph.row(queue[next])) {
        if (level[j] < 0) {
          level[j] = level[queue[next]] + 1;
          queue.push_back(j);
        }
        if (level[j] == level[queue[next]] + 1) all.paths[s][j] += all.paths[s][queue[next]];
      }
    }
  }
  return all;
}

/// By the definition: paths through v are those to v times those from it.
std::vector<double> by_definition(const AllPairs& all, const std::vector<NodeId>& sources) {
  const std::size_t n = all.level.size();
  std::vector<double> score(n, 0);
  for (const NodeId s : sources) {
    for (std::size_t t = 0; t < n; ++t) {
      if (t == s || all.level[s][t] < 0) continue;
      for (std::size_t v = 0; v < n; ++v) {
        const bool between = v != s && v != t && all.level[s][v] >= 0 && all.level[v][t] >= 0 &&
                             all.level[s][v] + all.level[v][t] == all.level[s][t];
        if (between) score[v] += all.paths[s][v] * all.paths[v][t] / all.paths[s][t];
      }
    }
  }
  return score;
}

void expect_close(const Buffer<double>& actual, const std::vector<double>& expected, double scale = 1) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t v = 0; v < expected.size(); ++v)
    ASSERT_NEAR(actual[v], expected[v] * scale, 1e-10 * (1 + expected[v])) << "node " << v;
}

TEST(Betweenness, SmallGraphs) {
  for (const auto& test : test::small_graphs()) {
    const AllPairs all = all_pairs(test.graph);
    const NodeId n = test.graph.nrows();
    std::vector<NodeId> nodes(n);
    for (NodeId i = 0; i < n; ++i) nodes[i] = i;
    const auto expected = by_definition(all, nodes);
    const std::vector<NodeId> few = test::some_sources(test.graph);
    const auto from_few = by_definition(all, few);
    for (const int tile_dim : test::all_tile_dims()) {
      SCOPED_TRACE(test.name + ", tile " + std::to_string(tile_dim));
      const PackedGraph packed =
          pack_graph(test.graph, {.tile_dim = tile_dim, .order = Order::degree}, Device::host(2));
      expect_close(betweenness(packed), expected);
      expect_close(betweenness(packed, {.sources = few}), from_few);
      const double pairs = (n - 1.0) * (n - 2.0);
      if (pairs > 0) expect_close(betweenness(packed, {.normalized = true}), expected, 1 / pairs);
    }
  }
}

TEST(Betweenness, ThreadsChangeNothing) {
  const CsrPattern graph = test::rmat_pattern(9, 5000, 3);
  const Buffer<double> one = betweenness(pack_graph(graph, {}, Device::host(1)), {.samples = 40, .seed = 5});
  test::with_thread_counts([&](const Device& device) {
    const Buffer<double> many = betweenness(pack_graph(graph, {}, device), {.samples = 40, .seed = 5});
    EXPECT_TRUE(std::equal(one.begin(), one.end(), many.begin(), many.end()));
  });
  const Buffer<double> other = betweenness(pack_graph(graph), {.samples = 40, .seed = 6});
  EXPECT_FALSE(std::equal(one.begin(), one.end(), other.begin(), other.end()));
}

void compare_on_cuda(const CsrPattern& pattern, const GraphPackOptions& packing, const BetweennessOptions& options) {
  const Device& device = *test::cuda_device();
  const Buffer<double> expected = betweenness(pack_graph(pattern, packing, Device::host(2)), options);
  const PackedGraph graph = pack_graph(pattern, packing, device);
  const Buffer<double> found = betweenness(graph, options);
  EXPECT_EQ(found.device(), device);
  const Buffer<double> brought = found.to(Device{});
  expect_close(brought, {expected.begin(), expected.end()});
  const Buffer<double> again = betweenness(graph, options).to(Device{});
  EXPECT_TRUE(std::equal(brought.begin(), brought.end(), again.begin(), again.end())) << "runs differ";
}

TEST(Betweenness, OnCuda) {
  BITGRAPH_REQUIRE_CUDA();
  for (const auto& test : test::small_graphs()) {
    const NodeId n = test.graph.nrows();
    const std::vector<NodeId> few{n - 1, n / 2, n - 1};  // one of them twice
    for (const int tile_dim : test::all_tile_dims()) {
      SCOPED_TRACE(test.name + ", tile " + std::to_string(tile_dim));
      compare_on_cuda(test.graph, {.tile_dim = tile_dim, .order = Order::degree}, {});
      compare_on_cuda(test.graph, {.tile_dim = tile_dim, .with_transpose = false}, {.sources = few});
    }
    compare_on_cuda(test.graph, {.tile_dim = csr_tile}, {.normalized = true});
  }
}

TEST(Betweenness, ScoresOfLargerGraphsOnCudaAgreeWithTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  for (const auto& test : test::larger_graphs()) {
    SCOPED_TRACE(test.name);
    compare_on_cuda(test.graph, {.tile_dim = csr_tile}, {.samples = 40, .seed = 3});
  }
  // Rows of more edges than a warp adds up, both ways.
  std::vector<std::pair<NodeId, NodeId>> edges;
  for (NodeId i = 2; i < 5000; ++i) {
    edges.emplace_back(i % 7 == 0 ? 1 : 0, i);
    edges.emplace_back(i, 5000 + i % 3);
    if (i % 5 == 0) edges.emplace_back(5000 + i % 3, i % 2);
  }
  for (const bool symmetric : {false, true})
    compare_on_cuda(test::pattern_of(5003, edges, symmetric), {.tile_dim = csr_tile}, {.samples = 50, .seed = 1});
  const PackedGraph grid = pack_graph(test::grid_pattern(601, 601), {}, *test::cuda_device());
  const std::vector<NodeId> sources{180300, 0};
  EXPECT_NE(
      test::message_of(ErrorCode::not_possible, [&] { static_cast<void>(betweenness(grid, {.sources = sources})); })
          .find("node 0 there are more shortest paths"),
      std::string::npos);
  EXPECT_EQ(betweenness(pack_graph(CsrPattern(), {}, *test::cuda_device())).size(), 0U);
}

TEST(Betweenness, Refusals) {
  const PackedGraph packed = pack_graph(test::grid_pattern(3, 3));
  test::expect_usage_error([&] { return betweenness(packed, {.sources = std::vector<NodeId>{9}}); }, "0 to 8");
  EXPECT_EQ(betweenness(pack_graph(CsrPattern())).size(), 0U);
  // C(1200, 600) paths are more than a double counts.
  const PackedGraph grid = pack_graph(test::grid_pattern(601, 601));
  const std::vector<NodeId> corner{0};
  EXPECT_NE(
      test::message_of(ErrorCode::not_possible, [&] { static_cast<void>(betweenness(grid, {.sources = corner})); })
          .find("more shortest paths"),
      std::string::npos);
}

/// A path of 4 nodes by hand: between ends 0 and 3 lie 1 and 2. Sources 0 alone: node 1 is on the paths to 2 and 3.
TEST(Betweenness, IsScaledByTheShareOfNodesThatAreSources) {
  const PackedGraph path = pack_graph(
      csr_from_edges(4, 4, std::vector<NodeId>{0, 1, 2}, std::vector<NodeId>{1, 2, 3}, {.symmetrize = true}));
  const std::vector<NodeId> sources{0};
  const Buffer<double> plain = betweenness(path, {.sources = sources});
  EXPECT_EQ(plain[1], 2);
  EXPECT_EQ(plain[2], 1);
  const Buffer<double> scaled = betweenness(path, {.sources = sources, .normalized = true});
  EXPECT_DOUBLE_EQ(scaled[1], 2.0 * 4 / 1 / 6);
  EXPECT_DOUBLE_EQ(scaled[2], 1.0 * 4 / 1 / 6);
  const Buffer<double> whole = betweenness(path, {.normalized = true});
  EXPECT_DOUBLE_EQ(whole[1], 4.0 / 6);
}

/// As many samples as nodes are all nodes, each once: the scores are the exact ones.
TEST(Betweenness, NoSourceIsDrawnTwice) {
  const PackedGraph graph = pack_graph(test::rmat_pattern(6, 300, 3));
  const Buffer<double> exact = betweenness(graph);
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    const Buffer<double> drawn = betweenness(graph, {.samples = graph.num_nodes(), .seed = seed});
    for (NodeId v = 0; v < graph.num_nodes(); ++v) EXPECT_NEAR(drawn[v], exact[v], 1e-9 * (1 + exact[v]));
  }
}

}  // namespace
}  // namespace bitgraph
