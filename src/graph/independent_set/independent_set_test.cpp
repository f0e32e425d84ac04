// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/independent_set.hpp>

#include "support/cuda_graph_cases.hpp"
#include "support/everywhere.hpp"
#include "support/graph_cases.hpp"

#include <rapidcheck/gtest.h>

#include <cstdlib>

namespace bitgraph {
namespace {

void verify(const CsrPattern& a, const IndependentSet& found) {
  ASSERT_EQ(found.member.size(), a.nrows());
  const CsrPattern both = symmetrized(a);
  NodeId size = 0;
  for (NodeId i = 0; i < a.nrows(); ++i) {
    bool covered = found.member[i] == 1;
    for (const NodeId j : both.row(i)) {
      if (j == i) continue;
      EXPECT_FALSE(found.member[i] == 1 && found.member[j] == 1) << i << " and " << j << " are neighbours";
      covered = covered || found.member[j] == 1;
    }
    EXPECT_TRUE(covered) << i << " could be added";
    EXPECT_LE(found.member[i], 1);
    size += found.member[i];
  }
  EXPECT_EQ(found.size, size);
}

std::vector<test::GraphCase> all_cases() {
  std::vector<test::GraphCase> cases = test::undirected_cases();
  for (test::GraphCase& directed : test::directed_cases()) cases.push_back(std::move(directed));
  cases.push_back({"larger than a thread takes alone", test::rmat_pattern(13, 60000, 2)});
  return cases;
}

TEST(IndependentSet, IsIndependentAndMaximal) {
  for (const test::GraphCase& graph_case : all_cases()) {
    const CsrPattern& pattern = graph_case.pattern;
    SCOPED_TRACE(graph_case.name);
    const IndependentSet serial = maximal_independent_set(pack_graph(pattern, {.tile_dim = csr_tile}, Device::host(1)));
    verify(pattern, serial);
    test::with_thread_counts([&](const Device& device) {
      test::for_each_packing(pattern, device, [&](const PackedGraph& graph) {
        const IndependentSet found = maximal_independent_set(graph);
        EXPECT_EQ(found.size, serial.size);
        EXPECT_TRUE(std::equal(found.member.begin(), found.member.end(), serial.member.begin()));
      });
    });
  }
}

TEST(IndependentSet, SeedsMatter) {
  const CsrPattern pattern = generate_mesh(30, 30, 1);
  const PackedGraph graph = pack_graph(pattern);
  const IndependentSet one = maximal_independent_set(graph, 1);
  const IndependentSet two = maximal_independent_set(graph, 2);
  verify(pattern, one);
  verify(pattern, two);
  EXPECT_FALSE(std::equal(one.member.begin(), one.member.end(), two.member.begin()));
}

TEST(IndependentSet, OfAStarAreItsLeaves) {
  EXPECT_EQ(maximal_independent_set(pack_graph(test::star_pattern(1000))).size, 999U);
}

TEST(IndependentSet, ARepeatedRunAllocatesNothing) {
  const Device device = Device::host(2);
  const CsrPattern pattern = generate_mesh(80, 60, 1, true, device);
  const PackedGraph graph = pack_graph(pattern, {.order = Order::degree}, device);
  MaximalIndependentSet search(graph);
  search.run();
  const std::size_t before = device.memory().allocations;
  const IndependentSet& found = search.run();
  EXPECT_EQ(device.memory().allocations, before);
  verify(pattern, found);
}

TEST(IndependentSet, OnCuda) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const auto& [name, pattern] : test::cases_for_cuda()) {
    SCOPED_TRACE(name);
    const IndependentSet expected =
        maximal_independent_set(pack_graph(pattern, {.tile_dim = csr_tile}, Device::host(2)), 3);
    test::for_each_packing(pattern, device, [&](const PackedGraph& graph) {
      MaximalIndependentSet search(graph, 3);
      for (int repeat = 0; repeat < 2; ++repeat) {
        const IndependentSet& found = search.run();
        EXPECT_EQ(found.size, expected.size);
        test::expect_same(expected.member, found.member, device);
      }
    });
    if (is_symmetric(pattern)) continue;
    EXPECT_THROW(static_cast<void>(maximal_independent_set(pack_graph(pattern, {.with_transpose = false}, device))),
                 Error);
  }
}

TEST(IndependentSet, ARepeatedRunOnCudaAllocatesNothing) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const PackedGraph graph = pack_graph(generate_mesh(80, 60, 1, true), {.order = Order::degree}, device);
  MaximalIndependentSet search(graph);
  search.run();
  const std::size_t before = device.memory().allocations;
  search.run();
  EXPECT_EQ(device.memory().allocations, before);
}

RC_GTEST_PROP(IndependentSet, OfRandomGraphs, (std::uint64_t seed)) {
  const auto n = *rc::gen::inRange<NodeId>(1, 200);
  const auto density = *rc::gen::inRange(0, 20);
  const CsrPattern a = test::random_pattern(n, n, density * 0.01, seed);
  verify(a, maximal_independent_set(pack_graph(a, {.tile_dim = csr_tile}), seed));
}

}  // namespace
}  // namespace bitgraph
