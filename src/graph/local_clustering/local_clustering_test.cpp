// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/local_clustering.hpp>

#include "support/cuda_graph_cases.hpp"
#include "support/everywhere.hpp"
#include "support/graph_cases.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace bitgraph {
namespace {

/// Edges that leave the set over the smaller of the degrees inside and outside; arcs of both directions, no loops.
double conductance_of(const CsrPattern& a, const std::vector<NodeId>& members) {
  const std::set<NodeId> inside(members.begin(), members.end());
  const bool twice = !is_symmetric(a);
  double cut = 0;
  double volume_inside = 0;
  double volume = 0;
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (const NodeId j : a.row(i)) {
      if (i == j) continue;
      volume += twice ? 2 : 1;
      volume_inside += static_cast<double>(inside.count(i));
      if (twice) volume_inside += static_cast<double>(inside.count(j));
      if (inside.count(i) != inside.count(j)) cut += twice ? 1 : 0.5;
    }
  }
  const double smaller = std::min(volume_inside, volume - volume_inside);
  return smaller == 0 ? 1 : cut / smaller;
}

/// Two cliques of `size` nodes and one edge between them.
CsrPattern two_cliques(NodeId size) {
  std::vector<NodeId> rows{0};
  std::vector<NodeId> cols{size};
  for (NodeId i = 0; i < size; ++i) {
    for (NodeId j = 0; j < i; ++j) {
      rows.push_back(i), cols.push_back(j);
      rows.push_back(size + i), cols.push_back(size + j);
    }
  }
  return csr_from_edges(2 * size, 2 * size, rows, cols, {.symmetrize = true});
}

TEST(LocalClustering, FindsTheCliqueOfTheSeed) {
  const CsrPattern a = two_cliques(20);
  test::for_each_packing(a, {}, [&](const PackedGraph& graph) {
    const std::array<NodeId, 1> seed{3};
    LocalCluster found = local_cluster(graph, seed);
    std::sort(found.members.begin(), found.members.end());
    ASSERT_EQ(found.members.size(), 20U);
    EXPECT_EQ(found.members.back(), 19U);
    EXPECT_NEAR(found.conductance, 1.0 / (20 * 19 + 1), 1e-12);
  });
}

TEST(LocalClustering, IsWhatItSays) {
  std::vector<test::GraphCase> cases = test::undirected_cases();
  for (test::GraphCase& directed : test::directed_cases()) cases.push_back(std::move(directed));
  for (const test::GraphCase& graph_case : cases) {
    const CsrPattern& pattern = graph_case.pattern;
    if (pattern.nrows() == 0) continue;
    SCOPED_TRACE(graph_case.name);
    const NodeId n = pattern.nrows();
    for (const NodeId seed : {NodeId{0}, n / 2, n - 1}) {
      test::for_each_packing(pattern, {}, [&](const PackedGraph& graph) {
        const LocalCluster found = local_cluster(graph, std::array{seed}, {.epsilon = 1e-4});
        ASSERT_FALSE(found.members.empty());
        ASSERT_EQ(found.nodes.size(), found.scores.size());
        EXPECT_TRUE(std::equal(found.members.begin(), found.members.end(), found.nodes.begin()));
        EXPECT_NE(std::find(found.nodes.begin(), found.nodes.end(), seed), found.nodes.end());
        EXPECT_NEAR(found.conductance, conductance_of(pattern, found.members), 1e-12);
        double total = 0;
        for (const double score : found.scores) {
          EXPECT_GT(score, 0);
          total += score;
        }
        EXPECT_LE(total, 1 + 1e-12);
        // No prefix of the sweep is better.
        std::vector<NodeId> prefix;
        for (const NodeId node : found.nodes) {
          prefix.push_back(node);
          if (prefix.size() > 12) break;
          EXPECT_GE(conductance_of(pattern, prefix), found.conductance - 1e-12);
        }
      });
    }
  }
}

TEST(LocalClustering, RunsDoNotLeaveTraces) {
  const CsrPattern a = generate_mesh(60, 60, 2);
  const PackedGraph graph = pack_graph(a);
  LocalClustering search(graph, {.epsilon = 1e-5});
  const LocalCluster first = search.run(std::array<NodeId, 2>{5, 1800});
  static_cast<void>(search.run(std::array<NodeId, 1>{900}));
  const LocalCluster again = search.run(std::array<NodeId, 2>{5, 1800});
  EXPECT_EQ(first.nodes, again.nodes);
  EXPECT_EQ(first.scores, again.scores);
  EXPECT_EQ(first.members, again.members);
}

TEST(LocalClustering, OnCuda) {
  BITGRAPH_REQUIRE_CUDA();
  for (const auto& [name, pattern] : test::cases_for_cuda()) {
    if (pattern.nrows() == 0) continue;
    SCOPED_TRACE(name);
    const std::array<NodeId, 2> seeds{0, pattern.nrows() / 2};
    const LocalCluster expected = local_cluster(pack_graph(pattern, {.tile_dim = csr_tile}), seeds, {.epsilon = 1e-5});
    for (const int tile_dim : {csr_tile, 8}) {
      const PackedGraph graph = pack_graph(pattern, {.tile_dim = tile_dim}, *test::cuda_device());
      LocalClustering search(graph, {.epsilon = 1e-5});
      static_cast<void>(search.run(std::array{pattern.nrows() - 1}));  // leaves no trace
      const LocalCluster found = search.run(seeds);
      EXPECT_EQ(found.members, expected.members);
      EXPECT_EQ(found.conductance, expected.conductance);
      EXPECT_EQ(found.nodes, expected.nodes);
      EXPECT_EQ(found.scores, expected.scores);
    }
    const GraphPackOptions reordered{.tile_dim = csr_tile, .order = Order::degree};
    const LocalCluster here = local_cluster(pack_graph(pattern, reordered), seeds);
    const LocalCluster there = local_cluster(pack_graph(pattern, reordered, *test::cuda_device()), seeds);
    EXPECT_EQ(there.nodes, here.nodes);
    EXPECT_EQ(there.scores, here.scores);
  }
}

