// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/select.hpp>

#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace bitgraph {
namespace {

template <class Keep>
CsrPattern expected(const CsrPattern& a, const Keep& keep) {
  std::vector<NodeId> rows, cols;
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (const NodeId j : a.row(i)) {
      if (keep(std::int64_t{j} - std::int64_t{i})) rows.push_back(i), cols.push_back(j);
    }
  }
  return csr_from_edges(a.nrows(), a.ncols(), rows, cols);
}

TEST(Select, DiagonalsAndTriangles) {
  for (const auto& [n, m] : {std::pair<NodeId, NodeId>{0, 0}, {70, 70}, {130, 40}, {3, 200}, {5000, 30}}) {
    const CsrPattern a = test::random_pattern(n, m, 0.3, n);
    for (const std::int64_t d : {0, -1, 1, -40, 1000}) {
      const CsrPattern lower = expected(a, [&](std::int64_t at) { return at <= d; });
      const CsrPattern upper = expected(a, [&](std::int64_t at) { return at >= d; });
      const CsrPattern on = expected(a, [&](std::int64_t at) { return at == d; });
      const CsrPattern off = expected(a, [&](std::int64_t at) { return at != d; });
      test::with_thread_counts([&](const Device& device) {
        const CsrPattern here = a.to(device);
        EXPECT_TRUE(tril(here, d) == lower);
        EXPECT_TRUE(triu(here, d) == upper);
        EXPECT_TRUE(on_diagonal(here, d) == on);
        EXPECT_TRUE(off_diagonal(here, d) == off);
      });
      for (const int k : tile_dims) EXPECT_TRUE(tril(pack(a, {.tile_dim = k}), d) == pack(lower, {.tile_dim = k}));
    }
  }
}

TEST(Select, EntriesByAFunctionOfYours) {
  const CsrPattern a = test::random_pattern(300, 200, 0.1, 1);
  const auto keep = [](NodeId i, NodeId j) { return (i + j) % 3 == 0; };
  const CsrPattern kept = select(a, keep);
  kept.validate();
  for (NodeId i = 0; i < a.nrows(); ++i) {
    std::vector<NodeId> row;
    for (const NodeId j : a.row(i)) {
      if (keep(i, j)) row.push_back(j);
    }
    EXPECT_TRUE(std::equal(row.begin(), row.end(), kept.row(i).begin(), kept.row(i).end()));
  }
}

TEST(Select, ElementsByTheirValue) {
  test::with_thread_counts([](const Device& device) {
    for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 40000U}) {
      const auto x = Buffer<float>::copy_of(test::random_floats(size, 1, -1, 1), device);
      const BitVector positive = select(x, [](float value) { return value > 0; });
      ASSERT_EQ(positive.size(), size);
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(positive.bit(i), x[i] > 0);
      if (size % 64 != 0) {
        EXPECT_EQ(positive.words().back() >> (size % 64), 0U);
      }
    }
  });
}

}  // namespace
}  // namespace bitgraph
