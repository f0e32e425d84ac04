// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/pagerank.hpp>

#include "support/everywhere.hpp"
#include "support/graph_cases.hpp"

#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

namespace bitgraph {
namespace {

using test::GraphCase;

/// One exact application of the definition: the edges pushed, in the caller's numbering.
std::vector<double> apply_once(const CsrPattern& a, std::span<const double> rank, double damping) {
  const double n = a.nrows();
  double stranded = 0;
  std::vector<double> after(a.nrows(), 0.0);
  for (NodeId i = 0; i < a.nrows(); ++i) {
    if (a.row(i).empty()) stranded += rank[i];
    for (const NodeId j : a.row(i)) after[j] += damping * rank[i] / static_cast<double>(a.row(i).size());
  }
  for (double& value : after) value += (1 - damping) / n + damping * stranded / n;
  return after;
}

double distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum;
}

double total(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

std::vector<GraphCase> all_cases() {
  std::vector<GraphCase> cases = test::undirected_cases();
  for (GraphCase& directed : test::directed_cases()) cases.push_back(std::move(directed));
  cases.push_back({"wide star", test::star_pattern(20001)});
  return cases;
}

/// A fixed point of the definition, as near as the tolerance says.
void verify(const CsrPattern& a, const PageRankResult& found, const PageRankOptions& options) {
  ASSERT_EQ(found.rank.size(), a.nrows());
  if (a.nrows() == 0) return;
  EXPECT_NEAR(total(found.rank.span()), 1, 1e-11);
  for (const double rank : found.rank) ASSERT_GE(rank, (1 - options.damping) / a.nrows() * (1 - 1e-5));
  EXPECT_TRUE(found.converged);
  EXPECT_LE(found.residual, options.tolerance);
  // One more iteration changes the ranks by no more than the last one did, but for the rounding of single precision.
  const double slack = options.tolerance < 1e-5 ? 1e-12 : 1e-5;
  EXPECT_LE(distance(apply_once(a, found.rank.span(), options.damping), found.rank.span()), options.tolerance + slack);
}

TEST(PageRank, IsAFixedPoint) {
  for (const test::GraphCase& graph_case : all_cases()) {
    const CsrPattern& pattern = graph_case.pattern;
    SCOPED_TRACE(graph_case.name);
    for (const PageRankOptions& options :
         {PageRankOptions{}, PageRankOptions{.tolerance = 1e-11, .max_iterations = 300},
          PageRankOptions{.damping = 0.5, .tolerance = 1e-3}}) {
      test::for_each_packing(pattern, Device::host(2),
                             [&](const PackedGraph& graph) { verify(pattern, pagerank(graph, options), options); });
    }
  }
}

/// Each lane of a short vector adds up more of a hub's neighbours than a lane of a long one.
TEST(PageRank, IsAFixedPointOnEveryInstructionSet) {
  const CsrPattern pattern = test::star_pattern(20001);
  test::everywhere([&](const Device& device) {
    for (const PageRankOptions& options :
         {PageRankOptions{}, PageRankOptions{.tolerance = 1e-11, .max_iterations = 300}}) {
      test::for_each_packing(pattern, device,
                             [&](const PackedGraph& graph) { verify(pattern, pagerank(graph, options), options); });
    }
  });
}

TEST(PageRank, RunsTheRequestedNumberOfIterations) {
  for (const test::GraphCase& graph_case : all_cases()) {
    const CsrPattern& pattern = graph_case.pattern;
    if (pattern.nrows() == 0) continue;
    SCOPED_TRACE(graph_case.name);
    std::vector<double> expected(pattern.nrows(), 1.0 / pattern.nrows());
    for (int iterations = 0; iterations <= 20; ++iterations) {
      if (iterations % 5 == 0) {
        const PageRankResult found =
            pagerank(pack_graph(pattern, {.tile_dim = 8}), {.tolerance = 0, .max_iterations = iterations});
        EXPECT_EQ(found.iterations, iterations);
        EXPECT_LE(distance(found.rank.span(), expected), 2e-6);
        EXPECT_NEAR(total(found.rank.span()), 1, 1e-11);
      }
      expected = apply_once(pattern, expected, 0.85);
    }
  }
}

TEST(PageRank, EveryFormatThreadAndInstructionSet) {
  const CsrPattern pattern = test::random_pattern(700, 700, 0.02, 3);
  const PageRankOptions fixed{.tolerance = 0, .max_iterations = 8};
  const PageRankOptions fine{.damping = 0.5, .tolerance = 1e-13};
  const PageRankResult exact = pagerank(pack_graph(pattern, {.tile_dim = csr_tile}), fine);
  test::for_each_packing(pattern, {}, [&](const PackedGraph& packed) {
    const PageRankResult serial =
        pagerank(pack_graph(pattern, {.tile_dim = packed.tile_dim()}, Device::host(1)), fixed);
    EXPECT_LE(distance(pagerank(packed, fine).rank.span(), exact.rank.span()), 1e-12);
    EXPECT_LE(distance(pagerank(packed, fixed).rank.span(), serial.rank.span()), 1e-6);
  });
  test::everywhere([&](const Device& device) {
    for (const int tile_dim : {csr_tile, 4, 8, 16, 32, 64}) {
      const PageRankResult one = pagerank(pack_graph(pattern, {.tile_dim = tile_dim}, Device::host(1)), fixed);
      const PageRankResult many = pagerank(pack_graph(pattern, {.tile_dim = tile_dim}, device), fixed);
      ASSERT_EQ(one.residual, many.residual);
      for (std::size_t i = 0; i < one.rank.size(); ++i) ASSERT_EQ(one.rank[i], many.rank[i]);
      const PageRankResult close = pagerank(pack_graph(pattern, {.tile_dim = tile_dim}, device), fine);
      EXPECT_LE(distance(close.rank.span(), exact.rank.span()), 1e-12);
    }
  });
}

TEST(PageRank, ARepeatedRunAllocatesNothing) {
  const Device device = Device::host(2);
  const PackedGraph graph = pack_graph(test::rmat_pattern(12, 30000, 1, device), {}, device);
  PageRank search(graph, {.tolerance = 1e-10});
  const std::vector<double> first(search.run().rank.begin(), search.run().rank.end());
  const std::size_t before = device.memory().allocations;
  const PageRankResult& again = search.run();
  EXPECT_EQ(device.memory().allocations, before);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), again.rank.begin()));
}

