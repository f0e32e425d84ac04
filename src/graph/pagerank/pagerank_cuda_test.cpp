// SPDX-License-Identifier: Apache-2.0
// PageRank on a CUDA device beside the host's.
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/graph/pagerank.hpp>

#include "support/cuda_device.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

#include <cmath>

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
  double sum = 0;
  for (const double rank : first) sum += rank;
  if (a.nrows() != 0) {
    EXPECT_NEAR(sum, 1, 1e-12);
  }
  EXPECT_EQ(distance(first, there.run().rank.to(Device{})), 0) << "a second run gives other bits";
}

TEST(PageRankCuda, AsOnTheHost) {
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

TEST(PageRankCuda, OddGraphs) {
  BITGRAPH_REQUIRE_CUDA();
  compare(test::random_pattern(0, 0, 0, 1), {.tile_dim = csr_tile}, {}, 0);
  compare(test::random_pattern(1, 1, 0, 1), {.tile_dim = csr_tile}, {}, 1e-15);
  compare(test::random_pattern(9, 9, 0, 1), {.tile_dim = csr_tile}, {}, 1e-7);
  compare(generate_grid(30, 40), {.tile_dim = csr_tile}, {.tolerance = 0, .max_iterations = 0}, 1e-7);
}

}  // namespace
}  // namespace bitgraph
