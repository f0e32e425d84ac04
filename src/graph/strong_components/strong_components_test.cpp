// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/components.hpp>

#include "support/cuda_graph_cases.hpp"
#include "support/everywhere.hpp"
#include "support/graph_cases.hpp"

#include <rapidcheck/gtest.h>

#include <vector>

namespace bitgraph {
namespace {

std::vector<bool> reached_from(const CsrPattern& a, NodeId start) {
  std::vector<bool> reached(a.nrows());
  std::vector<NodeId> stack{start};
  reached[start] = true;
  while (!stack.empty()) {
    const NodeId i = stack.back();
    stack.pop_back();
    for (const NodeId j : a.row(i)) {
      if (!reached[j]) stack.push_back(j);
      reached[j] = true;
    }
  }
  return reached;
}

/// For every label: it is a node that reaches exactly those of its label both ways, and the smallest of them.
void verify(const CsrPattern& a, const Components& found) {
  ASSERT_EQ(found.label.size(), a.nrows());
  const CsrPattern back = transpose(a);
  NodeId count = 0;
  for (NodeId i = 0; i < a.nrows(); ++i) {
    ASSERT_LE(found.label[i], i);
    ASSERT_EQ(found.label[found.label[i]], found.label[i]);
    if (found.label[i] != i) continue;
    ++count;
    const std::vector<bool> leads_to = reached_from(a, i);
    const std::vector<bool> led_from = reached_from(back, i);
    for (NodeId j = 0; j < a.nrows(); ++j) {
      ASSERT_EQ(found.label[j] == i, leads_to[j] && led_from[j]) << i << " and " << j;
    }
  }
  EXPECT_EQ(found.count, count);
}

TEST(StrongComponents, AreStrongComponents) {
  std::vector<test::GraphCase> cases = test::directed_cases();
  for (test::GraphCase& undirected : test::undirected_cases()) cases.push_back(std::move(undirected));
  for (const test::GraphCase& graph_case : cases) {
    const CsrPattern& pattern = graph_case.pattern;
    SCOPED_TRACE(graph_case.name);
    const Components once = strongly_connected_components(pack_graph(pattern));
    verify(pattern, once);
    test::for_each_packing(pattern, Device::host(2), [&](const PackedGraph& graph) {
      StronglyConnectedComponents search(graph);  // symmetric graphs too
      const Components& found = search.run();
      EXPECT_EQ(found.count, once.count);
      EXPECT_TRUE(std::equal(found.label.begin(), found.label.end(), once.label.begin()));
    });
  }
}

TEST(StrongComponents, ALongCycleAndALongPath) {
  constexpr NodeId n = 200000;
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  for (NodeId i = 0; i + 1 < n; ++i) rows.push_back(i), cols.push_back(i + 1);
  EXPECT_EQ(strongly_connected_components(pack_graph(csr_from_edges(n, n, rows, cols))).count, n);
  rows.push_back(n - 1);
  cols.push_back(0);
  EXPECT_EQ(strongly_connected_components(pack_graph(csr_from_edges(n, n, rows, cols))).count, 1U);
}

TEST(StrongComponents, ARepeatedRunAllocatesNothing) {
  const Device device = Device::host(2);
  const CsrPattern pattern = test::random_pattern(800, 800, 0.002, 3, device);
  const PackedGraph graph = pack_graph(pattern, {.with_transpose = false}, device);
  StronglyConnectedComponents search(graph);
  search.run();
  const std::size_t before = device.memory().allocations;
  const Components& found = search.run();
  EXPECT_EQ(device.memory().allocations, before);
  verify(pattern, found);
}

/// Components in rows, each leading to the next, of every size below 8: what is left falls into many parts.
CsrPattern chain_of_cycles(NodeId n) {
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  NodeId begin = 0;
  for (NodeId size = 1; begin + size < n; size = size % 7 + 1) {
    for (NodeId i = 0; i < size; ++i) {
      rows.push_back(begin + i), cols.push_back(begin + (i + 1) % size);
    }
    rows.push_back(begin), cols.push_back(begin + size);
    begin += size;
  }
  return csr_from_edges(n, n, rows, cols);
}

void compare_on_cuda(const CsrPattern& pattern, const PackedGraph& graph, const Components& expected) {
  StronglyConnectedComponents search(graph);
  for (int repeat = 0; repeat < 2; ++repeat) {
    const Components& found = search.run();
    EXPECT_EQ(found.count, expected.count);
    test::expect_same(expected.label, found.label, *test::cuda_device());
  }
  EXPECT_EQ(strongly_connected_components(graph).count, expected.count) << pattern.nrows();
}

TEST(StrongComponents, OnCuda) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  std::vector<test::GraphCase> cases = test::cases_for_cuda();
  cases.push_back({"chain of cycles", chain_of_cycles(3000)});
  cases.push_back({"around the giant component", test::random_pattern(30000, 30000, 2.0 / 30000, 12)});
  cases.push_back({"just below one", test::random_pattern(30000, 30000, 1.1 / 30000, 13)});
  for (const auto& [name, pattern] : cases) {
    SCOPED_TRACE(name);
    const Components expected = strongly_connected_components(pack_graph(pattern, {.tile_dim = csr_tile}));
    test::for_each_packing(pattern, device, [&, &pattern = pattern](const PackedGraph& graph) {
      compare_on_cuda(pattern, graph, expected);
    });
    compare_on_cuda(pattern, pack_graph(pattern, {.tile_dim = 4, .with_transpose = false}, device), expected);
    compare_on_cuda(pattern, pack_graph(pattern, {.tile_dim = csr_tile, .with_transpose = false}, device), expected);
  }
}

TEST(StrongComponents, ARepeatedRunOnCudaAllocatesNothing) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const PackedGraph graph =
      pack_graph(test::random_pattern(800, 800, 0.002, 3), {.order = Order::degree, .with_transpose = false}, device);
  StronglyConnectedComponents search(graph);
  search.run();
  const std::size_t before = device.memory().allocations;
  search.run();
  EXPECT_EQ(device.memory().allocations, before);
}

RC_GTEST_PROP(StrongComponents, OfRandomGraphs, (std::uint64_t seed)) {
  const auto n = *rc::gen::inRange<NodeId>(1, 120);
  const auto degree = *rc::gen::inRange(0, 30);
  const CsrPattern a = test::random_pattern(n, n, degree * 0.1 / n, seed);
  verify(a, strongly_connected_components(pack_graph(a, {.tile_dim = csr_tile})));
  verify(a, strongly_connected_components(pack_graph(a, {.tile_dim = 16})));
}

}  // namespace
}  // namespace bitgraph
