// SPDX-License-Identifier: Apache-2.0
// PageRank on a CUDA device beside the host's.
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/graph/pagerank.hpp>

#include "support/cuda_device.hpp"
#include "support/graph_cases.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace bitgraph {
namespace {

double distance(const Buffer<double>& a, const Buffer<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::fabs(a[i] - b[i]);
  return sum;
}

void compare(const CsrPattern& a, const GraphPackOptions& packing, const PageRankOptions& options, double bound) {
  const PageRankResult expected = pagerank(pack_graph(a, packing), options);
  const PackedGraph graph = pack_graph(a, packing, *test::cuda_device());
  PageRank there(graph, options);
  const PageRankResult& actual = there.run();
  const Buffer<double> first = actual.rank.to(Device{});
  EXPECT_LE(distance(expected.rank, first), bound);
  EXPECT_EQ(expected.converged, actual.converged);
  EXPECT_NEAR(expected.iterations, actual.iterations, 1);  // rounding may tip the last comparison
  long double sum = 0;                                     // in double, millions of equal ranks round the same way
  for (const double rank : first) sum += rank;
  if (a.nrows() != 0) {
    EXPECT_NEAR(static_cast<double>(sum), 1, 1e-12);
  }
  EXPECT_EQ(distance(first, there.run().rank.to(Device{})), 0) << "a second run gives other bits";
  EXPECT_EQ(distance(first, pagerank(graph, options).rank.to(Device{})), 0) << "a second plan gives other bits";
}

TEST(PageRankCuda, RanksAgreeWithTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  const CsrPattern skewed = generate_rmat(12, 8, 1);
  const CsrPattern directed = test::random_pattern(700, 700, 0.004, 2);  // with nodes that no edge leaves
  for (const CsrPattern* a : {&skewed, &directed}) {
    for (const int tile : {csr_tile, 4, 8, 32}) {
      SCOPED_TRACE("tile " + std::to_string(tile));
      compare(*a, {.tile_dim = tile}, {.tolerance = 0, .max_iterations = 20}, 1e-5);
      compare(*a, {.tile_dim = tile}, {.tolerance = 1e-12, .max_iterations = 200}, 1e-10);
    }
    compare(*a, {.tile_dim = csr_tile, .order = Order::degree}, {.tolerance = 1e-4}, 1e-4);
  }
}

/// Edges from everywhere to few nodes, in one direction only: nodes without out-edges, without in-edges, without any.
CsrPattern funnel(NodeId n, std::size_t edges) {
  std::vector<NodeId> rows(edges);
  std::vector<NodeId> cols(edges);
  for (std::size_t e = 0; e < edges; ++e) {
    const double u = random_uniform_double({1, 8, 0}, e);
    rows[e] = n / 8 + static_cast<NodeId>(random_below({1, 9, 0}, e, n / 2));
    cols[e] = static_cast<NodeId>(u * u * u * n);
  }
  return csr_from_edges(n, n, rows, cols);
}

/// The first nodes tied to all others in both directions.
CsrPattern with_hubs(NodeId n, NodeId hubs) {
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  for (NodeId hub = 0; hub < hubs; ++hub) {
    for (NodeId i = 0; i < n; ++i) rows.push_back(hub), cols.push_back(i);
  }
  return csr_from_edges(n, n, rows, cols, {.symmetrize = true});
}

// Large enough for strips.
TEST(PageRankCuda, RanksOfLargeGraphsAgreeWithTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  const PageRankOptions fixed{.tolerance = 0, .max_iterations = 6};
  const auto check = [&](const char* name, const CsrPattern& a) {
    SCOPED_TRACE(name);
    compare(a, {.tile_dim = csr_tile}, fixed, 1e-5);
  };
  check("skewed, isolated nodes", generate_rmat(18, 16, 2));
  check("even", generate_uniform(NodeId{1} << 19, std::size_t{1} << 22, 3));
  check("one hub of millions", test::star_pattern(2500000));
  check("dense", test::random_pattern(3000, 3000, 0.6, 4));
  const CsrPattern directed = funnel(400000, 6000000);
  check("directed", directed);
  check("the other way", transpose(directed));
  check("three hubs", with_hubs(1500000, 3));
  compare(directed, {.tile_dim = csr_tile, .order = Order::degree}, fixed, 1e-5);
  compare(directed, {.tile_dim = csr_tile}, {.tolerance = 1e-12, .max_iterations = 200}, 1e-10);
}

TEST(PageRankCuda, RanksOfGraphsWithShortRowsAgreeWithTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  const auto check = [&](const CsrPattern& a) {
    compare(a, {.tile_dim = csr_tile}, {.tolerance = 0, .max_iterations = 20}, 1e-5);
    compare(a, {.tile_dim = csr_tile, .order = Order::degree}, {.tolerance = 1e-6, .max_iterations = 100}, 1e-5);
    compare(a, {.tile_dim = csr_tile}, {.tolerance = 1e-12, .max_iterations = 200}, 1e-10);
    compare(a, {.tile_dim = csr_tile}, {.tolerance = 1e-12, .max_iterations = 45}, 1e-5);
  };
  check(generate_grid(300, 200));
  check(generate_mesh(200, 100, 1));
  check(generate_de_bruijn(12));
  check(test::path_pattern(3));
}

TEST(PageRankCuda, EmptyEdgelessAndUnfinishedGraphsMatchTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  compare(test::random_pattern(0, 0, 0, 1), {.tile_dim = csr_tile}, {}, 0);
  compare(test::random_pattern(1, 1, 0, 1), {.tile_dim = csr_tile}, {}, 1e-15);
  compare(test::random_pattern(9, 9, 0, 1), {.tile_dim = csr_tile}, {}, 1e-7);
  compare(generate_grid(30, 40), {.tile_dim = csr_tile}, {.tolerance = 0, .max_iterations = 0}, 1e-7);
}

}  // namespace
}  // namespace bitgraph
