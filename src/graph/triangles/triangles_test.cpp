// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/triangles.hpp>
#include <bitgraph/io/graph.hpp>
#include <bitgraph/ops/mxm.hpp>

#include "support/cuda_graph_cases.hpp"
#include "support/datasets.hpp"
#include "support/everywhere.hpp"
#include "support/graph_cases.hpp"

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace bitgraph {
namespace {

using test::GraphCase;

/// Counts of the nodes: of all neighbours of each node's neighbours, those that are its neighbours too.
std::vector<std::uint64_t> obvious(const CsrPattern& a) {
  const CsrPattern both = without_self_loops(symmetrized(a));
  std::vector<std::uint64_t> counts(a.nrows());
  std::vector<char> neighbour(a.nrows());
  for (NodeId u = 0; u < a.nrows(); ++u) {
    for (const NodeId v : both.row(u)) neighbour[v] = 1;
    for (const NodeId v : both.row(u)) {
      for (const NodeId w : both.row(v)) counts[u] += neighbour[w] != 0 ? 1U : 0U;
    }
    for (const NodeId v : both.row(u)) neighbour[v] = 0;
    counts[u] /= 2;  // each triangle was met from both its other nodes
  }
  return counts;
}

std::uint64_t a_third(std::span<const std::uint64_t> counts) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counts) sum += count;
  EXPECT_EQ(sum % 3, 0U);
  return sum / 3;
}

/// A clique of hubs, and many nodes tied to some of them: every kind of list and bit row.
CsrPattern hubs_and_leaves(NodeId hubs, NodeId leaves, NodeId ties) {
  std::vector<NodeId> rows, cols;
  const NodeId n = hubs + leaves;
  for (NodeId i = 0; i < hubs; ++i) {
    for (NodeId j = 0; j < i; ++j) {
      if ((i * 7 + j * 13) % 5 != 0) rows.push_back(n - 1 - i), cols.push_back(n - 1 - j);
    }
  }
  for (NodeId i = 0; i < leaves; ++i) {
    for (NodeId t = 0; t < ties; ++t) {
      rows.push_back(i), cols.push_back(n - 1 - static_cast<NodeId>(random_below({3, 1, 0}, i * ties + t, hubs)));
    }
    rows.push_back(i), cols.push_back(static_cast<NodeId>(random_below({4, 1, 0}, i, leaves)));
  }
  return csr_from_edges(n, n, rows, cols, {.symmetrize = true});
}

std::vector<GraphCase> all_cases() {
  std::vector<GraphCase> cases = test::undirected_cases();
  for (GraphCase& directed : test::directed_cases()) cases.push_back(std::move(directed));
  cases.push_back({"hubs and leaves", hubs_and_leaves(600, 1500, 9)});
  cases.push_back({"alike degrees above short rows", symmetrized(test::random_pattern(1000, 1000, 0.015, 3))});
  cases.push_back({"skewed", test::rmat_pattern(11, 20000, 3)});
  return cases;
}

TEST(Triangles, OfEveryGraphAndPackingEverywhere) {
  for (const auto& [name, pattern] : all_cases()) {
    SCOPED_TRACE(name);
    const std::vector<std::uint64_t> expected = obvious(pattern);
    test::everywhere([&, &pattern = pattern](const Device& device) {
      const PackedGraph graph = pack_graph(pattern, {.tile_dim = csr_tile}, device);
      EXPECT_EQ(count_triangles(graph), a_third(expected));
    });
    test::with_thread_counts([&, &pattern = pattern](const Device& device) {
      test::for_each_packing(pattern, device, [&](const PackedGraph& graph) {
        EXPECT_EQ(count_triangles(graph), a_third(expected));
        const Buffer<std::uint64_t> counts = triangles_of_nodes(graph);
        EXPECT_TRUE(std::equal(counts.begin(), counts.end(), expected.begin(), expected.end()));
      });
      const PackedGraph one_way = pack_graph(pattern, {.tile_dim = 8, .with_transpose = false}, device);
      EXPECT_EQ(count_triangles(one_way), a_third(expected));
    });
  }
}

