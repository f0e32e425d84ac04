// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/select.hpp>

#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

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

template <class Graph>
void expect_same_parts(const Graph& a, std::int64_t d) {
  const Graph there = a.to(*test::cuda_device());
  const auto same = [](const Graph& expected, const Graph& actual) {
    EXPECT_TRUE(actual.device() == *test::cuda_device());
    const Graph back = actual.to(Device{});
    back.validate();
    EXPECT_TRUE(back == expected);
  };
  same(tril(a, d), tril(there, d));
  same(triu(a, d), triu(there, d));
  same(on_diagonal(a, d), on_diagonal(there, d));
  same(off_diagonal(a, d), off_diagonal(there, d));
}

TEST(SelectOnCuda, DiagonalsAndTriangles) {
  BITGRAPH_REQUIRE_CUDA();
  std::vector<CsrPattern> matrices;
  for (const auto& [n, m] :
       {std::pair<NodeId, NodeId>{0, 0}, {0, 4}, {4, 0}, {70, 70}, {130, 40}, {3, 200}, {5000, 30}}) {
    matrices.push_back(test::random_pattern(n, m, 0.3, n));
  }
  matrices.push_back(test::random_pattern(100, 100, 0, 1));
  matrices.push_back(test::rmat_pattern(11, 30000, 3));
  matrices.push_back(test::random_pattern(2, 9000, 1.2, 6));
  for (const CsrPattern& a : matrices) {
    for (const std::int64_t d :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, std::int64_t{-40}, std::int64_t{1000},
          std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
      SCOPED_TRACE(std::to_string(a.nrows()) + " x " + std::to_string(a.ncols()) + ", diagonal " + std::to_string(d));
      expect_same_parts(a, d);
      for (const int k : tile_dims) expect_same_parts(pack(a, {.tile_dim = k}), d);
    }
  }
}

TEST(SelectOnCuda, AFunctionOfTheHostIsRefused) {
  BITGRAPH_REQUIRE_CUDA();
  const CsrPattern a = test::random_pattern(30, 20, 0.1, 1).to(*test::cuda_device());
  try {
    (void)select(a, [](NodeId, NodeId) { return true; });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_possible);
    EXPECT_NE(std::string(error.what()).find("unless nvcc compiles the call"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace bitgraph
