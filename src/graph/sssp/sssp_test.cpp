// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/graph/sssp.hpp>

#include "graph/sssp/cpu_relax.hpp"

#include <bitgraph/ops/semiring.hpp>

#include "graph/sssp/sssp.hpp"
#include "support/cuda_device.hpp"
#include "support/entry_sets.hpp"
#include "support/everywhere.hpp"
#include "support/temporary_folder.hpp"
#include "support/walk_cases.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

namespace bitgraph {
namespace {

/// No edge is a short cut, and every distance but the source's is some neighbour's and an edge: with positive weights
/// only the shortest paths are like that.
template <class Distance, class Weights>
void verify_distances(const CsrPattern& graph, const Weights& weights, NodeId source,
                      const SsspResult<Distance>& result) {
  const NodeId n = graph.nrows();
  const Distance none = unreached<Distance>();
  ASSERT_EQ(result.distance.size(), n);
  std::vector<bool> tight(n, false);
  NodeId reached = 0;
  for (NodeId i = 0; i < n; ++i) {
    if (result.distance[i] == none) continue;
    ++reached;
    for (EdgeOffset e = graph.row_ptr()[i]; e < graph.row_ptr()[i + 1]; ++e) {
      const NodeId j = graph.col_ind()[e];
      const Distance through = result.distance[i] + static_cast<Distance>(weights[e]);
      ASSERT_LE(result.distance[j], through) << "edge " << i << " -> " << j;
      if (result.distance[j] == through) tight[j] = true;
    }
  }
  for (NodeId i = 0; i < n; ++i) {
    if (i == source) {
      ASSERT_EQ(result.distance[i], Distance{0});
    } else if (result.distance[i] != none) {
      ASSERT_TRUE(tight[i]) << "node " << i;
    }
  }
  EXPECT_EQ(result.reached, reached);
}

std::vector<float> integer_weights(const CsrPattern& graph, std::uint64_t most, std::uint64_t seed) {
  std::vector<float> weights(graph.nvals());
  for (std::size_t e = 0; e < weights.size(); ++e)
    weights[e] = static_cast<float>(1 + random_below({seed, 11, 0}, e, most));
  return weights;
}

std::vector<float> real_weights(const CsrPattern& graph, std::uint64_t seed) {
  std::vector<float> weights(graph.nvals());
  for (std::size_t e = 0; e < weights.size(); ++e) weights[e] = 0.01F + random_uniform({seed, 12, 0}, e);
  return weights;
}

template <class Distance>
void check_searches(const CsrPattern& graph, const std::vector<float>& weights, const WeightedGraph& packed) {
  ShortestPaths<Distance> search(packed);
  for (const NodeId source : test::some_sources(graph, graph.nrows() > 1000 ? 0 : 3)) {
    for (const double delta : {0.0, 0.3, 1000.0}) {
      SCOPED_TRACE("source " + std::to_string(source) + ", delta " + std::to_string(delta));
      verify_distances(graph, weights, source, search.run({source, delta}));
    }
  }
}

void check_graph(const CsrPattern& graph, const GraphPackOptions& options, const Device& device) {
  const auto integers = integer_weights(graph, 255, 3);
  const auto reals = real_weights(graph, 4);
  const WeightedGraph whole = pack_weighted_graph(graph, integers, options, WeightKind::integer, device);
  check_searches<std::int32_t>(graph, integers, whole);
  check_searches<float>(graph, integers, whole);
  check_searches<float>(graph, reals, pack_weighted_graph(graph, reals, options, WeightKind::real, device));
}

TEST(Sssp, DistancesInSmallGraphs) {
  test::everywhere([](const Device& device) {
    for (const auto& test : test::small_graphs()) {
      for (const int tile_dim : test::all_tile_dims()) {
        SCOPED_TRACE(test.name + ", tile " + std::to_string(tile_dim));
        check_graph(test.graph, {.tile_dim = tile_dim, .order = Order::degree}, device);
      }
    }
  });
}

TEST(Sssp, DistancesInLargerGraphs) {
  for (const auto& test : test::larger_graphs()) {
    test::everywhere([&](const Device& device) {
      SCOPED_TRACE(test.name);
      check_graph(test.graph, {}, device);
    });
    check_graph(test.graph, {.tile_dim = 16}, Device::host(2));
  }
}

RC_GTEST_PROP(Sssp, ArbitraryGraphs, ()) {
  const CsrPattern graph = test::csr_of(test::arbitrary_square());
  RC_PRE(graph.nrows() > 0);
  const auto source = *rc::gen::inRange<NodeId>(0, graph.nrows());
  const auto most = *rc::gen::inRange<std::uint64_t>(1, 256);
  const double delta = *rc::gen::element(0.0, 1.0, 17.0, 1e9);
  const auto weights = integer_weights(graph, most, 5);
  const WeightedGraph packed = pack_weighted_graph(graph, weights);
  verify_distances(graph, weights, source, sssp<std::int32_t>(packed, {source, delta}));
  RC_ASSERT(!testing::Test::HasFailure());
}

TEST(Sssp, UnitEdgesAreLevels) {
  for (const auto& test : test::small_graphs()) {
    const PackedGraph packed = pack_graph(test.graph);
    const std::vector<float> ones(test.graph.nvals(), 1.0F);
    for (const NodeId source : test::some_sources(test.graph)) {
      verify_distances(test.graph, ones, source, sssp(packed, {.source = source}));
    }
  }
}

/// With too few chunks to hold the buckets, rows are found by their distances.
TEST(Sssp, FewChunksAreEnough) {
  const CsrPattern graph = test::rmat_pattern(9, 4000, 8);
  const auto weights = integer_weights(graph, 255, 6);
  const std::vector<std::uint8_t> bytes(weights.begin(), weights.end());
  const NodeId n = graph.nrows();
  for (const std::size_t num_chunks : {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{40}}) {
    for (const int threads : {1, 2}) {
      SsspResult<std::int32_t> result{Buffer<std::int32_t>(n), 0};
      Buffer<std::int32_t> settled(n);
      Buffer<NodeId> chunks(num_chunks * chunk_size + 1);
      Buffer<NodeId> buckets(static_cast<std::size_t>(threads) * 64);
      const SsspArgs<CsrPatternView, std::uint8_t, std::int32_t> args{
          graph.view(),           graph.row_ptr().data(), bytes.data(),  0,          0.125,          64,
          result.distance.data(), settled.data(),         chunks.data(), num_chunks, buckets.data(), threads};
      sssp(Cpu{Device::host(threads)}, args);
      for (const std::int32_t d : result.distance.span()) result.reached += d != unreached<std::int32_t>() ? 1U : 0U;
      verify_distances(graph, weights, 0, result);
    }
  }
}

TEST(Sssp, LongPathsStayWithinTheIntegers) {
  const NodeId n = 9'000'000;  // times 255 is more than 2^31
  Buffer<EdgeOffset> row_ptr(std::size_t{n} + 1);
  Buffer<NodeId> col_ind(n - 1);
  for (NodeId i = 0; i <= n; ++i) row_ptr[i] = std::min<NodeId>(i, n - 1);
  for (NodeId i = 0; i + 1 < n; ++i) col_ind[i] = i + 1;
  const CsrPattern path(n, n, std::move(row_ptr), std::move(col_ind));
  const std::vector<float> weights(path.nvals(), 255.0F);
  const auto result = sssp<std::int32_t>(pack_weighted_graph(path, weights, {.with_transpose = false}));
  const NodeId last = 2147483646 / 255;
  EXPECT_EQ(result.distance[last], static_cast<std::int32_t>(last * 255));
  EXPECT_EQ(result.distance[last + 1], unreached<std::int32_t>());
  EXPECT_EQ(result.reached, last + 1);
}

TEST(Sssp, ASecondRunAllocatesNothing) {
  const Device device = Device::host(2);
  for (const auto& test : test::larger_graphs()) {
    const auto weights = integer_weights(test.graph, 255, 7);
    const WeightedGraph packed =
        pack_weighted_graph(test.graph, weights, {.order = Order::degree}, WeightKind::automatic, device);
    ShortestPaths<std::int32_t> search(packed);
    const std::size_t before = device.memory().allocations;
    search.run({.source = 5});
    EXPECT_EQ(device.memory().allocations, before);
  }
}

template <class Distance>
void check_searches_on_cuda(const CsrPattern& graph, const std::vector<float>& weights, const WeightedGraph& on_cuda,
                            const WeightedGraph& on_host) {
  ShortestPaths<Distance> search(on_cuda);
  for (const NodeId source : test::some_sources(graph, graph.nrows() > 1000 ? 0 : 2)) {
    const auto expected = sssp<Distance>(on_host, {.source = source});
    for (const double delta : {0.0, 0.3, 1000.0}) {
      SCOPED_TRACE("source " + std::to_string(source) + ", delta " + std::to_string(delta));
      const SsspResult<Distance>& found = search.run({source, delta});
      const SsspResult<Distance> here{found.distance.to(Device{}), found.reached};
      verify_distances(graph, weights, source, here);
      EXPECT_TRUE(std::equal(here.distance.begin(), here.distance.end(), expected.distance.begin()));
    }
  }
}

TEST(Sssp, OnCuda) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  std::vector<test::GraphCase> cases = test::small_graphs();
  for (auto& larger : test::larger_graphs()) cases.push_back(std::move(larger));
  cases.push_back({"long rows", generate_rmat(14, 16, 2)});
  for (const auto& test : cases) {
    for (const GraphPackOptions& options :
         {GraphPackOptions{.tile_dim = csr_tile}, GraphPackOptions{.tile_dim = 8, .order = Order::degree},
          GraphPackOptions{.tile_dim = csr_tile, .order = Order::degree}, GraphPackOptions{.tile_dim = 64}}) {
      SCOPED_TRACE(test.name + ", tile " + std::to_string(options.tile_dim));
      const auto pack = [&](const std::vector<float>& weights, WeightKind kind, const Device& place) {
        return pack_weighted_graph(test.graph, weights, options, kind, place);
      };
      const auto integers = integer_weights(test.graph, 255, 3);
      const WeightedGraph whole = pack(integers, WeightKind::integer, device);
      const WeightedGraph whole_here = pack(integers, WeightKind::integer, Device{});
      check_searches_on_cuda<std::int32_t>(test.graph, integers, whole, whole_here);
      check_searches_on_cuda<float>(test.graph, integers, whole, whole_here);
      const auto reals = real_weights(test.graph, 4);
      check_searches_on_cuda<float>(test.graph, reals, pack(reals, WeightKind::real, device),
                                    pack(reals, WeightKind::real, Device{}));
    }
  }
}

TEST(Sssp, ASecondRunOnCudaAllocatesNothing) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern graph = generate_rmat(12, 16, 2);
  const auto weights = integer_weights(graph, 255, 7);
  const WeightedGraph packed =
      pack_weighted_graph(graph, weights, {.order = Order::degree}, WeightKind::automatic, device);
  ShortestPaths<std::int32_t> search(packed);
  const std::size_t before = device.memory().allocations;
  search.run({.source = 5});
  EXPECT_EQ(device.memory().allocations, before);
}

