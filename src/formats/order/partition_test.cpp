// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/partition.hpp>

#include "support/expect_error.hpp"
#include "support/graph_cases.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace bitgraph {
namespace {

using Nodes = std::vector<NodeId>;
using test::expect_error;
using test::expect_error_with;

Nodes nodes_of(const Partition& partition, NodeId part) {
  const auto nodes = partition.nodes(part);
  return {nodes.begin(), nodes.end()};
}

TEST(Partition, ListsTheNodesOfEachPart) {
  const Partition partition({2, 0, 2, 0, 0}, 4, {"0123456789abcdef", 7});
  EXPECT_EQ(partition.num_nodes(), 5U);
  EXPECT_EQ(partition.num_parts(), 4U);
  EXPECT_EQ(nodes_of(partition, 0), (Nodes{1, 3, 4}));
  EXPECT_EQ(nodes_of(partition, 1), Nodes());
  EXPECT_EQ(nodes_of(partition, 2), (Nodes{0, 2}));
  EXPECT_EQ(nodes_of(partition, 3), Nodes());
  EXPECT_EQ(partition.largest(), 3U);
  EXPECT_EQ(partition.smallest(), 0U);
  EXPECT_EQ(partition.num_empty(), 2U);
  EXPECT_EQ(partition.bytes(), 4U * (5 + 5 + 5));
  EXPECT_EQ(partition.origin(), (PartitionOrigin{"0123456789abcdef", 7}));
  EXPECT_EQ(Partition({2, 0, 2, 0, 0}, 4, {"0123456789abcdef", 7}), partition);
  EXPECT_NE(Partition({2, 0, 2, 0, 0}, 4), partition);
  EXPECT_NE(Partition({2, 0, 2, 0, 0}, 3, {"0123456789abcdef", 7}), partition);
  expect_error([&] { (void)partition.nodes(4); }, ErrorCode::usage, "part 4 of a partition into 4");
}

TEST(Partition, OfNoNodesHasOnePartOrNone) {
  const Partition none;
  EXPECT_EQ(none.num_parts(), 0U);
  EXPECT_EQ(none.largest(), 0U);
  EXPECT_EQ(none.smallest(), 0U);
  expect_error([&] { (void)none.nodes(0); }, ErrorCode::usage, "part 0 of a partition into 0");
  const Partition one({}, 1);
  EXPECT_EQ(one.num_parts(), 1U);
  EXPECT_EQ(one.num_empty(), 1U);
  EXPECT_EQ(nodes_of(one, 0), Nodes());
}

TEST(Partition, RefusesOtherNumbers) {
  expect_error([] { Partition({0, 0}, 0); }, ErrorCode::usage, "0 parts of 2 nodes, expected 1 to 2");
  expect_error([] { Partition({0, 0}, 3); }, ErrorCode::usage, "3 parts of 2 nodes, expected 1 to 2");
  expect_error([] { Partition({}, 2); }, ErrorCode::usage, "2 parts of 0 nodes, expected 1 to 1");
  expect_error([] { Partition({0, 2, 1}, 2); }, ErrorCode::bad_input, "node 1 is in part 2, expected a part below 2");
  expect_error(
      [] {
        Partition({0, ~NodeId{0}}, 2);
      },
      ErrorCode::bad_input, "node 1 is in part 4294967295, expected a part below 2");
}

TEST(Partition, BelongsToItsGraph) {
  const CsrPattern graph = test::grid_pattern(4, 3);
  const Nodes part_of{0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1};
  const Partition known(part_of, 2, {undirected_fingerprint(graph), 0});
  const Partition unknown(part_of, 2);
  known.require_graph(graph);
  known.require_graph(with_self_loops(graph));
  unknown.require_graph(test::grid_pattern(3, 4));
  expect_error_with([&] { known.require_graph(test::grid_pattern(3, 4), "p.safetensors"); }, ErrorCode::bad_input,
                    "p.safetensors: the parts belong to another graph: its fingerprint is " + known.origin().graph +
                        ", that of the graph given is ");
  expect_error([&] { unknown.require_graph(test::grid_pattern(3, 3)); }, ErrorCode::bad_input,
               "the partition: the parts are of 12 nodes, and the graph has 9: they belong to another graph");
}

TEST(Undirected, HasBothDirectionsAndNoLoops) {
  const CsrPattern arcs = test::pattern_of(4, {{0, 1}, {1, 0}, {1, 2}, {2, 2}, {3, 3}});
  EXPECT_EQ(undirected(arcs), test::pattern_of(4, {{0, 1}, {1, 0}, {1, 2}, {2, 1}}));
  const CsrPattern grid = test::grid_pattern(5, 5);
  EXPECT_EQ(undirected(grid).col_ind().data(), grid.col_ind().data()) << "nothing is copied";
  EXPECT_EQ(undirected(CsrPattern()), CsrPattern());
  expect_error([] { (void)undirected(csr_from_edges(2, 3, {}, {})); }, ErrorCode::usage,
               "undirected: the matrix is 2 x 3, a square one is needed");
}

TEST(Undirected, FingerprintTellsGraphsApart) {
  const std::string print = undirected_fingerprint(test::pattern_of(4, {{0, 1}, {1, 2}}));
  EXPECT_EQ(print.size(), 16U);
  EXPECT_EQ(print.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(undirected_fingerprint(test::pattern_of(4, {{1, 0}, {1, 2}, {2, 1}, {3, 3}})), print);
  EXPECT_NE(undirected_fingerprint(test::pattern_of(4, {{0, 1}, {1, 3}})), print);
  EXPECT_NE(undirected_fingerprint(test::pattern_of(4, {{0, 1}})), print);
  EXPECT_NE(undirected_fingerprint(test::pattern_of(5, {{0, 1}, {1, 2}})), print);
  // All degrees alike.
  EXPECT_NE(undirected_fingerprint(test::pattern_of(4, {{0, 1}, {2, 3}})),
            undirected_fingerprint(test::pattern_of(4, {{0, 2}, {1, 3}})));
}

TEST(EdgeCut, IsThatOfAPlainLoop) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const CsrPattern graph = test::random_pattern(2500, 2500, 0.001, seed);
    Nodes part_of(graph.nrows());
    for (NodeId i = 0; i < graph.nrows(); ++i) part_of[i] = static_cast<NodeId>(random_below({seed, 9, 0}, i, 7));
    std::set<std::pair<NodeId, NodeId>> edges;
    for (NodeId i = 0; i < graph.nrows(); ++i) {
      for (const NodeId j : graph.row(i)) {
        if (i != j) edges.emplace(std::min(i, j), std::max(i, j));
      }
    }
    EdgeOffset expected = 0;
    for (const auto& [i, j] : edges) expected += part_of[i] != part_of[j] ? 1U : 0U;
    const EdgeCut found = edge_cut(graph, Partition(part_of, 7));
    EXPECT_EQ(found.edges, edges.size());
    EXPECT_EQ(found.cut, expected);
    EXPECT_DOUBLE_EQ(found.share(), static_cast<double>(expected) / static_cast<double>(edges.size()));
  }
  EXPECT_EQ(edge_cut(CsrPattern(), Partition({}, 1)).share(), 0);
  expect_error(
      [] {
        (void)edge_cut(test::grid_pattern(2, 2), Partition({0, 0}, 1));
      },
      ErrorCode::usage, "edge cut: a partition of 2 nodes for a graph of 4");
}

}  // namespace
}  // namespace bitgraph
