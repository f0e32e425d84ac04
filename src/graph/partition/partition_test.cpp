// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/graph/partition.hpp>

#include "graph/partition/fill_parts.hpp"
#include "graph/partition/metis.hpp"

#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/graph_cases.hpp"
#include "support/random_matrices.hpp"
#include "support/sanitized.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <stop_token>
#include <thread>
#include <utility>

namespace bitgraph {
namespace {

using Nodes = std::vector<NodeId>;
using test::expect_error;

Partition cut(const CsrPattern& graph, NodeId parts, std::uint64_t seed = 0,
              PartitionMethod method = PartitionMethod::automatic) {
  return partition_graph(graph, {.parts = parts, .seed = seed, .method = method});
}

/// Each node in one part of as many as were asked for, none of them empty.
void expect_whole(const Partition& partition, const CsrPattern& graph, NodeId parts) {
  ASSERT_EQ(partition.num_nodes(), graph.nrows());
  ASSERT_EQ(partition.num_parts(), parts);
  EXPECT_EQ(partition.num_empty(), 0U) << parts << " parts of " << graph.nrows() << " nodes";
  std::vector<bool> seen(graph.nrows(), false);
  for (NodeId p = 0; p < parts; ++p) {
    for (const NodeId i : partition.nodes(p)) {
      EXPECT_FALSE(seen[i]) << i;
      EXPECT_EQ(partition.part_of()[i], p);
      seen[i] = true;
    }
  }
  EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), NodeId{0}), graph.nrows());
  partition.require_graph(graph);
}

/// Each node in a part drawn at random.
Partition random_partition(NodeId nodes, NodeId parts) {
  Nodes part_of(nodes);
  for (NodeId i = 0; i < nodes; ++i) part_of[i] = static_cast<NodeId>(random_below({1, 2, 3}, i, parts));
  return Partition(std::move(part_of), parts);
}

TEST(PartitionGraph, PartsOfAGridAreOfOneSizeAndCompact) {
  const CsrPattern grid = test::grid_pattern(100, 100);
  for (const NodeId parts : {2U, 4U, 8U, 16U, 100U}) {
    SCOPED_TRACE(parts);
    const Partition found = cut(grid, parts);
    expect_whole(found, grid, parts);
    const double mean = static_cast<double>(grid.nrows()) / parts;
    EXPECT_LE(found.largest(), 1.03 * mean + 1);
    // Squares of that size have sides of sqrt(mean): half of each one's outline is cut, less what lies at the border.
    const double squares = 2 * std::sqrt(mean) * parts;
    EXPECT_LT(static_cast<double>(edge_cut(grid, found).cut), 1.3 * squares);
  }
}

TEST(PartitionGraph, FindsPlantedParts) {
  PlantedPartitionOptions options;
  options.num_nodes = 3000;
  options.mean_degree = 20;
  options.homophily = 0.9;
  for (const NodeId parts : {2U, 5U}) {
    options.num_classes = static_cast<std::int32_t>(parts);
    const CsrPattern graph = generate_planted_partition(options).graph;
    EXPECT_GT(edge_cut(graph, random_partition(graph.nrows(), parts)).share(), 0.45);
    for (const PartitionMethod method :
         {PartitionMethod::automatic, PartitionMethod::recursive, PartitionMethod::k_way}) {
      const Partition found = cut(graph, parts, 0, method);
      expect_whole(found, graph, parts);
      EXPECT_LT(edge_cut(graph, found).share(), 0.2);
    }
  }
}

TEST(PartitionGraph, ASeedGivesTheSamePartsOnAnyNumberOfThreads) {
  const CsrPattern graph = test::rmat_pattern(11, 12000, 3);
  for (const NodeId parts : {4U, 32U}) {
    const Partition first = cut(graph, parts, 1);
    for (const int threads : test::thread_counts) {
      const CsrPattern there = graph.share(Device::host(threads));
      EXPECT_EQ(cut(there, parts, 1), first);
    }
    const Partition second = cut(graph, parts, 2);
    EXPECT_FALSE(std::ranges::equal(second.part_of(), first.part_of()));
    EXPECT_FALSE(std::ranges::equal(cut(graph, parts, (std::uint64_t{1} << 40) + 1).part_of(), first.part_of()));
    EXPECT_EQ(first.origin().seed, 1U);
  }
}

TEST(PartitionGraph, CallsOfManyThreadsTakeTurns) {
  const CsrPattern graph = test::rmat_pattern(10, 6000, 3);
  const Partition expected = cut(graph, 16, 5);
  std::array<Partition, 4> found;
  std::vector<std::jthread> threads;
  for (Partition& mine : found) threads.emplace_back([&] { mine = cut(graph, 16, 5); });
  threads.clear();
  for (const Partition& one : found) EXPECT_EQ(one, expected);
}

TEST(PartitionGraph, DirectionsAndLoopsCountForNothing) {
  const CsrPattern both = test::rmat_pattern(9, 3000, 7);
  Nodes rows, cols;
  for (NodeId i = 0; i < both.nrows(); ++i) {
    for (const NodeId j : both.row(i)) {
      if (i < j || (i + j) % 3 == 0) rows.push_back(i), cols.push_back(j);
    }
    if (i % 5 == 0) rows.push_back(i), cols.push_back(i);
  }
  const CsrPattern arcs = csr_from_edges(both.nrows(), both.nrows(), rows, cols);
  ASSERT_FALSE(is_symmetric(arcs));
  ASSERT_NE(num_self_loops(arcs), 0U);
  EXPECT_EQ(cut(arcs, 12), cut(both, 12));
}