TEST(LocalClustering, StaysLocal) {
  const CsrPattern a = test::grid_pattern(300, 300);
  const LocalCluster found = local_cluster(pack_graph(a), std::array<NodeId, 1>{45150}, {.epsilon = 1e-3});
  EXPECT_LT(found.nodes.size(), 1 / (1e-3 * 0.15) / 2);
}

TEST(LocalClustering, ASmallEpsilonComesNearPersonalizedPageRank) {
  // Power iteration of the lazy walk that starts at the seed: what the pushes leave unspread is epsilon a neighbour.
  const CsrPattern a = generate_mesh(30, 30, 5);
  const NodeId n = a.nrows();
  const NodeId seed = 450;
  std::vector<double> exact(n, 0.0);
  for (int k = 0; k < 400; ++k) {
    std::vector<double> after(n, 0.0);
    after[seed] = 0.15;
    for (NodeId i = 0; i < n; ++i) {
      after[i] += 0.85 * exact[i] / 2;
      for (const NodeId j : a.row(i)) after[j] += 0.85 * exact[i] / 2 / static_cast<double>(a.row(i).size());
    }
    exact = after;
  }
  const double epsilon = 1e-8;
  const LocalCluster found = local_cluster(pack_graph(a), std::array{seed}, {.epsilon = epsilon});
  for (std::size_t k = 0; k < found.nodes.size(); ++k) {
    const NodeId i = found.nodes[k];
    EXPECT_LE(found.scores[k], exact[i] + 1e-12);
    EXPECT_GE(found.scores[k], exact[i] - epsilon * static_cast<double>(a.row(i).size()) - 1e-12);
  }
}

TEST(LocalClustering, SeedsMayRepeatAndEpsilonMayBeAnything) {
  const CsrPattern a = generate_mesh(20, 20, 3);
  const PackedGraph graph = pack_graph(a);
  const LocalCluster once = local_cluster(graph, std::array<NodeId, 2>{7, 200});
  const LocalCluster twice = local_cluster(graph, std::array<NodeId, 4>{7, 200, 200, 7});
  EXPECT_EQ(once.nodes, twice.nodes);
  EXPECT_EQ(once.scores, twice.scores);
  for (const double epsilon : {1e-300, 1e-18, 1e-12, 0.5, 2.0, 1e300}) {
    const LocalCluster found = local_cluster(graph, std::array<NodeId, 1>{7}, {.teleport = 0.5, .epsilon = epsilon});
    double total = 0;
    for (const double score : found.scores) total += score;
    EXPECT_LE(total, 1 + 1e-12);
    if (epsilon < 1e-9) {
      EXPECT_GT(total, 1 - 1e-6);
    }
  }
}

TEST(LocalClustering, RefusesBadSeedsAndOptions) {
  const PackedGraph graph = pack_graph(test::path_pattern(3));
  test::expect_usage_error([&] { static_cast<void>(local_cluster(graph, {})); }, "seed");
  test::expect_usage_error([&] { static_cast<void>(local_cluster(graph, std::array<NodeId, 1>{3})); }, "seed 3");
  test::expect_usage_error([&] { static_cast<void>(local_cluster(graph, std::array<NodeId, 1>{0}, {.teleport = 0})); },
                           "teleport");
  test::expect_usage_error([&] { static_cast<void>(local_cluster(graph, std::array<NodeId, 1>{0}, {.epsilon = 0})); },
                           "epsilon");
}

/// Three cliques in a row, the outer ones of one size: cut off behind the first or behind the second, one edge is cut
/// and the smaller side has the same volume. The smaller cluster is the answer.
TEST(LocalClustering, OfEqualConductancesTheFirstIsTaken) {
  constexpr NodeId side = 6;
  std::vector<NodeId> rows{side - 1, 2 * side - 1}, cols{side, 2 * side};
  for (NodeId clique = 0; clique < 3; ++clique) {
    for (NodeId i = 0; i < side; ++i) {
      for (NodeId j = 0; j < i; ++j) rows.push_back(clique * side + i), cols.push_back(clique * side + j);
    }
  }
  const CsrPattern a = csr_from_edges(3 * side, 3 * side, rows, cols, {.symmetrize = true});
  const std::array<NodeId, 1> seed{0};
  LocalCluster found = local_cluster(pack_graph(a), seed, {.teleport = 0.05, .epsilon = 1e-7});
  std::sort(found.members.begin(), found.members.end());
  EXPECT_EQ(found.members, (std::vector<NodeId>{0, 1, 2, 3, 4, 5}));
  EXPECT_DOUBLE_EQ(found.conductance, 1.0 / (side * (side - 1) + 1));
}

}  // namespace
}  // namespace bitgraph
