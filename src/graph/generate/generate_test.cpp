// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/components.hpp>
#include <bitgraph/graph/generate.hpp>

#include "support/everywhere.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace bitgraph {
namespace {

void expect_simple(const CsrPattern& a) {
  a.validate();
  EXPECT_TRUE(is_symmetric(a));
  EXPECT_EQ(num_self_loops(a), 0U);
}

TEST(Generate, MycielskianHasTheSizesOfItsFamily) {
  NodeId nodes = 2;
  EdgeOffset edges = 1;
  for (int order = 2; order <= 12; ++order) {
    const CsrPattern a = generate_mycielskian(order);
    expect_simple(a);
    EXPECT_EQ(a.nrows(), nodes);
    EXPECT_EQ(a.nvals(), 2 * edges);
    edges = 3 * edges + nodes;
    nodes = 2 * nodes + 1;
  }
  EXPECT_EQ(generate_mycielskian(12).nrows(), 3071U);
  EXPECT_EQ(generate_mycielskian(12).nvals(), 407200U);
  const CsrPattern cycle = generate_mycielskian(3);
  for (NodeId i = 0; i < 5; ++i) EXPECT_EQ(cycle.row(i).size(), 2U);
  EXPECT_EQ(connected_components(cycle).count, 1U);
}

TEST(Generate, MycielskianHasNoTriangles) {
  const CsrPattern a = generate_mycielskian(7);
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (const NodeId j : a.row(i)) {
      for (const NodeId k : a.row(j)) {
        EXPECT_FALSE(std::binary_search(a.row(i).begin(), a.row(i).end(), k)) << i << " " << j << " " << k;
      }
    }
  }
}

TEST(Generate, DeBruijnTiesEveryNodeToItsShifts) {
  constexpr int scale = 10;
  constexpr NodeId n = 1 << scale;
  const CsrPattern a = generate_de_bruijn(scale);
  expect_simple(a);
  ASSERT_EQ(a.nrows(), n);
  EXPECT_EQ(connected_components(a).count, 1U);
  // 2 n arcs, less the two loops (all zeros, all ones); 01..., 10... point at each other: one edge.
  EXPECT_EQ(a.nvals(), 2 * (2 * n - 2 - 1));
  for (NodeId i = 0; i < n; ++i) {
    for (const NodeId j : {2 * i % n, (2 * i + 1) % n}) {
      EXPECT_EQ(std::binary_search(a.row(i).begin(), a.row(i).end(), j), i != j) << i << " " << j;
    }
  }
}

TEST(Generate, MeshIsATriangulation) {
  for (const bool shuffled : {false, true}) {
    const CsrPattern a = generate_mesh(40, 30, 7, shuffled);
    expect_simple(a);
    ASSERT_EQ(a.nrows(), 1200U);
    EXPECT_EQ(a.nvals(), 2U * (39 * 30 + 40 * 29 + 39 * 29));  // rows, columns, a diagonal a square
    EXPECT_EQ(connected_components(a).count, 1U);
    for (NodeId i = 0; i < a.nrows(); ++i) {
      EXPECT_GE(a.row(i).size(), 2U);
      EXPECT_LE(a.row(i).size(), 8U);
    }
  }
  EXPECT_FALSE(generate_mesh(40, 30, 7, true) == generate_mesh(40, 30, 7, false));
  EXPECT_FALSE(generate_mesh(40, 30, 8) == generate_mesh(40, 30, 7));
}

TEST(Generate, SmallestSizesAreGeneratedAndSmallerOnesRefused) {
  EXPECT_EQ(generate_mesh(0, 0, 1).nrows(), 0U);
  EXPECT_EQ(generate_mesh(1, 1, 1).nvals(), 0U);
  EXPECT_EQ(generate_mesh(5, 1, 1, true).nvals(), 8U);
  EXPECT_EQ(generate_de_bruijn(1).nvals(), 2U);
  test::expect_usage_error([] { static_cast<void>(generate_mycielskian(1)); }, "order");
  test::expect_usage_error([] { static_cast<void>(generate_de_bruijn(0)); }, "scale");
}

TEST(Generate, ThreadsDoNotMatter) {
  const CsrPattern rmat = generate_rmat(10, 8, 3);
  const CsrPattern mesh = generate_mesh(200, 200, 3, true);
  const CsrPattern mycielskian = generate_mycielskian(11);
  const CsrPattern de_bruijn = generate_de_bruijn(15);
  test::with_thread_counts([&](const Device& device) {
    EXPECT_TRUE(generate_rmat(10, 8, 3, device) == rmat);
    EXPECT_TRUE(generate_mesh(200, 200, 3, true, device) == mesh);
    EXPECT_TRUE(generate_mycielskian(11, device) == mycielskian);
    EXPECT_TRUE(generate_de_bruijn(15, device) == de_bruijn);
  });
}

}  // namespace
}  // namespace bitgraph
