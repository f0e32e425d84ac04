// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/bfs.hpp>

#include <bitgraph/io/graph.hpp>

#include "support/datasets.hpp"
#include "support/entry_sets.hpp"
#include "support/everywhere.hpp"
#include "support/walk_cases.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace bitgraph {
namespace {

/// What makes levels right, edge by edge; nothing is searched again.
void verify_levels(const CsrPattern& graph, NodeId source, const BfsResult& result) {
  const NodeId n = graph.nrows();
  ASSERT_EQ(result.level.size(), n);
  std::vector<bool> has_one_before(n, false);
  NodeId reached = 0;
  std::int32_t deepest = -1;
  for (NodeId i = 0; i < n; ++i) {
    ASSERT_GE(result.level[i], -1);
    if (result.level[i] < 0) continue;
    ++reached;
    deepest = std::max(deepest, result.level[i]);
    for (const NodeId j : graph.row(i)) {
      ASSERT_GE(result.level[j], 0) << "an edge leads from the reached node " << i << " to " << j;
      ASSERT_LE(result.level[j], result.level[i] + 1) << "edge " << i << " -> " << j;
      if (result.level[j] == result.level[i] + 1) has_one_before[j] = true;
    }
  }
  for (NodeId i = 0; i < n; ++i) {
    ASSERT_EQ(result.level[i] == 0, i == source) << "node " << i;
    if (result.level[i] > 0) {
      ASSERT_TRUE(has_one_before[i]) << "node " << i;
    }
  }
  EXPECT_EQ(result.reached, reached);
  EXPECT_EQ(result.num_levels, deepest + 1);
}

void verify_parents(const CsrPattern& graph, NodeId source, const BfsResult& result) {
  const NodeId n = graph.nrows();
  ASSERT_EQ(result.parent.size(), n);
  std::vector<NodeId> smallest(n, no_parent);
  for (NodeId i = 0; i < n; ++i) {
    if (result.level[i] < 0) continue;
    for (const NodeId j : graph.row(i)) {
      if (result.level[j] == result.level[i] + 1) smallest[j] = std::min(smallest[j], i);
    }
  }
  smallest[source] = source;
  for (NodeId i = 0; i < n; ++i) ASSERT_EQ(result.parent[i], smallest[i]) << "node " << i;
}

void check_searches(const CsrPattern& graph, const PackedGraph& packed, std::size_t sources = 3) {
  BreadthFirstSearch search(packed);
  for (const NodeId source : test::some_sources(graph, sources)) {
    SCOPED_TRACE("source " + std::to_string(source));
    const BfsResult& result = search.run({.source = source, .parents = true});
    verify_levels(graph, source, result);
    verify_parents(graph, source, result);
  }
}

TEST(Bfs, LevelsAndParentsOfSmallGraphs) {
  test::everywhere([](const Device& device) {
    for (const auto& test : test::small_graphs()) {
      test::every_packing(test, device, [&](const PackedGraph& packed) { check_searches(test.graph, packed); });
    }
  });
}

TEST(Bfs, LevelsAndParentsOfLargerGraphs) {
  for (const auto& test : test::larger_graphs()) {
    test::with_thread_counts([&](const Device& device) {
      test::some_packings(test, device, [&](const PackedGraph& packed) { check_searches(test.graph, packed, 1); });
    });
  }
}

RC_GTEST_PROP(Bfs, ArbitraryGraphs, ()) {
  const CsrPattern graph = test::csr_of(test::arbitrary_square());
  RC_PRE(graph.nrows() > 0);
  const auto source = *rc::gen::inRange<NodeId>(0, graph.nrows());
  const int tile_dim = *rc::gen::elementOf(test::all_tile_dims());
  const bool with_transpose = *rc::gen::arbitrary<bool>();
  const BfsResult result =
      bfs(pack_graph(graph, {.tile_dim = tile_dim, .with_transpose = with_transpose}), {source, true});
  verify_levels(graph, source, result);
  verify_parents(graph, source, result);
  RC_ASSERT(!testing::Test::HasFailure());
}

TEST(Bfs, DataSets) {
  BITGRAPH_DATASETS_OR_SKIP(datasets);
  for (const char* file : {"suitesparse/delaunay_n13.mtx", "snap/wiki-Vote.txt.gz", "metis/power.graph"}) {
    SCOPED_TRACE(file);
    const CsrPattern graph = load_graph(datasets / file).pattern;
    const PackedGraph packed = pack_graph(graph);
    for (const NodeId source : test::some_sources(graph)) {
      const BfsResult result = bfs(packed, {source, true});
      verify_levels(graph, source, result);
      verify_parents(graph, source, result);
    }
  }
}

TEST(Bfs, ASecondRunAllocatesNothing) {
  const Device device = Device::host(2);
  const auto graphs = test::larger_graphs();
  for (const auto& test : graphs) {
    const PackedGraph packed = pack_graph(test.graph, {.order = Order::degree}, device);
    BreadthFirstSearch search(packed);
    search.run({.source = 0, .parents = true});
    const std::size_t before = device.memory().allocations;
    search.run({.source = 5, .parents = true});
    search.run({.source = 6});
    EXPECT_EQ(device.memory().allocations, before);
  }
}

TEST(Bfs, ASourceOutsideTheGraphIsRefused) {
  const PackedGraph packed = pack_graph(test::grid_pattern(3, 3));
  test::expect_usage_error([&] { return bfs(packed, {.source = 9}); }, "nodes are 0 to 8");
  const PackedGraph empty = pack_graph(CsrPattern());
  test::expect_usage_error([&] { return bfs(empty, {.source = 1}); }, "no nodes");
  test::expect_usage_error([&] { return bfs(empty, {.parents = true}); }, "no nodes");
}

}  // namespace
}  // namespace bitgraph