TEST(PageRank, KnownRanks) {
  // 0 -> 1 -> 2 -> 0 and 3 alone: of a cycle all alike; the lonely node gives what it holds to all.
  const CsrPattern a = test::pattern_of(4, {{0, 1}, {1, 2}, {2, 0}});
  const PageRankResult found = pagerank(pack_graph(a), {.tolerance = 1e-14, .max_iterations = 1000});
  const double lonely = 0.15 / (4 - 0.85);
  EXPECT_NEAR(found.rank[3], lonely, 1e-12);
  for (const NodeId i : {0, 1, 2}) EXPECT_NEAR(found.rank[i], (1 - lonely) / 3, 1e-12);
}

TEST(PageRank, RefusesBadOptionsAndMissingInEdges) {
  const PackedGraph graph = pack_graph(test::path_pattern(3));
  test::expect_usage_error([&] { static_cast<void>(pagerank(graph, {.damping = 1})); }, "damping");
  test::expect_usage_error([&] { static_cast<void>(pagerank(graph, {.tolerance = -1})); }, "tolerance");
  test::expect_usage_error([&] { static_cast<void>(pagerank(graph, {.max_iterations = -1})); }, "iterations");
  const PackedGraph one_way = pack_graph(test::pattern_of(2, {{0, 1}}), {.with_transpose = false});
  test::expect_usage_error([&] { static_cast<void>(pagerank(one_way)); }, "with_transpose");
}

}  // namespace
}  // namespace bitgraph
