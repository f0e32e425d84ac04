// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/reduce.hpp>

#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace bitgraph {
namespace {

BitVector random_set(std::size_t size, std::uint64_t seed, const Device& device = {}) {
  BitVector set(size, device);
  for (std::size_t i = 0; i < size; ++i) set.set_bit(i, random_below({seed, 1, 0}, i, 3) == 0);
  return set;
}

TEST(Reduce, BitsAreCountedEverywhere) {
  for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 1000U, 3000001U}) {
    const BitVector set = random_set(size, size);
    std::size_t expected = 0;
    for (std::size_t i = 0; i < size; ++i) expected += set.bit(i) ? 1U : 0U;
    test::everywhere([&](const Device& device) {
      EXPECT_EQ(count(set.to(device)), expected);
      EXPECT_EQ(any(set.to(device)), expected != 0);
    });
    ::setenv("BITGRAPH_BACKEND", "reference", 1);
    EXPECT_EQ(count(set), expected);
    ::unsetenv("BITGRAPH_BACKEND");
  }
}

TEST(Reduce, SumsDoNotDependOnTheThreads) {
  const auto values = test::random_floats(3000000, 1, -1, 1);
  const float one_thread = reduce(plus_monoid, Buffer<float>::copy_of(values, Device::host(1)));
  double sum = 0;
  for (const float value : values) sum += value;
  EXPECT_NEAR(one_thread, sum, 0.05);
  test::with_thread_counts([&](const Device& device) {
    const auto x = Buffer<float>::copy_of(values, device);
    EXPECT_EQ(reduce(plus_monoid, x), one_thread);
    EXPECT_EQ(reduce(min_monoid, x), *std::min_element(values.begin(), values.end()));
    EXPECT_EQ(reduce(max_monoid, x), *std::max_element(values.begin(), values.end()));
    const std::size_t before = device.memory().allocations;
    static_cast<void>(reduce(plus_monoid, x));
    EXPECT_EQ(device.memory().allocations, before);
  });
}

TEST(Reduce, NothingIsTheIdentity) {
  EXPECT_EQ(reduce(plus_monoid, Buffer<std::int32_t>(0)), 0);
  EXPECT_EQ(reduce(min_monoid, Buffer<std::int32_t>(0)), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(reduce(max_monoid, Buffer<std::int32_t>(0)), std::numeric_limits<std::int32_t>::lowest());
  EXPECT_EQ(reduce(min_monoid, Buffer<double>(0)), std::numeric_limits<double>::infinity());
  EXPECT_EQ(reduce(max_monoid, Buffer<double>(0)), -std::numeric_limits<double>::infinity());
}

TEST(Reduce, RowsAndColumnsOfMatrices) {
  for (const auto& [n, m] : {std::pair<NodeId, NodeId>{0, 0}, {1, 70}, {70, 1}, {130, 67}, {9000, 300}}) {
    const CsrPattern a = test::random_pattern(n, m, 0.05, n + m);
    const CsrPattern a_transposed = transpose(a);
    test::with_thread_counts([&, &rows = n, &cols = m](const Device& device) {
      const auto check = [&](const auto& matrix) {
        const Buffer<NodeId> of_rows = row_sums(matrix);
        const Buffer<NodeId> of_columns = column_sums(matrix);
        ASSERT_EQ(of_rows.size(), rows);
        ASSERT_EQ(of_columns.size(), cols);
        for (NodeId i = 0; i < rows; ++i) ASSERT_EQ(of_rows[i], a.row(i).size());
        for (NodeId j = 0; j < cols; ++j) ASSERT_EQ(of_columns[j], a_transposed.row(j).size());
      };
      check(a.to(device));
      for (const int k : tile_dims) check(pack(a, {.tile_dim = k}).to(device));
    });
  }
}

}  // namespace
}  // namespace bitgraph
