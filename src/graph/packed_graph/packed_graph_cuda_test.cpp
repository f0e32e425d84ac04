// SPDX-License-Identifier: Apache-2.0
// Graphs packed on a CUDA device are those that the host packs.
#include "support/cuda_device.hpp"
#include "support/walk_cases.hpp"

#include <bitgraph/graph/packed_graph.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <variant>

namespace bitgraph {
namespace {

const Device& cuda() { return *test::cuda_device(); }

PackedGraph::Matrix brought(const PackedGraph::Matrix& matrix) {
  return std::visit([](const auto& m) -> PackedGraph::Matrix { return m.to(Device{}); }, matrix);
}

void expect_same(const PackedGraph& expected, const PackedGraph& actual) {
  ASSERT_TRUE(actual.device() == cuda());
  EXPECT_EQ(actual.symmetric(), expected.symmetric());
  EXPECT_EQ(actual.tile_dim(), expected.tile_dim());
  EXPECT_EQ(actual.num_edges(), expected.num_edges());
  EXPECT_TRUE(std::ranges::equal(actual.new_id(), expected.new_id()));
  EXPECT_TRUE(std::ranges::equal(actual.old_id(), expected.old_id()));
  EXPECT_TRUE(brought(actual.out()) == expected.out());
  ASSERT_EQ(actual.has_in(), expected.has_in());
  if (!expected.has_in()) return;
  EXPECT_TRUE(brought(actual.in()) == expected.in());
}

TEST(PackedGraphCuda, TheHostsGraph) {
  BITGRAPH_REQUIRE_CUDA();
  auto graphs = test::small_graphs();
  graphs.push_back({"skewed, 2^13", test::rmat_pattern(13, 100000, 3)});
  graphs.push_back({"directed", test::random_pattern(3000, 3000, 3e-3, 4)});
  for (const test::GraphCase& graph : graphs) {
    const CsrPattern there = graph.graph.to(cuda());
    for (const int tile_dim : {csr_tile, 4, 16, 64, auto_tile}) {
      for (const Order order : {Order::original, Order::degree, Order::reverse_cuthill_mckee}) {
        SCOPED_TRACE(graph.name + ", tile " + std::to_string(tile_dim) + ", " + std::string(to_string(order)));
        const GraphPackOptions options{.tile_dim = tile_dim,
                                       .order = order,
                                       .with_transpose = order != Order::degree,
                                       .workload = Workload::counting};
        const PackedGraph expected = pack_graph(graph.graph, options);
        expect_same(expected, pack_graph(there, options, cuda()));
        expect_same(expected, pack_graph(there, options));
        expect_same(expected, pack_graph(graph.graph, options, cuda()));
      }
    }
  }
}

/// A pattern of the host that says it has 2^45 entries: nothing of it is read, and nothing allocated.
TEST(PackedGraphCuda, WhatDoesNotFitIsRefusedAtOnce) {
  BITGRAPH_REQUIRE_CUDA();
  const auto owner = std::make_shared<NodeId>(0);
  const EdgeOffset entries = EdgeOffset{1} << 45;
  const CsrPattern huge(1, 1, Buffer<EdgeOffset>{0, entries}, Buffer<NodeId>::borrow(owner.get(), entries, owner),
                        trusted);
  const std::size_t before = cuda().memory().allocations;
  for (const int tile_dim : {csr_tile, 4, 64}) {
    try {
      (void)pack_graph(huge, {.tile_dim = tile_dim}, cuda());
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::not_possible);
      const std::string message = error.what();
      EXPECT_NE(message.find("cuda:0: a graph's entries: not enough memory: 140737488355344 bytes are needed"),
                std::string::npos)
          << message;
      EXPECT_NE(message.find("are missing"), std::string::npos) << message;
    }
  }
  EXPECT_EQ(cuda().memory().allocations, before);
}

}  // namespace
}  // namespace bitgraph
