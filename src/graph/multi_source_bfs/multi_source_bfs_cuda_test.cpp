// SPDX-License-Identifier: Apache-2.0
// Searches from many sources on a CUDA device beside those on the host: the same counts and levels.
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/graph/multi_source_bfs.hpp>

#include "support/cuda_device.hpp"
#include "support/expect_error.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

namespace bitgraph {
namespace {

void compare(const CsrPattern& a, std::size_t count, const GraphPackOptions& options = {.tile_dim = csr_tile}) {
  const PackedGraph here = pack_graph(a, options);
  const PackedGraph there = pack_graph(a, options, *test::cuda_device());
  std::vector<NodeId> sources(count);
  for (std::size_t s = 0; s < count; ++s) sources[s] = static_cast<NodeId>(random_below({3, 1, 4}, s, a.nrows()));
  MultiSourceBreadthFirstSearch search(there, count);
  for (const bool levels : {false, true, false}) {
    SCOPED_TRACE(std::to_string(count) + " sources");
    const auto expected = multi_source_bfs(here, {sources, levels});
    const auto& result = search.run({sources, levels});
    const auto reached = result.reached.to(Device{});
    const auto eccentricity = result.eccentricity.to(Device{});
    for (std::size_t s = 0; s < count; ++s) {
      ASSERT_EQ(reached[s], expected.reached[s]) << "source " << s;
      ASSERT_EQ(eccentricity[s], expected.eccentricity[s]) << "source " << s;
    }
    if (!levels) continue;
    const auto level = result.level.to(Device{});
    for (std::size_t i = 0; i < level.values().size(); ++i)
      ASSERT_EQ(level.values()[i], expected.level.values()[i]) << "node " << i / count << ", source " << i % count;
  }
}

TEST(MultiSourceBfsCuda, SmallGraphs) {
  BITGRAPH_REQUIRE_CUDA();
  for (const NodeId n : {1U, 31U, 32U, 33U, 300U}) {
    for (const std::size_t count : {1U, 64U, 65U, 200U, 512U, 530U}) {
      compare(test::random_pattern(n, n, 1.5 / n, n), count);  // directed, several components
      compare(symmetrized(test::random_pattern(n, n, 0.1, n)), count);
    }
  }
}

TEST(MultiSourceBfsCuda, LongAndNarrow) {
  BITGRAPH_REQUIRE_CUDA();
  compare(generate_grid(300, 2), 130);
  compare(generate_grid(60, 70), 512);
}

TEST(MultiSourceBfsCuda, HubsAndOrders) {
  BITGRAPH_REQUIRE_CUDA();
  const CsrPattern skewed = symmetrized(test::rmat_pattern(13, 120000, 5));
  compare(skewed, 512);
  compare(skewed, 100, {.tile_dim = csr_tile, .order = Order::degree});
  compare(skewed, 70, {.tile_dim = 8, .order = Order::degree});
  compare(test::rmat_pattern(12, 60000, 6), 257);
}

TEST(MultiSourceBfsCuda, NeedsBothDirections) {
  BITGRAPH_REQUIRE_CUDA();
  const PackedGraph graph = pack_graph(test::random_pattern(20, 20, 0.1, 3),
                                       {.tile_dim = csr_tile, .with_transpose = false}, *test::cuda_device());
  test::expect_error([&] { MultiSourceBreadthFirstSearch search(graph); }, ErrorCode::not_possible,
                     "cuda:0: multi-source BFS needs both directions of the edges: pack the graph with the transpose");
}

}  // namespace
}  // namespace bitgraph
