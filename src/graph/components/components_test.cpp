// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/components.hpp>
#include <bitgraph/io/graph.hpp>

#include "support/cuda_device.hpp"
#include "support/datasets.hpp"
#include "support/everywhere.hpp"
#include "support/graph_cases.hpp"

#include <rapidcheck/gtest.h>

namespace bitgraph {
namespace {

using test::GraphCase;

/// Every label is a node that reaches all nodes of that label, both ways, and no others; it is the smallest of them.
void verify(const CsrPattern& a, const Components& found) {
  ASSERT_EQ(found.label.size(), a.nrows());
  const CsrPattern both = symmetrized(a);
  std::vector<bool> seen(a.nrows());
  NodeId count = 0;
  for (NodeId root = 0; root < a.nrows(); ++root) {
    if (seen[root]) continue;
    ++count;  // no smaller node reaches it: it is the smallest of its component
    std::vector<NodeId> stack{root};
    seen[root] = true;
    while (!stack.empty()) {
      const NodeId i = stack.back();
      stack.pop_back();
      ASSERT_EQ(found.label[i], root) << "node " << i;
      for (const NodeId j : both.row(i)) {
        if (!seen[j]) stack.push_back(j);
        seen[j] = true;
      }
    }
  }
  EXPECT_EQ(found.count, count);
}

std::vector<GraphCase> all_cases() {
  std::vector<GraphCase> cases = test::undirected_cases();
  for (GraphCase& directed : test::directed_cases()) cases.push_back(std::move(directed));
  // Larger than a thread's grain, with components of every size.
  cases.push_back({"many trees", symmetrized(test::random_pattern(30000, 30000, 0.9 / 30000, 4))});
  cases.push_back({"long grid", test::grid_pattern(9000, 3)});
  cases.push_back({"shuffled mesh of some size", generate_mesh(150, 100, 4, true)});
  return cases;
}

TEST(Components, AreComponents) {
  for (const test::GraphCase& graph_case : all_cases()) {
    const CsrPattern& pattern = graph_case.pattern;
    SCOPED_TRACE(graph_case.name);
    verify(pattern, connected_components(pattern));
    test::with_thread_counts([&](const Device& device) {
      test::for_each_packing(pattern, device,
                             [&](const PackedGraph& graph) { verify(pattern, connected_components(graph)); });
      verify(pattern, connected_components(pack_graph(pattern, {.tile_dim = 4, .with_transpose = false}, device)));
    });
  }
}

RC_GTEST_PROP(Components, OfRandomGraphs, ()) {
  const auto n = *rc::gen::inRange<NodeId>(1, 300);
  const auto edges = *rc::gen::inRange<std::size_t>(0, 500);
  std::vector<NodeId> rows(edges);
  std::vector<NodeId> cols(edges);
  for (std::size_t e = 0; e < edges; ++e) {
    rows[e] = *rc::gen::inRange<NodeId>(0, n);
    cols[e] = *rc::gen::inRange<NodeId>(0, n);
  }
  const CsrPattern a = csr_from_edges(n, n, rows, cols);
  verify(a, connected_components(pack_graph(a, {.tile_dim = csr_tile})));
  verify(a, connected_components(pack_graph(a, {.tile_dim = 8})));
}

TEST(Components, ARepeatedRunAllocatesNothing) {
  const Device device = Device::host(2);
  const CsrPattern a = generate_mesh(100, 100, 1, true, device);
  for (const Order order : {Order::original, Order::degree}) {
    const PackedGraph graph = pack_graph(a, {.order = order}, device);
    ConnectedComponents search(graph);
    search.run();
    const std::size_t before = device.memory().allocations;
    const Components& found = search.run();
    EXPECT_EQ(device.memory().allocations, before);
    verify(a, found);
  }
}

/// What the kernels do otherwise for: rows of very many edges, whose own warp would take too long, and nodes whose
/// first two neighbours do not tell of the others.
std::vector<GraphCase> cases_for_cuda() {
  std::vector<GraphCase> cases = all_cases();
  cases.push_back({"stars of 9000 side by side", [] {
                     std::vector<NodeId> rows, cols;
                     for (NodeId i = 0; i < 27000; ++i) rows.push_back(29999 - i % 3), cols.push_back(i);
                     return csr_from_edges(30000, 30000, rows, cols, {.symmetrize = true});
                   }()});
  cases.push_back({"arcs from hubs", [] {
                     std::vector<NodeId> rows, cols;
                     for (NodeId i = 0; i < 40000; ++i) rows.push_back(49990 + i % 2), cols.push_back(i);
                     return csr_from_edges(50000, 50000, rows, cols);
                   }()});
  cases.push_back({"uniform", generate_uniform(40000, 400000, 2)});
  cases.push_back({"path of 70000", test::path_pattern(70000)});
  return cases;
}

TEST(Components, OnCuda) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const auto check = [&](const CsrPattern& pattern, const PackedGraph& graph) {
    ConnectedComponents search(graph);
    for (int repeat = 0; repeat < 2; ++repeat) {
      const Components& found = search.run();
      if (pattern.nrows() != 0) {
        EXPECT_EQ(found.label.device(), device);
      }
      verify(pattern, {found.label.to(Device{}), found.count});
    }
  };
  for (const auto& [name, pattern] : cases_for_cuda()) {
    SCOPED_TRACE(name);
    test::for_each_packing(pattern, device,
                           [&, &pattern = pattern](const PackedGraph& graph) { check(pattern, graph); });
    check(pattern, pack_graph(pattern, {.tile_dim = 4, .with_transpose = false}, device));
    EXPECT_THROW(static_cast<void>(connected_components(pattern.to(device))), Error);
  }
}

TEST(Components, ARepeatedRunOnCudaAllocatesNothing) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern a = generate_mesh(100, 100, 1, true);
  for (const Order order : {Order::original, Order::degree}) {
    const PackedGraph graph = pack_graph(a, {.order = order}, device);
    ConnectedComponents search(graph);
    search.run();
    const std::size_t before = device.memory().allocations;
    search.run();
    EXPECT_EQ(device.memory().allocations, before);
  }
}

TEST(Components, OfRealGraphs) {
  BITGRAPH_DATASETS_OR_SKIP(data);
  for (const auto& folder : {"snap", "metis", "suitesparse"}) {
    for (const auto& file : std::filesystem::directory_iterator(data / folder)) {
      if (!file.is_regular_file()) continue;
      SCOPED_TRACE(file.path().string());
      CsrPattern a;
      try {
        a = load_graph(file.path(), {.ignore_weights = true}).pattern;
      } catch (const Error&) {
        continue;  // not a graph
      }
      if (a.nrows() != a.ncols()) continue;
      verify(a, connected_components(pack_graph(a)));
    }
  }
}

}  // namespace
}  // namespace bitgraph
