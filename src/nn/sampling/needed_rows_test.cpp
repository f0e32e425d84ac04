// SPDX-License-Identifier: Apache-2.0
#include "nn/sampling/needed_rows.hpp"

#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace bitgraph::nn {
namespace {

/// 0 - 1 - 2 - 3 - 4 - 5
CsrPattern path() {
  return {6, 6, Buffer<EdgeOffset>{0, 1, 3, 5, 7, 9, 10}, Buffer<NodeId>{1, 0, 2, 1, 3, 2, 4, 3, 5, 4}};
}

std::vector<NodeId> row_of(const CsrPattern& a, NodeId i) { return {a.row(i).begin(), a.row(i).end()}; }

TEST(NeededRows, GrowsByTheNeighboursOfEachLayer) {
  const std::vector<NodeId> targets{3};
  const NeededRows needed = needed_rows(path(), targets, 2);
  EXPECT_EQ(needed.nodes, (std::vector<NodeId>{3, 2, 4, 1, 5}));
  ASSERT_EQ(needed.blocks.size(), 2U);
  // The last layer: of node 3 alone. Its neighbours 2 and 4 are columns 1 and 2.
  EXPECT_EQ(needed.blocks[1].nrows(), 1U);
  EXPECT_EQ(needed.blocks[1].ncols(), 3U);
  EXPECT_EQ(row_of(needed.blocks[1], 0), (std::vector<NodeId>{1, 2}));
  // The first layer: of 3, 2 and 4. Node 2's neighbours 1 and 3 are columns 3 and 0.
  EXPECT_EQ(needed.blocks[0].nrows(), 3U);
  EXPECT_EQ(needed.blocks[0].ncols(), 5U);
  EXPECT_EQ(row_of(needed.blocks[0], 1), (std::vector<NodeId>{0, 3}));
}

TEST(NeededRows, OfAllNodesIsTheGraphItself) {
  const CsrPattern graph = symmetrized(test::random_pattern(50, 50, 0.1, 3));
  std::vector<NodeId> all(50);
  std::iota(all.begin(), all.end(), NodeId{0});
  const NeededRows needed = needed_rows(graph, all, 3);
  EXPECT_EQ(needed.nodes, all);
  for (const CsrPattern& block : needed.blocks) {
    ASSERT_EQ(block.nrows(), 50U);
    for (NodeId i = 0; i < 50; ++i) EXPECT_EQ(row_of(block, i), row_of(graph, i));
  }
}

/// Every edge of a node whose output is wanted is there, and no other.
TEST(NeededRows, KeepsAllEdgesOfWhatIsWanted) {
  const CsrPattern graph = symmetrized(test::random_pattern(80, 80, 0.03, 5));
  const std::vector<NodeId> targets{7, 30, 31};
  const NeededRows needed = needed_rows(graph, targets, 2);
  for (const CsrPattern& block : needed.blocks) {
    for (NodeId i = 0; i < block.nrows(); ++i) {
      std::vector<NodeId> neighbors;
      for (const NodeId j : block.row(i)) neighbors.push_back(needed.nodes[j]);
      std::sort(neighbors.begin(), neighbors.end());
      EXPECT_EQ(neighbors, row_of(graph, needed.nodes[i]));
    }
  }
}

TEST(NeededRows, OfNoTargetsIsNothing) {
  const NeededRows needed = needed_rows(path(), {}, 2);
  EXPECT_TRUE(needed.nodes.empty());
  EXPECT_EQ(needed.blocks.size(), 2U);
}

}  // namespace
}  // namespace bitgraph::nn
