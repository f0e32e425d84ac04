// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/reduce.hpp>

#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

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

TEST(ReduceOnCuda, BitsAndValues) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const std::size_t size : {0U, 1U, 31U, 63U, 64U, 65U, 1000U, 70001U, 3000001U}) {
    SCOPED_TRACE(size);
    const BitVector set = random_set(size, size);
    EXPECT_EQ(count(set.to(device)), count(set));
    EXPECT_EQ(any(set.to(device)), any(set));
    EXPECT_FALSE(any(BitVector(size, device)));
    Buffer<std::int32_t> integers(size);
    for (std::size_t i = 0; i < size; ++i) integers[i] = static_cast<std::int32_t>(random_bits({size, 2, 0}, i));
    EXPECT_EQ(reduce(plus_monoid, integers.to(device)), reduce(plus_monoid, integers));
    EXPECT_EQ(reduce(min_monoid, integers.to(device)), reduce(min_monoid, integers));
    EXPECT_EQ(reduce(max_monoid, integers.to(device)), reduce(max_monoid, integers));
    const auto floats = Buffer<float>::copy_of(test::random_floats(size, 1, -1, 1));
    double sum = 0;
    for (const float value : floats) sum += value;
    const auto there = floats.to(device);
    EXPECT_NEAR(reduce(plus_monoid, there), sum, 0.05);
    EXPECT_EQ(reduce(plus_monoid, there), reduce(plus_monoid, there));
    EXPECT_EQ(reduce(max_monoid, there), reduce(max_monoid, floats));
    // Not aligned as a buffer of its own is.
    if (size > 1) {
      auto* behind_first = const_cast<float*>(there.data()) + 1;
      const auto part = Buffer<float>::borrow(behind_first, size - 1, std::make_shared<int>(), device);
      EXPECT_NEAR(reduce(plus_monoid, part), sum - static_cast<double>(floats[0]), 0.05);
    }
  }
}

TEST(ReduceOnCuda, RepeatedCallsAllocateNothing) {
  BITGRAPH_REQUIRE_CUDA();
  const Device device = Device::cuda();
  const Buffer<double> x(100000, 1.0, device);
  const BitVector set(100000, device);
  EXPECT_EQ(reduce(plus_monoid, x), 100000.0);
  EXPECT_EQ(count(set), 0U);
  const std::size_t before = device.memory().allocations;
  EXPECT_EQ(reduce(plus_monoid, x), 100000.0);
  EXPECT_EQ(count(set), 0U);
  EXPECT_EQ(device.memory().allocations, before);
}

template <class Graph>
void expect_same_sums(const Graph& a) {
  const Graph there = a.to(*test::cuda_device());
  const Buffer<NodeId> rows = row_sums(there).to(Device{});
  const Buffer<NodeId> columns = column_sums(there).to(Device{});
  EXPECT_TRUE(std::ranges::equal(rows.span(), row_sums(a).span()));
  EXPECT_TRUE(std::ranges::equal(columns.span(), column_sums(a).span()));
}

TEST(ReduceOnCuda, RowsAndColumnsOfMatrices) {
  BITGRAPH_REQUIRE_CUDA();
  std::vector<CsrPattern> matrices;
  for (const auto& [n, m] :
       {std::pair<NodeId, NodeId>{0, 0}, {0, 5}, {5, 0}, {1, 70}, {70, 1}, {130, 67}, {9000, 300}}) {
    matrices.push_back(test::random_pattern(n, m, 0.05, n + m));
  }
  matrices.push_back(test::random_pattern(100, 100, 0, 1));
  matrices.push_back(test::rmat_pattern(12, 60000, 3));
  matrices.push_back(test::random_pattern(3, 70000, 1.2, 6));
  for (const CsrPattern& a : matrices) {
    SCOPED_TRACE(std::to_string(a.nrows()) + " x " + std::to_string(a.ncols()));
    expect_same_sums(a);
    for (const int k : tile_dims) expect_same_sums(pack(a, {.tile_dim = k}));
  }
}

}  // namespace
}  // namespace bitgraph
