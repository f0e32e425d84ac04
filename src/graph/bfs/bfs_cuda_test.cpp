// SPDX-License-Identifier: Apache-2.0
// Searches on a CUDA device beside those on the host: the same levels, parents and counts.
#include <bitgraph/graph/bfs.hpp>
#include <bitgraph/graph/generate.hpp>

#include "support/cuda_device.hpp"
#include "support/expect_error.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

namespace bitgraph {
namespace {

template <class T>
void expect_equal(const Buffer<T>& expected, const Buffer<T>& there, const char* what) {
  const Buffer<T> actual = there.to(Device{});
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(expected[i], actual[i]) << what << " of node " << i;
}

void compare(const CsrPattern& a, const std::vector<NodeId>& sources,
             const GraphPackOptions& options = {.tile_dim = csr_tile}) {
  const PackedGraph here = pack_graph(a, options);
  const PackedGraph there = pack_graph(a, options, *test::cuda_device());
  BreadthFirstSearch search(there);
  for (const NodeId source : sources) {
    SCOPED_TRACE("source " + std::to_string(source));
    const BfsResult expected = bfs(here, {.source = source, .parents = true});
    const BfsResult& actual = search.run({.source = source, .parents = true});
    EXPECT_EQ(expected.num_levels, actual.num_levels);
    EXPECT_EQ(expected.reached, actual.reached);
    expect_equal(expected.level, actual.level, "level");
    expect_equal(expected.parent, actual.parent, "parent");
  }
}

std::vector<NodeId> some_sources(NodeId n) {
  std::vector<NodeId> sources;
  for (std::size_t k = 0; k < 12; ++k) sources.push_back(static_cast<NodeId>(random_below({11, 0, 0}, k, n)));
  return sources;
}

TEST(BfsCuda, SmallGraphsAgreeWithTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  compare(test::random_pattern(1, 1, 0, 1), {0});
  compare(test::random_pattern(1, 1, 1, 1), {0});  // a loop
  compare(test::random_pattern(40, 40, 0, 1), {0, 39});
  for (const NodeId n : {31U, 32U, 33U, 65U, 300U}) {
    compare(test::random_pattern(n, n, 1.5 / n, n), some_sources(n));  // directed, several components
    compare(symmetrized(test::random_pattern(n, n, 0.1, n)), some_sources(n));
  }
}

TEST(BfsCuda, LongAndNarrow) {
  BITGRAPH_REQUIRE_CUDA();
  compare(generate_grid(700, 1), {0, 350, 699});
  compare(generate_grid(120, 130), some_sources(120 * 130));
}

TEST(BfsCuda, WideFrontiers) {
  BITGRAPH_REQUIRE_CUDA();
  compare(generate_rmat(15, 16, 1), some_sources(1U << 15));
  compare(generate_uniform(1U << 16, std::size_t{1} << 19, 1), some_sources(1U << 16));
  compare(test::random_pattern(50000, 50000, 2e-4, 3), some_sources(50000));  // directed
  compare(generate_rmat(14, 4, 2), some_sources(1U << 14), {.tile_dim = csr_tile, .order = Order::degree});
}

TEST(BfsCuda, ARepeatedRunAllocatesNothing) {
  BITGRAPH_REQUIRE_CUDA();
  const PackedGraph graph = pack_graph(generate_rmat(12, 8, 1), {.tile_dim = csr_tile}, *test::cuda_device());
  BreadthFirstSearch search(graph);
  search.run({.source = 1});
  const std::size_t before = graph.device().memory().allocations;
  for (NodeId source = 0; source < 4; ++source) search.run({.source = source});
  EXPECT_EQ(graph.device().memory().allocations, before);
}

TEST(BfsCuda, Tiles) {
  BITGRAPH_REQUIRE_CUDA();
  for (const int k : {4, 32}) {
    compare(generate_grid(30, 40), some_sources(1200), {.tile_dim = k});
    compare(test::random_pattern(300, 300, 0.01, 4), some_sources(300), {.tile_dim = k, .order = Order::degree});
  }
}

TEST(BfsCuda, NeedsBothDirections) {
  BITGRAPH_REQUIRE_CUDA();
  const PackedGraph graph = pack_graph(test::random_pattern(20, 20, 0.1, 3),
                                       {.tile_dim = csr_tile, .with_transpose = false}, *test::cuda_device());
  test::expect_error([&] { BreadthFirstSearch search(graph); }, ErrorCode::not_possible,
                     "cuda:0: bfs needs both directions of the edges: pack the graph with the transpose");
}

}  // namespace
}  // namespace bitgraph