TEST(Sssp, WrongWeightsAreRefused) {
  const CsrPattern graph = test::pattern_of(3, {{0, 1}, {1, 2}}, false);
  const auto pack = [&](std::vector<float> weights, WeightKind kind) {
    return test::message_of(ErrorCode::bad_input,
                            [&] { static_cast<void>(pack_weighted_graph(graph, weights, {}, kind)); });
  };
  EXPECT_NE(pack({1, 256}, WeightKind::integer).find("1 -> 2 has the weight 256"), std::string::npos);
  EXPECT_NE(pack({1, 2.5}, WeightKind::integer).find("whole number from 1 to 255"), std::string::npos);
  for (const float bad : {0.0F, -1.0F, std::nanf(""), std::numeric_limits<float>::infinity()}) {
    EXPECT_NE(pack({bad, 2}, WeightKind::automatic).find("0 -> 1 has the weight"), std::string::npos);
  }
  EXPECT_TRUE(pack_weighted_graph(graph, std::vector<float>{1, 255}).has_integers());
  EXPECT_FALSE(pack_weighted_graph(graph, std::vector<float>{1, 256}).has_integers());
  test::expect_usage_error([&] { return pack_weighted_graph(graph, std::vector<float>{1}); }, "1 weights for 2");
  const WeightedGraph real = pack_weighted_graph(graph, std::vector<float>{1, 2.5});
  test::expect_usage_error([&] { return sssp<std::int32_t>(real); }, "ask for float");
  test::expect_usage_error([&] { return sssp<float>(real, {.source = 3}); }, "0 to 2");
  test::expect_usage_error([&] { return sssp<float>(real, {.delta = -1}); }, "delta");
}

