// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/multi_source_bfs.hpp>

#include "support/everywhere.hpp"
#include "support/walk_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <queue>

namespace bitgraph {
namespace {

/// Levels by a plain queue.
std::vector<std::int32_t> levels_from(const CsrPattern& graph, NodeId source) {
  std::vector<std::int32_t> level(graph.nrows(), -1);
  std::queue<NodeId> queue;
  level[source] = 0;
  for (queue.push(source); !queue.empty(); queue.pop()) {
    for (const NodeId j : graph.row(queue.front())) {
      if (level[j] >= 0) continue;
      level[j] = level[queue.front()] + 1;
      queue.push(j);
    }
  }
  return level;
}

void check(const CsrPattern& graph, const std::vector<NodeId>& sources, const MultiSourceBfsResult& result,
           bool with_levels) {
  for (std::size_t s = 0; s < sources.size(); ++s) {
    const auto level = levels_from(graph, sources[s]);
    ASSERT_EQ(result.eccentricity[s], *std::max_element(level.begin(), level.end())) << "source " << sources[s];
    ASSERT_EQ(result.reached[s], std::count_if(level.begin(), level.end(), [](std::int32_t l) { return l >= 0; }));
    for (NodeId i = 0; with_levels && i < graph.nrows(); ++i) ASSERT_EQ(result.level(i, s), level[i]) << "node " << i;
  }
}

std::vector<NodeId> many_sources(const CsrPattern& graph, std::size_t count) {
  std::vector<NodeId> sources(count);
  for (std::size_t s = 0; s < count; ++s) sources[s] = static_cast<NodeId>(random_below({23, 1, 0}, s, graph.nrows()));
  return sources;
}

TEST(MultiSourceBfs, SmallGraphs) {
  test::with_thread_counts([](const Device& device) {
    for (const auto& test : test::small_graphs()) {
      test::every_packing(test, device, [&](const PackedGraph& packed) {
        for (const std::size_t count : {std::size_t{1}, std::size_t{65}}) {
          const auto sources = many_sources(test.graph, count);
          check(test.graph, sources, multi_source_bfs(packed, {sources, true}), true);
        }
      });
    }
  });
}

TEST(MultiSourceBfs, ManySourcesTakeSeveralPasses) {
  for (const auto& test : test::larger_graphs()) {
    const auto sources = many_sources(test.graph, 530);
    test::with_thread_counts([&](const Device& device) {
      for (const int tile_dim : {csr_tile, 8}) {
        SCOPED_TRACE(test.name + ", tile " + std::to_string(tile_dim));
        const auto result = multi_source_bfs(pack_graph(test.graph, {.tile_dim = tile_dim}, device), {sources, false});
        // Every hundredth source, the last one and its neighbours in both passes.
        for (const std::size_t s :
             {std::size_t{0}, std::size_t{127}, std::size_t{511}, std::size_t{512}, sources.size() - 1}) {
          const auto level = levels_from(test.graph, sources[s]);
          ASSERT_EQ(result.eccentricity[s], *std::max_element(level.begin(), level.end()));
          ASSERT_EQ(result.reached[s],
                    std::count_if(level.begin(), level.end(), [](std::int32_t l) { return l >= 0; }));
        }
      }
    });
  }
}

TEST(MultiSourceBfs, ASecondRunAllocatesNothing) {
  const Device device = Device::host(2);
  const CsrPattern graph = test::rmat_pattern(10, 9000, 2);
  const PackedGraph packed = pack_graph(graph, {.order = Order::degree}, device);
  MultiSourceBreadthFirstSearch search(packed, 300);
  const auto sources = many_sources(graph, 300);
  const std::size_t before = device.memory().allocations;
  check(graph, sources, search.run({sources}), false);
  search.run({std::span(sources).first(5)});
  EXPECT_EQ(device.memory().allocations, before);
  test::expect_usage_error([&] { search.run({many_sources(graph, 301)}); }, "301 sources, made for 300");
  test::expect_usage_error([&] { search.run({std::vector<NodeId>{1024}}); }, "0 to 1023");
}

TEST(MultiSourceBfs, NoSourcesAndNoNodes) {
  EXPECT_EQ(multi_source_bfs(pack_graph(test::grid_pattern(3, 3)), {}).reached.size(), 0U);
  EXPECT_EQ(multi_source_bfs(pack_graph(CsrPattern()), {}).reached.size(), 0U);
}

}  // namespace
}  // namespace bitgraph
