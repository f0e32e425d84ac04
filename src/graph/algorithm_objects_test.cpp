// SPDX-License-Identifier: Apache-2.0
// What all classes of algorithms promise: a result that is taken out is whole, the next run gives it again, and an
// object works after it was moved.
#include <bitgraph/graph/bfs.hpp>
#include <bitgraph/graph/coloring.hpp>
#include <bitgraph/graph/components.hpp>
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/graph/independent_set.hpp>
#include <bitgraph/graph/local_clustering.hpp>
#include <bitgraph/graph/multi_source_bfs.hpp>
#include <bitgraph/graph/pagerank.hpp>
#include <bitgraph/graph/sssp.hpp>
#include <bitgraph/graph/triangles.hpp>

#include "support/cuda_device.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

template <class T>
std::vector<T> on_host(const Buffer<T>& values) {
  const Buffer<T> here = values.to(Device{});
  return {here.begin(), here.end()};
}

/// `run(object)` runs it, `values(result)` are values of the result.
template <class Object, class Run, class Values>
void check(Object object, const Run& run, const Values& values) {
  run(object);
  auto first = object.take();
  const auto expected = values(first);
  ASSERT_FALSE(expected.empty());
  run(object);  // allocates a result of its own
  EXPECT_EQ(values(first), expected);
  EXPECT_EQ(values(object.take()), expected);

  Object moved = std::move(object);
  run(moved);
  Object assigned = std::move(moved);
  moved = std::move(assigned);
  run(moved);
  EXPECT_EQ(values(moved.take()), expected);
}

void check_all(const Device& device) {
  const CsrPattern pattern = generate_rmat(8, 8, 3);
  const auto run = [](auto& object) { object.run(); };
  for (const std::optional<Order> order : {std::optional<Order>(), std::optional<Order>(Order::degree)}) {
    const PackedGraph graph = pack_graph(pattern, {.tile_dim = csr_tile, .order = order}, device);
    check(
        BreadthFirstSearch(graph), [](auto& search) { search.run({.source = 3, .parents = true}); },
        [](const BfsResult& result) { return on_host(result.parent); });
    const std::vector<NodeId> sources{0, 5, 9};
    check(
        MultiSourceBreadthFirstSearch(graph, sources.size()),
        [&](auto& search) { search.run({.sources = sources, .levels = true}); },
        [](const MultiSourceBfsResult& result) {
          const DenseMatrix<std::int32_t> level = result.level.to(Device{});
          return std::vector<std::int32_t>(level.values().begin(), level.values().end());
        });
    check(GreedyColoring(graph), run, [](const Coloring& result) { return on_host(result.color); });
    check(MaximalIndependentSet(graph), run, [](const IndependentSet& result) { return on_host(result.member); });
    check(ConnectedComponents(graph), run, [](const Components& result) { return on_host(result.label); });
    check(StronglyConnectedComponents(graph), run, [](const Components& result) { return on_host(result.label); });
    check(PageRank(graph), run, [](const PageRankResult& result) { return on_host(result.rank); });
    const std::vector<float> weights(pattern.nvals(), 2.0F);
    const WeightedGraph weighted =
        pack_weighted_graph(pattern, weights, {.tile_dim = csr_tile, .order = order}, WeightKind::automatic, device);
    check(ShortestPaths<std::int32_t>(weighted), run,
          [](const SsspResult<std::int32_t>& result) { return on_host(result.distance); });
    check(ShortestPaths<float>(weighted), run,
          [](const SsspResult<float>& result) { return on_host(result.distance); });

    TriangleCounter counter(graph);
    const std::uint64_t triangles = counter.count();
    TriangleCounter moved_counter = std::move(counter);
    EXPECT_EQ(moved_counter.count(), triangles);
    LocalClustering clustering(graph);
    const std::vector<NodeId> members = clustering.run(sources).members;
    LocalClustering moved_clustering = std::move(clustering);
    EXPECT_EQ(moved_clustering.run(sources).members, members);
  }
}

TEST(AlgorithmObjects, ResultsAreTakenAndObjectsMoved) { check_all(Device::host(2)); }

TEST(AlgorithmObjects, OnCudaResultsAreTakenAndObjectsMoved) {
  BITGRAPH_REQUIRE_CUDA();
  check_all(*test::cuda_device());
}

}  // namespace
}  // namespace bitgraph