TEST(Triangles, TheReferenceToo) {
  ::setenv("BITGRAPH_BACKEND", "reference", 1);
  std::vector<GraphCase> cases = test::undirected_cases();
  for (GraphCase& directed : test::directed_cases()) cases.push_back(std::move(directed));
  for (const auto& [name, pattern] : cases) {
    SCOPED_TRACE(name);
    const std::vector<std::uint64_t> expected = obvious(pattern);
    for (const Order order : {Order::original, Order::degree}) {
      const PackedGraph graph = pack_graph(pattern, {.tile_dim = 8, .order = order});
      EXPECT_EQ(count_triangles(graph), a_third(expected));
      const Buffer<std::uint64_t> counts = triangles_of_nodes(graph);
      EXPECT_TRUE(std::equal(counts.begin(), counts.end(), expected.begin(), expected.end()));
    }
  }
  ::unsetenv("BITGRAPH_BACKEND");
}

TEST(Triangles, OnCuda) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  std::vector<GraphCase> cases = all_cases();
  // More nodes than hubs, lists longer than one task, and triangles of every sort of them.
  cases.push_back({"mesh beyond the hubs", generate_mesh(200, 150, 2, true)});
  cases.push_back({"far lists", generate_uniform(12000, 1000000, 2)});
  cases.push_back({"hubs and far lists", generate_rmat(15, 16, 2)});
  for (const auto& [name, pattern] : cases) {
    SCOPED_TRACE(name);
    const std::uint64_t expected = count_triangles(pack_graph(pattern, {.tile_dim = csr_tile}));
    test::for_each_packing(pattern, device, [&](const PackedGraph& graph) {
      TriangleCounter counter(graph);
      EXPECT_EQ(counter.count(), expected);
      const std::size_t before = device.memory().allocations;
      EXPECT_EQ(counter.count(), expected);
      EXPECT_EQ(device.memory().allocations, before);
    });
    const PackedGraph one_way = pack_graph(pattern, {.tile_dim = 8, .with_transpose = false}, device);
    EXPECT_EQ(count_triangles(one_way), expected);
    Buffer<std::uint64_t> elsewhere(pattern.nrows());
    if (!elsewhere.empty()) {
      EXPECT_THROW(TriangleCounter(one_way).count_of_nodes(elsewhere), Error);
    }
  }
}

TEST(Triangles, OfNodesOnCuda) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  std::vector<GraphCase> cases = all_cases();
  for (GraphCase& directed : test::directed_cases()) cases.push_back(std::move(directed));
  cases.push_back({"mesh beyond the hubs", generate_mesh(200, 150, 2, true)});
  cases.push_back({"far lists", generate_uniform(12000, 600000, 2)});
  cases.push_back({"hubs and far lists", generate_rmat(15, 8, 2)});
  for (const auto& [name, pattern] : cases) {
    SCOPED_TRACE(name);
    const PackedGraph here = pack_graph(pattern, {.tile_dim = csr_tile});
    const Buffer<std::uint64_t> expected = triangles_of_nodes(here);
    const Clustering coefficients = clustering(here);
    test::for_each_packing(pattern, device, [&](const PackedGraph& graph) {
      TriangleCounter counter(graph);
      Buffer<std::uint64_t> counts(graph.num_nodes(), device);
      for (int repeat = 0; repeat < 2; ++repeat) {
        const std::size_t before = device.memory().allocations;
        counter.count_of_nodes(counts);
        if (repeat == 1) {
          EXPECT_EQ(device.memory().allocations, before);
        }
        test::expect_same(expected, counts, device);
      }
      EXPECT_EQ(counter.count(), coefficients.triangles);
      const Clustering found = clustering(graph);
      EXPECT_EQ(found.triangles, coefficients.triangles);
      EXPECT_EQ(found.average, coefficients.average);
      EXPECT_EQ(found.transitivity, coefficients.transitivity);
      test::expect_same(coefficients.local, found.local, device);
    });
  }
}

