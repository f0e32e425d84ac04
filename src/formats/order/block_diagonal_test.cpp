// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/block_diagonal.hpp>

#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/graph_cases.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace bitgraph {
namespace {

using Nodes = std::vector<NodeId>;

/// The same, entry by entry.
CsrPattern entry_by_entry(const std::vector<CsrPattern>& graphs) {
  Nodes rows, cols;
  NodeId first = 0;
  for (const CsrPattern& graph : graphs) {
    for (NodeId i = 0; i < graph.nrows(); ++i) {
      for (const NodeId j : graph.row(i)) rows.push_back(first + i), cols.push_back(first + j);
    }
    first += graph.nrows();
  }
  return csr_from_edges(first, first, rows, cols);
}

TEST(BlockDiagonal, HasTheGraphsAlongItsDiagonal) {
  std::vector<CsrPattern> graphs;
  for (NodeId n = 0; n < 70; ++n) graphs.push_back(test::random_pattern(n % 23, n % 23, 0.2, n));
  const CsrPattern expected = entry_by_entry(graphs);
  for (const int threads : test::thread_counts) {
    const BlockDiagonal batch = block_diagonal(graphs, Device::host(threads));
    batch.pattern.validate();
    EXPECT_EQ(batch.pattern, expected);
    ASSERT_EQ(batch.num_graphs(), graphs.size());
    EXPECT_EQ(batch.first_node.front(), 0U);
    EXPECT_EQ(batch.first_node.back(), expected.nrows());
    const Nodes graph_of = batch.graph_of();
    ASSERT_EQ(graph_of.size(), expected.nrows());
    for (NodeId g = 0; g < graphs.size(); ++g) {
      ASSERT_EQ(batch.first_node[g + 1] - batch.first_node[g], graphs[g].nrows());
      for (NodeId i = batch.first_node[g]; i < batch.first_node[g + 1]; ++i) EXPECT_EQ(graph_of[i], g);
    }
  }
}

TEST(BlockDiagonal, OfNoGraphsAndOfEmptyOnes) {
  const BlockDiagonal none = block_diagonal({});
  EXPECT_EQ(none.num_graphs(), 0U);
  EXPECT_EQ(none.pattern, CsrPattern());
  EXPECT_TRUE(none.graph_of().empty());
  std::vector<CsrPattern> graphs(3);
  graphs.push_back(test::pattern_of(2, {{0, 1}}));
  const BlockDiagonal batch = block_diagonal(graphs);
  EXPECT_EQ(batch.first_node, (Nodes{0, 0, 0, 0, 2}));
  EXPECT_EQ(batch.graph_of(), (Nodes{3, 3}));
  EXPECT_EQ(BlockDiagonal().num_graphs(), 0U);
}

TEST(BlockDiagonal, RefusesWhatIsNoGraph) {
  std::vector<CsrPattern> graphs(1);
  graphs.push_back(csr_from_edges(2, 3, {}, {}));
  test::expect_error([&] { (void)block_diagonal(graphs); }, ErrorCode::usage,
                     "block diagonal: graph 1 is 2 x 3, a square matrix is needed");
}

}  // namespace
}  // namespace bitgraph
