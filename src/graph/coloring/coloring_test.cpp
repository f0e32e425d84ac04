// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/coloring.hpp>

#include "support/cuda_graph_cases.hpp"
#include "support/everywhere.hpp"
#include "support/graph_cases.hpp"

#include <rapidcheck/gtest.h>

#include <algorithm>

namespace bitgraph {
namespace {

void verify(const CsrPattern& a, const Coloring& found) {
  ASSERT_EQ(found.color.size(), a.nrows());
  const CsrPattern both = without_self_loops(symmetrized(a));
  std::size_t max_degree = 0;
  std::vector<bool> used(static_cast<std::size_t>(found.count));
  for (NodeId i = 0; i < a.nrows(); ++i) {
    ASSERT_GE(found.color[i], 0);
    ASSERT_LT(found.color[i], found.count);
    used[static_cast<std::size_t>(found.color[i])] = true;
    max_degree = std::max(max_degree, both.row(i).size());
    for (const NodeId j : both.row(i)) ASSERT_NE(found.color[i], found.color[j]) << i << " and " << j;
  }
  EXPECT_TRUE(std::all_of(used.begin(), used.end(), [](bool use) { return use; }));
  EXPECT_LE(static_cast<std::size_t>(found.count), max_degree + 1);
}

std::vector<test::GraphCase> all_cases() {
  std::vector<test::GraphCase> cases = test::undirected_cases();
  for (test::GraphCase& directed : test::directed_cases()) cases.push_back(std::move(directed));
  cases.push_back({"larger than a thread takes alone", test::rmat_pattern(13, 60000, 2)});
  return cases;
}

TEST(Coloring, NeighborsDiffer) {
  for (const test::GraphCase& graph_case : all_cases()) {
    const CsrPattern& pattern = graph_case.pattern;
    SCOPED_TRACE(graph_case.name);
    const Coloring serial = greedy_coloring(pack_graph(pattern, {.tile_dim = csr_tile}, Device::host(1)));
    verify(pattern, serial);
    test::with_thread_counts([&](const Device& device) {
      test::for_each_packing(pattern, device, [&](const PackedGraph& graph) {
        const Coloring found = greedy_coloring(graph);
        EXPECT_EQ(found.count, serial.count);
        EXPECT_TRUE(std::equal(found.color.begin(), found.color.end(), serial.color.begin()));
      });
    });
  }
}

TEST(Coloring, KnownGraphsGetTheExpectedNumberOfColors) {
  EXPECT_EQ(greedy_coloring(pack_graph(test::star_pattern(50))).count, 2);
  EXPECT_EQ(greedy_coloring(pack_graph(test::pattern_of(4, {}))).count, 1);
  EXPECT_EQ(greedy_coloring(pack_graph(test::pattern_of(0, {}))).count, 0);
  EXPECT_GE(greedy_coloring(pack_graph(generate_mycielskian(8))).count, 8);
  // A clique of more nodes than are looked for at a time.
  EXPECT_EQ(greedy_coloring(pack_graph(test::random_pattern(150, 150, 40, 1))).count, 150);
}

TEST(Coloring, ARepeatedRunAllocatesNothing) {
  const Device device = Device::host(2);
  const CsrPattern pattern = generate_mesh(80, 60, 1, true, device);
  const PackedGraph graph = pack_graph(pattern, {.order = Order::degree}, device);
  GreedyColoring search(graph);
  search.run();
  const std::size_t before = device.memory().allocations;
  const Coloring& found = search.run();
  EXPECT_EQ(device.memory().allocations, before);
  verify(pattern, found);
}

TEST(Coloring, OnCuda) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const auto& [name, pattern] : test::cases_for_cuda()) {
    SCOPED_TRACE(name);
    const Coloring expected = greedy_coloring(pack_graph(pattern, {.tile_dim = csr_tile}, Device::host(2)), 3);
    test::for_each_packing(pattern, device, [&](const PackedGraph& graph) {
      GreedyColoring search(graph, 3);
      for (int repeat = 0; repeat < 2; ++repeat) {
        const Coloring& found = search.run();
        EXPECT_EQ(found.count, expected.count);
        test::expect_same(expected.color, found.color, device);
      }
    });
    if (is_symmetric(pattern)) continue;
    EXPECT_THROW(static_cast<void>(greedy_coloring(pack_graph(pattern, {.with_transpose = false}, device))), Error);
  }
}

TEST(Coloring, ARepeatedRunOnCudaAllocatesNothing) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const PackedGraph graph = pack_graph(generate_mesh(80, 60, 1, true), {.order = Order::degree}, device);
  GreedyColoring search(graph);
  search.run();
  const std::size_t before = device.memory().allocations;
  search.run();
  EXPECT_EQ(device.memory().allocations, before);
}

RC_GTEST_PROP(Coloring, OfRandomGraphs, (std::uint64_t seed)) {
  const auto n = *rc::gen::inRange<NodeId>(1, 200);
  const auto density = *rc::gen::inRange(0, 40);
  const CsrPattern a = test::random_pattern(n, n, density * 0.01, seed);
  verify(a, greedy_coloring(pack_graph(a, {.tile_dim = csr_tile}), seed));
}

}  // namespace
}  // namespace bitgraph