RC_GTEST_PROP(Triangles, OfRandomGraphs, ()) {
  const auto n = *rc::gen::inRange<NodeId>(1, 300);
  const double density = *rc::gen::element(0.01, 0.1, 0.6);
  const CsrPattern a = test::random_pattern(n, n, density, *rc::gen::arbitrary<std::uint32_t>());
  const std::vector<std::uint64_t> expected = obvious(a);
  const Buffer<std::uint64_t> counts = triangles_of_nodes(pack_graph(a, {.tile_dim = csr_tile}));
  RC_ASSERT(std::equal(counts.begin(), counts.end(), expected.begin(), expected.end()));
  RC_ASSERT(count_triangles(pack_graph(a, {.tile_dim = 16})) == a_third(expected));
}

TEST(Triangles, AgreeWithTheMaskedProduct) {
  const CsrPattern a = generate_rmat(12, 16, 5);
  std::vector<NodeId> rows, cols;
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (const NodeId j : a.row(i)) {
      if (j < i) rows.push_back(i), cols.push_back(j);
    }
  }
  const CsrPattern lower = csr_from_edges(a.nrows(), a.ncols(), rows, cols);
  EXPECT_EQ(count_triangles(pack_graph(a)), mxm_sum(lower, lower, lower, {.transpose_b = true}));
}

TEST(Triangles, ARepeatedCountAllocatesNothing) {
  const Device device = Device::host(2);
  for (const CsrPattern& a : {generate_rmat(11, 8, 1, device), generate_mesh(50, 50, 1, true, device)}) {
    const PackedGraph graph = pack_graph(a, {.tile_dim = csr_tile}, device);
    TriangleCounter counter(graph);
    Buffer<std::uint64_t> counts(a.nrows());
    const std::uint64_t first = counter.count();
    counter.count_of_nodes(counts);
    const std::size_t before = device.memory().allocations;
    EXPECT_EQ(counter.count(), first);
    counter.count_of_nodes(counts);
    EXPECT_EQ(a_third(counts.span()), first);
    EXPECT_EQ(device.memory().allocations, before);
  }
}

TEST(Triangles, ClusteringByHand) {
  // A triangle with a tail, and a node on its own.
  const CsrPattern a = test::pattern_of(5, {{0, 1}, {1, 2}, {2, 0}, {2, 3}, {3, 3}});
  for (const Order order : {Order::original, Order::degree}) {
    const Clustering found = clustering(pack_graph(a, {.order = order}));
    EXPECT_EQ(found.triangles, 1U);
    const std::vector<double> local{1, 1, 1.0 / 3, 0, 0};
    for (std::size_t i = 0; i < local.size(); ++i) EXPECT_DOUBLE_EQ(found.local[i], local[i]);
    EXPECT_DOUBLE_EQ(found.average, (2 + 1.0 / 3) / 5);
    EXPECT_DOUBLE_EQ(found.transitivity, 3.0 / 5);
  }
  EXPECT_EQ(clustering(pack_graph(test::pattern_of(0, {}))).average, 0);
  Buffer<std::uint64_t> wrong(4);
  const PackedGraph graph = pack_graph(a);
  test::expect_usage_error([&] { TriangleCounter(graph).count_of_nodes(wrong); }, "4 counters for 5 nodes");
}