/// No distance is above 2^31 - 1, that of an unreached node: what lies farther stays unreached.
TEST(Sssp, DistancesNearTheLargestIntegerDoNotWrapAround) {
  constexpr std::int32_t unreached = 0x7FFFFFFF;
  constexpr std::size_t size = 40;
  std::vector<NodeId> columns(size);
  std::vector<std::uint8_t> weights(size);
  std::vector<std::int32_t> distance(size, unreached);
  for (std::size_t k = 0; k < size; ++k) {
    columns[k] = static_cast<NodeId>(k);
    weights[k] = static_cast<std::uint8_t>(1 + 6 * k);
  }
  for (const Isa isa : available_isas()) {
    const ScopedIsa scope(isa);
    const auto relax = sssp_cpu::relax_columns<std::uint8_t, std::int32_t>();
    for (const std::int32_t from : {unreached - 1, unreached - 100, unreached - 300}) {
      sssp_cpu::Nearer<std::int32_t> found{};
      const std::size_t count = relax(columns.data(), weights.data(), size, from, distance.data(), found);
      std::size_t expected = 0;
      for (std::size_t k = 0; k < size; ++k) {
        const std::int64_t through = std::int64_t{from} + weights[k];
        if (through >= unreached) continue;
        ASSERT_LT(expected, count);
        EXPECT_EQ(found.column[expected], columns[k]);
        EXPECT_EQ(found.distance[expected++], through);
      }
      EXPECT_EQ(count, expected) << to_string(isa) << " from " << from;
    }
  }
}

}  // namespace
}  // namespace bitgraph
