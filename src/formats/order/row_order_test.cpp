// SPDX-License-Identifier: Apache-2.0
#include "support/random_matrices.hpp"

#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/row_order.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace bitgraph {
namespace {

/// Rows of 5,000, 4,096, 9,000 and 4,095 entries, and a short one.
CsrPattern long_rows() {
  std::vector<NodeId> rows, cols;
  NodeId row = 0;
  for (const NodeId length : {5'000U, 4'096U, 3U, 9'000U, 4'095U}) {
    for (NodeId j = 0; j < length; ++j) rows.push_back(row), cols.push_back(j);
    ++row;
  }
  return csr_from_edges(5, 9'000, rows, cols);
}

TEST(RowOrder, OfTheHostIsStableByFallingLength) {
  std::vector<CsrPattern> patterns;
  patterns.push_back(test::random_pattern(0, 0, 0, 1));
  patterns.push_back(test::random_pattern(4, 9, 0, 1));
  patterns.push_back(test::rmat_pattern(8, 3000, 2));
  patterns.push_back(long_rows());
  for (const CsrPattern& a : patterns) {
    std::vector<NodeId> expected(a.nrows());
    for (NodeId i = 0; i < a.nrows(); ++i) expected[i] = i;
    std::ranges::stable_sort(expected, [&](NodeId i, NodeId j) { return a.row(i).size() > a.row(j).size(); });
    const RowOrder order(a);
    ASSERT_EQ(order.nrows(), a.nrows());
    EXPECT_EQ(order.bytes(), a.nrows() * sizeof(NodeId));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), order.view().row));
    EXPECT_EQ(order.view_over(a).place, nullptr);
    const auto rows_of_at_least = [&](std::size_t length) {
      return std::ranges::count_if(expected, [&](NodeId i) { return a.row(i).size() >= length; });
    };
    for (std::size_t p = 0; p < order.view().at_least.size(); ++p)
      EXPECT_EQ(order.view().at_least[p], a.nrows() == 0 ? 0 : rows_of_at_least(std::size_t{1} << p)) << p;
    for (std::size_t d = 0; d < order.at_least_of_few().size(); ++d)
      EXPECT_EQ(order.at_least_of_few()[d], a.nrows() == 0 ? 0 : rows_of_at_least(d)) << d;
  }
}

}  // namespace
}  // namespace bitgraph