TEST(Triangles, CountsOfRealGraphsAreThoseOfTheirReadme) {
  BITGRAPH_DATASETS_OR_SKIP(data);
  struct Known {
    const char* file;
    std::uint64_t triangles;
  };
  const Known graphs[] = {{"suitesparse/arc130.mtx", 1577},
                          {"suitesparse/ash292.mtx", 865},
                          {"suitesparse/bcspwr05.mtx", 50},
                          {"suitesparse/bcspwr06.mtx", 107},
                          {"suitesparse/bcspwr08.mtx", 154},
                          {"suitesparse/bcspwr10.mtx", 721},
                          {"suitesparse/bcsstk13.mtx", 342300},
                          {"suitesparse/bips98_606.mtx", 10743},
                          {"suitesparse/chesapeake.mtx", 194},
                          {"suitesparse/data.mtx", 24442},
                          {"suitesparse/delaunay_n10.mtx", 2047},
                          {"suitesparse/delaunay_n11.mtx", 4104},
                          {"suitesparse/delaunay_n13.mtx", 16442},
                          {"suitesparse/delaunay_n14.mtx", 32921},
                          {"suitesparse/dwt_992.mtx", 21780},
                          {"suitesparse/Erdos971.mtx", 1183},
                          {"suitesparse/GD97_b.mtx", 103},
                          {"suitesparse/jagmesh7.mtx", 2016},
                          {"suitesparse/karate.mtx", 45},
                          {"suitesparse/LFAT5.mtx", 0},
                          {"suitesparse/net25.mtx.gz", 64090},
                          {"suitesparse/olm1000.mtx", 998},
                          {"suitesparse/west0067.mtx", 120},
                          {"suitesparse/zenios.mtx", 63103},
                          {"metis/4elt.graph", 30269},
                          {"metis/airfoil1.graph", 8034},
                          {"metis/astro-ph.graph.gz", 756019},
                          {"metis/celegans_metabolic.graph", 3284},
                          {"metis/jazz.graph", 17899},
                          {"metis/PGPgiantcompo.graph", 54788},
                          {"metis/power.graph", 651},
                          {"metis/wave.graph.gz", 1813283},
                          {"snap/deezer_europe_edges.csv", 45034},
                          {"snap/git_edges.csv.gz", 523810},
                          {"snap/MIT8.edgelist.gz", 2370587},
                          {"snap/p2p-Gnutella05.txt", 1112},
                          {"snap/p2p-Gnutella08.edgelist", 2383},
                          {"snap/wiki-Vote.txt.gz", 608389},
                          {"musae/facebook/facebook_edges.csv.gz", 794953},
                          {"musae/chameleon/chameleon_edges.csv", 343066}};
  for (const Known& known : graphs) {
    SCOPED_TRACE(known.file);
    const CsrPattern a = load_graph(data / known.file, {.ignore_weights = true}).pattern;
    EXPECT_EQ(count_triangles(pack_graph(a, {.tile_dim = csr_tile})), known.triangles);
    EXPECT_EQ(count_triangles(pack_graph(a, {.workload = Workload::counting})), known.triangles);
  }
  const Known sets[] = {{"npz/amazon_photo.npz", 717400}, {"npz/coauthor_cs.npz", 85799},
                        {"npz/blogcatalog.npz", 508282},  {"npz/cora_ml.npz", 5308},
                        {"npz/cora.npz", 1630},           {"npz/citeseer.npz", 1167}};
  for (const Known& known : sets) {
    SCOPED_TRACE(known.file);
    EXPECT_EQ(count_triangles(pack_graph(load_graph(data / known.file, {.ignore_weights = true}).pattern)),
              known.triangles);
  }
}

/// Cliques of 15 to 19 nodes: rows of 16 entries are the longest that fit a vector.
TEST(Triangles, OfCliquesAroundTheLongestShortRow) {
  for (const NodeId side : {15U, 16U, 17U, 18U, 19U}) {
    for (const NodeId copies : {1U, 3U}) {
      std::vector<NodeId> rows, cols;
      for (NodeId c = 0; c < copies; ++c) {
        for (NodeId i = 0; i < side; ++i) {
          for (NodeId j = 0; j < i; ++j) rows.push_back(c * side + i), cols.push_back(c * side + j);
        }
      }
      const CsrPattern a = csr_from_edges(copies * side, copies * side, rows, cols, {.symmetrize = true});
      const std::uint64_t expected = std::uint64_t{copies} * side * (side - 1) * (side - 2) / 6;
      test::everywhere([&](const Device& device) {
        EXPECT_EQ(count_triangles(pack_graph(a, {.tile_dim = csr_tile}, device)), expected) << side;
      });
    }
  }
}

}  // namespace
}  // namespace bitgraph