TEST(PartitionGraph, AnyGraphIntoAnyNumberOfParts) {
  const NodeId size = test::sanitized ? 30 : 60;
  std::vector<CsrPattern> graphs;
  graphs.push_back(csr_from_edges(size, size, {}, {}));
  graphs.push_back(test::star_pattern(size));
  graphs.push_back(test::path_pattern(size));
  graphs.push_back(test::random_pattern(size, size, 1, 4));
  graphs.push_back(test::random_pattern(size, size, 0.05, 4));
  graphs.push_back(test::pattern_of(3, {{0, 1}}));
  graphs.push_back(test::pattern_of(2, {}));
  graphs.push_back(test::pattern_of(1, {{0, 0}}));
  // Three hubs, and nodes without neighbours.
  Nodes rows, cols;
  for (NodeId i = 3; i < size; ++i) {
    if (i % 3 == 0) rows.push_back(i % 2), cols.push_back(i);
    if (i % 4 == 0) rows.push_back(2), cols.push_back(i);
  }
  graphs.push_back(csr_from_edges(size, size, rows, cols));
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    for (NodeId parts = 1; parts <= graphs[g].nrows(); ++parts) {
      SCOPED_TRACE(g);
      for (const PartitionMethod method :
           {PartitionMethod::automatic, PartitionMethod::recursive, PartitionMethod::k_way}) {
        expect_whole(cut(graphs[g], parts, g, method), graphs[g], parts);
      }
    }
  }
}

TEST(PartitionGraph, AsManyPartsAsNodesAreOneNodeEach) {
  const Partition found = cut(test::rmat_pattern(8, 1500, 1), 256);
  EXPECT_EQ(found.largest(), 1U);
  EXPECT_EQ(found.smallest(), 1U);
}

TEST(PartitionGraph, IsolatedNodesFillTheParts) {
  Nodes rows, cols;
  for (NodeId i = 0; i < 200; ++i) rows.push_back(i), cols.push_back((i + 1) % 200);
  const CsrPattern graph = csr_from_edges(1000, 1000, rows, cols);
  const Partition found = cut(graph, 10);
  expect_whole(found, graph, 10);
  EXPECT_LE(found.largest(), 104U);
  EXPECT_LE(edge_cut(graph, found).cut, 20U);
}

TEST(PartitionGraph, OfNoNodes) {
  const Partition found = cut(CsrPattern(), 1);
  EXPECT_EQ(found.num_parts(), 1U);
  EXPECT_EQ(found.num_nodes(), 0U);
  expect_error([] { (void)cut(CsrPattern(), 2); }, ErrorCode::usage,
               "partition: 2 parts of a graph of 0 nodes, expected 1 to 1");
}

TEST(PartitionGraph, RefusesWhatMakesNoSense) {
  const CsrPattern graph = test::grid_pattern(3, 2);
  expect_error([&] { (void)cut(graph, 7); }, ErrorCode::usage,
               "partition: 7 parts of a graph of 6 nodes, expected 1 to 6");
  expect_error([&] { (void)cut(graph, 0); }, ErrorCode::usage,
               "partition: 0 parts of a graph of 6 nodes, expected 1 to 6");
  expect_error([] { (void)cut(csr_from_edges(2, 3, {}, {}), 2); }, ErrorCode::usage,
               "partition: the matrix is 2 x 3, a graph needs a square one");
}

TEST(PartitionGraph, MoreEntriesThanMetisCountsAreNotPossible) {
  require_countable(5, 100, 100);
  require_countable(99, 0, 100);
  expect_error([] { require_countable(5, 101, 100); }, ErrorCode::not_possible,
               "partition: the undirected graph has 5 nodes and 101 entries, and this METIS counts up to 100");
  expect_error([] { require_countable(100, 0, 100); }, ErrorCode::not_possible,
               "partition: the undirected graph has 100 nodes and 0 entries, and this METIS counts up to 100");
  if (most_of_metis() > std::numeric_limits<std::uint32_t>::max()) return;
  // Entries that are promised and not there: it is refused before one is read.
  const EdgeOffset entries = most_of_metis() + 10;
  const CsrPattern huge(4, 4, Buffer<EdgeOffset>{0, entries, entries, entries, entries},
                        Buffer<NodeId>::borrow(nullptr, entries, nullptr), trusted);
  test::expect_error_with([&] { (void)cut(huge, 2); }, ErrorCode::not_possible, "this METIS counts up to 2147483647");
}

TEST(PartitionGraph, IsStopped) {
  std::stop_source stop;
  stop.request_stop();
  const CsrPattern graph = test::grid_pattern(10, 10).share(Device{}.with_stop(stop.get_token()));
  test::expect_error_with([&] { (void)cut(graph, 4); }, ErrorCode::stopped, "");
}

TEST(FillEmptyParts, HalvesTheLargest) {
  Nodes part_of{1, 1, 1, 1, 1, 4, 4, 4};
  fill_empty_parts(part_of, 5);
  // Part 0 gets two of part 1's five; of parts 1 and 4, now alike, part 1 comes first, then part 4.
  EXPECT_EQ(part_of, (Nodes{1, 1, 2, 0, 0, 4, 4, 3}));
  Nodes whole{0, 1, 1};
  fill_empty_parts(whole, 2);
  EXPECT_EQ(whole, (Nodes{0, 1, 1}));
  Nodes none;
  fill_empty_parts(none, 1);
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace bitgraph
