// SPDX-License-Identifier: Apache-2.0
#include "graph/packed_graph/choice.hpp"

#include <bitgraph/graph/generate.hpp>
#include <bitgraph/graph/pagerank.hpp>

#include <gtest/gtest.h>

#include <string>

namespace bitgraph {
namespace {

const Workload products[] = {Workload::ranks, Workload::values, Workload::bits, Workload::counts};

TEST(FormatChoice, SearchesAndListsTakeRows) {
  const CsrPattern a = generate_mycielskian(9);
  for (const Workload workload : {Workload::traversal, Workload::counting}) {
    EXPECT_EQ(choose_format(a, workload, Device{}).tile_dim, csr_tile);
  }
}

TEST(FormatChoice, BitsTakeTilesWhereTilesAreFull) {
  const CsrPattern dense = generate_mycielskian(11);
  EXPECT_GE(choose_format(dense, Workload::bits, Device{}).tile_dim, 16);
  EXPECT_GE(choose_format(dense, Workload::counts, Device{}).tile_dim, 16);
  const CsrPattern scattered = generate_uniform(1 << 15, 1 << 18, 1);
  for (const Workload workload : {Workload::bits, Workload::counts}) {
    EXPECT_EQ(choose_format(scattered, workload, Device{}).tile_dim, csr_tile);
  }
}

TEST(FormatChoice, MatricesTakeTilesWhereTheyAreFull) {
  for (const Workload workload : {Workload::products, Workload::masked_products}) {
    EXPECT_EQ(choose_format(generate_mycielskian(10), workload, Device{}).tile_dim, 64);
    EXPECT_EQ(choose_format(generate_uniform(1 << 14, 1 << 17, 1), workload, Device{}).tile_dim, csr_tile);
    EXPECT_EQ(choose_format(generate_uniform(5, 0, 1), workload, Device{}).tile_dim, csr_tile);
  }
  EXPECT_EQ(choose_format(generate_grid(200, 200), Workload::products, Device{}).tile_dim, 4);
  EXPECT_EQ(choose_format(generate_grid(200, 200), Workload::masked_products, Device{}).tile_dim, 4);
}

TEST(FormatChoice, SearchesTakeTilesWhereTheyAreFull) {
  EXPECT_EQ(choose_format(generate_mycielskian(12), Workload::search, Device{}).tile_dim, 32);
  EXPECT_EQ(choose_format(generate_grid(50, 50), Workload::search, Device{}).tile_dim, csr_tile);
}

TEST(FormatChoice, SaysWhatItCompared) {
  const CsrPattern a = generate_grid(30, 30);
  for (const Workload workload : products) {
    const FormatChoice choice = choose_format(a, workload, Device{});
    EXPECT_NE(choice.reason.find("is predicted at"), std::string::npos) << choice.reason;
    EXPECT_GT(choice.nanoseconds, 0);
  }
}

TEST(FormatChoice, AnyShapeHasOne) {
  for (const NodeId n : {0U, 1U, 5U}) {
    const CsrPattern empty = generate_uniform(n, 0, 1);
    for (const Workload workload : products) {
      const PackedGraph graph = pack_graph(empty, {.order_where_it_pays = true, .workload = workload});
      EXPECT_EQ(graph.num_nodes(), n);
      EXPECT_EQ(graph.order(), Order::original);
      EXPECT_EQ(graph.reorder_seconds(), 0);
    }
  }
}

TEST(OrderChoice, TakenWhereItPays) {
  const CsrPattern scattered = generate_mesh(300, 300, 1, true);
  const PackedGraph graph = pack_graph(scattered, {.order_where_it_pays = true, .workload = Workload::ranks});
  EXPECT_EQ(graph.order(), Order::reverse_cuthill_mckee) << graph.order_reason();
  EXPECT_GT(graph.reorder_seconds(), 0);
  EXPECT_NE(graph.order_reason().find("costs about"), std::string::npos) << graph.order_reason();
  const PackedGraph as_it_was = pack_graph(scattered, {.workload = Workload::ranks});
  EXPECT_EQ(as_it_was.order(), Order::original);
  const auto found = pagerank(graph, {.tolerance = 1e-10, .max_iterations = 500});
  const auto expected = pagerank(as_it_was, {.tolerance = 1e-10, .max_iterations = 500});
  for (NodeId i = 0; i < scattered.nrows(); ++i) ASSERT_NEAR(found.rank[i], expected.rank[i], 1e-9);
}

TEST(OrderChoice, LeftAloneElsewhere) {
  const CsrPattern scattered = generate_mesh(300, 300, 1, true);
  for (const Workload workload : {Workload::traversal, Workload::counting}) {
    const PackedGraph graph = pack_graph(scattered, {.order_where_it_pays = true, .workload = workload});
    EXPECT_EQ(graph.order(), Order::original);
    EXPECT_FALSE(graph.order_reason().empty());
  }
  // Rows of a mesh one after another are as near as an order could bring them.
  const PackedGraph tidy =
      pack_graph(generate_mesh(300, 300, 1), {.order_where_it_pays = true, .workload = Workload::ranks});
  EXPECT_EQ(tidy.order(), Order::original) << tidy.order_reason();
}

TEST(OrderChoice, AnOrderThatIsAskedForIsTaken) {
  const CsrPattern a = generate_mesh(20, 20, 1, true);
  const PackedGraph graph = pack_graph(a, {.order = Order::degree, .order_where_it_pays = true});
  EXPECT_EQ(graph.order(), Order::degree);
  EXPECT_TRUE(graph.order_reason().empty());
}

}  // namespace
}  // namespace bitgraph
