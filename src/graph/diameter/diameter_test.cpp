// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/diameter.hpp>
#include <bitgraph/graph/generate.hpp>

#include "support/cuda_device.hpp"
#include "support/entry_sets.hpp"
#include "support/everywhere.hpp"
#include "support/walk_cases.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace bitgraph {
namespace {

/// Eccentricities within components by searching from every node of the symmetric graph.
std::vector<std::int32_t> eccentricities(const CsrPattern& graph) {
  const CsrPattern both = symmetrized(graph);
  std::vector<std::int32_t> result;
  for (NodeId source = 0; source < both.nrows(); ++source) {
    std::vector<std::int32_t> level(both.nrows(), -1);
    std::vector<NodeId> queue{source};
    level[source] = 0;
    for (std::size_t next = 0; next < queue.size(); ++next) {
      for (const NodeId j : both.row(queue[next])) {
        if (level[j] >= 0) continue;
        level[j] = level[queue[next]] + 1;
        queue.push_back(j);
      }
    }
    result.push_back(level[queue.back()]);
  }
  return result;
}

void check(const CsrPattern& graph, const PackedGraph& packed) {
  const auto expected = eccentricities(graph);
  const std::int32_t longest = *std::max_element(expected.begin(), expected.end());
  const Diameter exact = diameter(packed);
  ASSERT_EQ(exact.lower, longest);
  ASSERT_EQ(exact.upper, longest);
  ASSERT_EQ(expected[exact.from], longest);
  ASSERT_EQ(expected[exact.to], longest);
  for (const std::size_t searches : {std::size_t{1}, std::size_t{2}}) {
    const Diameter bounds = diameter(packed, {.max_searches = searches});
    ASSERT_LE(bounds.searches, searches);
    ASSERT_LE(bounds.lower, longest);
    ASSERT_GE(bounds.upper, longest);
  }
  const Diameter all = diameter(packed, {.eccentricities = true});
  ASSERT_TRUE(
      std::equal(all.eccentricity_lower.begin(), all.eccentricity_lower.end(), expected.begin(), expected.end()));
  ASSERT_TRUE(
      std::equal(all.eccentricity_upper.begin(), all.eccentricity_upper.end(), expected.begin(), expected.end()));
}

TEST(Diameter, SmallGraphs) {
  for (const auto& test : test::small_graphs()) {
    test::every_packing(test, Device::host(2), [&](const PackedGraph& packed) { check(test.graph, packed); });
  }
}

RC_GTEST_PROP(Diameter, ArbitraryGraphs, ()) {
  const CsrPattern graph = test::csr_of(test::arbitrary_square());
  RC_PRE(graph.nrows() > 0);
  check(graph, pack_graph(graph, {.tile_dim = csr_tile}));
  RC_ASSERT(!testing::Test::HasFailure());
}

TEST(Diameter, LargerGraphsNeedFewSearches) {
  const CsrPattern grid = test::grid_pattern(300, 200);
  const Diameter found = diameter(pack_graph(grid));
  EXPECT_EQ(found.lower, 498);
  EXPECT_EQ(found.upper, 498);
  EXPECT_LT(found.searches, 100U);
}

/// Searches on both sides go from the same nodes, whatever the format.
void compare_on_cuda(const CsrPattern& pattern, const GraphPackOptions& packing, const DiameterOptions& options) {
  const Diameter expected = diameter(pack_graph(pattern, packing), options);
  const Diameter found = diameter(pack_graph(pattern, packing, *test::cuda_device()), options);
  ASSERT_EQ(found.lower, expected.lower);
  ASSERT_EQ(found.upper, expected.upper);
  ASSERT_EQ(found.from, expected.from);
  ASSERT_EQ(found.to, expected.to);
  ASSERT_EQ(found.searches, expected.searches);
  const auto same = [](const Buffer<std::int32_t>& there, const Buffer<std::int32_t>& here) {
    const Buffer<std::int32_t> brought = there.to(Device{});
    return std::equal(brought.begin(), brought.end(), here.begin(), here.end());
  };
  ASSERT_TRUE(same(found.eccentricity_lower, expected.eccentricity_lower));
  ASSERT_TRUE(same(found.eccentricity_upper, expected.eccentricity_upper));
}

TEST(Diameter, OnCuda) {
  BITGRAPH_REQUIRE_CUDA();
  for (const auto& test : test::small_graphs()) {
    test::every_packing(test, Device::host(2), [&](const PackedGraph& like) {
      const std::optional<Order> order =
          like.new_id().empty() ? std::nullopt : std::optional<Order>(Order::reverse_cuthill_mckee);
      const GraphPackOptions packing{.tile_dim = like.tile_dim(), .order = order, .with_transpose = like.has_in()};
      compare_on_cuda(test.graph, packing, {});
      compare_on_cuda(test.graph, packing, {.max_searches = 1});
      compare_on_cuda(test.graph, packing, {.eccentricities = true});
    });
  }
  for (const CsrPattern& pattern :
       {test::grid_pattern(90, 50), generate_rmat(12, 4, 1), symmetrized(test::random_pattern(9000, 9000, 1e-4, 5))}) {
    compare_on_cuda(pattern, {.tile_dim = csr_tile}, {});
    compare_on_cuda(pattern, {.tile_dim = csr_tile, .order = Order::degree}, {.max_searches = 3});
  }
  const Diameter none = diameter(pack_graph(CsrPattern(), {}, *test::cuda_device()));
  EXPECT_EQ(none.lower, 0);
}

TEST(Diameter, NoNodes) {
  const Diameter none = diameter(pack_graph(CsrPattern()));
  EXPECT_EQ(none.lower, 0);
  EXPECT_EQ(none.upper, 0);
}

}  // namespace
}  // namespace bitgraph
