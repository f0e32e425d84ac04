// SPDX-License-Identifier: Apache-2.0
// Whose storage a packed graph has.
#include <bitgraph/graph/packed_graph.hpp>

#include <bitgraph/graph/bfs.hpp>
#include <bitgraph/graph/generate.hpp>

#include "support/cuda_device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace bitgraph {
namespace {

const NodeId* columns_of(const PackedGraph& graph) { return std::get<CsrPattern>(graph.out()).col_ind().data(); }

TEST(PackedGraph, AsAPatternItSharesTheCallersStorage) {
  const Device device = Device::host(1);
  std::optional<CsrPattern> pattern(generate_mesh(30, 30, 1, false, device));
  const std::size_t live = device.memory().live;
  const PackedGraph graph = pack_graph(*pattern, {.tile_dim = csr_tile}, device);
  EXPECT_EQ(columns_of(graph), pattern->col_ind().data());
  EXPECT_EQ(device.memory().live, live);
  pattern.reset();
  EXPECT_EQ(device.memory().live, live);
  EXPECT_EQ(bfs(graph, {.source = 0}).reached, 900U);
}

/// A directed graph: every edge of the pattern goes to the later of its nodes.
CsrPattern upper_triangle(const CsrPattern& a, const Device& device) {
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (const NodeId j : a.row(i)) {
      if (j <= i) continue;
      rows.push_back(i);
      cols.push_back(j);
    }
  }
  return csr_from_edges(a.nrows(), a.ncols(), rows, cols, {}, device);
}

TEST(PackedGraph, ADirectedPatternTakesMemoryForItsTransposeOnly) {
  const Device device = Device::host(2);
  const CsrPattern pattern = upper_triangle(generate_rmat(10, 8, 1), device);
  const std::size_t live = device.memory().live;
  const PackedGraph graph = pack_graph(pattern, {.tile_dim = csr_tile}, device);
  EXPECT_EQ(device.memory().live - live, std::get<CsrPattern>(graph.in()).bytes());
}

TEST(PackedGraph, AnOrderedPatternIsHeldOnce) {
  const Device device = Device::host(2);
  const CsrPattern pattern = generate_rmat(10, 8, 1, device);
  const std::size_t live = device.memory().live;
  const PackedGraph graph = pack_graph(pattern, {.tile_dim = csr_tile, .order = Order::degree}, device);
  EXPECT_LE(device.memory().live - live, graph.bytes());
  EXPECT_NE(columns_of(graph), pattern.col_ind().data());
}

TEST(PackedGraph, OnCudaItSharesTheCallersStorage) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern pattern = generate_rmat(12, 8, 1).to(device);
  const std::size_t live = device.memory().live;
  const PackedGraph graph = pack_graph(pattern, {.tile_dim = csr_tile}, device);
  EXPECT_EQ(device.memory().live, live);
  EXPECT_EQ(columns_of(graph), pattern.col_ind().data());
  // A second handle of the device has the same storage under its own stream.
  const PackedGraph other = pack_graph(pattern, {.tile_dim = csr_tile}, Device::cuda());
  EXPECT_EQ(columns_of(other), pattern.col_ind().data());
  EXPECT_FALSE(std::get<CsrPattern>(other.out()).device() == device);
}

TEST(PackedGraph, UsesTheThreadsOfTheHandleThatItIsPackedFor) {
  const PackedGraph graph = pack_graph(generate_mesh(5, 5, 1, false, Device::host(1)), {}, Device::host(3));
  EXPECT_EQ(graph.device().threads(), 3);
  EXPECT_EQ(std::visit([](const auto& m) { return m.device().threads(); }, graph.out()), 3);
}

TEST(PackedGraph, SharesItsStorageWithAnotherHandle) {
  for (const int tile_dim : {csr_tile, 8}) {
    const PackedGraph graph = pack_graph(generate_rmat(8, 4, 2), {.tile_dim = tile_dim, .order = Order::degree});
    const Device device = Device::host(2);
    const PackedGraph shared = graph.share(device);
    EXPECT_EQ(shared.device().threads(), 2);
    EXPECT_EQ(device.memory().allocations, 0U);
    EXPECT_EQ(shared.tile_dim(), graph.tile_dim());
    EXPECT_EQ(shared.symmetric(), graph.symmetric());
    EXPECT_EQ(shared.has_in(), graph.has_in());
    EXPECT_EQ(shared.bytes(), graph.bytes());
    const Buffer<std::int32_t> expected = bfs(graph, {.source = 1}).level;
    const Buffer<std::int32_t> found = bfs(shared, {.source = 1}).level;
    EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
  }
}

}  // namespace
}  // namespace bitgraph
