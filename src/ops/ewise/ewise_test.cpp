// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/ewise.hpp>

#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

constexpr SetOp all_ops[] = {SetOp::either, SetOp::both, SetOp::without, SetOp::exactly_one};

bool expected_bit(SetOp op, bool a, bool b) {
  switch (op) {
    case SetOp::either: return a || b;
    case SetOp::both: return a && b;
    case SetOp::without: return a && !b;
    case SetOp::exactly_one: return a != b;
  }
  return false;
}

std::vector<std::vector<bool>> dense(const CsrPattern& a) {
  std::vector<std::vector<bool>> bits(a.nrows(), std::vector<bool>(a.ncols()));
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (const NodeId j : a.row(i)) bits[i][j] = true;
  }
  return bits;
}

TEST(Ewise, Sets) {
  test::with_thread_counts([](const Device& device) {
    for (const std::size_t size : {0U, 1U, 64U, 65U, 2000000U}) {
      BitVector a(size, device), b(size, device);
      for (std::size_t w = 0; w < a.words().size(); ++w) {
        a.words()[w] = random_bits({1, 1, 0}, w);
        b.words()[w] = random_bits({2, 1, 0}, w);
      }
      if (size % 64 != 0) {
        a.words().back() &= (std::uint64_t{1} << (size % 64)) - 1;
        b.words().back() &= (std::uint64_t{1} << (size % 64)) - 1;
      }
      for (const SetOp op : all_ops) {
        const BitVector out = ewise(op, a, b);
        for (std::size_t i = 0; i<size; i += size> 1000 ? 1231 : 1) {
          ASSERT_EQ(out.bit(i), expected_bit(op, a.bit(i), b.bit(i)));
        }
        if (size % 64 != 0) {
          EXPECT_EQ(out.words().back() >> (size % 64), 0U);
        }
        BitVector in_place = a.clone();
        ewise_into(in_place, op, in_place, b);
        EXPECT_TRUE(in_place == out);
      }
      EXPECT_TRUE(ewise_add(or_and, a, b) == ewise(SetOp::either, a, b));
      EXPECT_TRUE(ewise_mult(or_and, a, b) == ewise(SetOp::both, a, b));
    }
  });
}

TEST(Ewise, Matrices) {
  for (const auto& [n, m] : {std::pair<NodeId, NodeId>{0, 0}, {1, 90}, {90, 1}, {130, 67}, {2500, 40}}) {
    const CsrPattern a = test::random_pattern(n, m, 0.1, n + m);
    const CsrPattern b = test::random_pattern(n, m, 0.2, n + m + 1);
    const auto left = dense(a);
    const auto right = dense(b);
    for (const SetOp op : all_ops) {
      std::vector<NodeId> rows, cols;
      for (NodeId i = 0; i < n; ++i) {
        for (NodeId j = 0; j < m; ++j) {
          if (expected_bit(op, left[i][j], right[i][j])) rows.push_back(i), cols.push_back(j);
        }
      }
      const CsrPattern expected = csr_from_edges(n, m, rows, cols);
      test::with_thread_counts([&](const Device& device) {
        EXPECT_TRUE(ewise(op, a.to(device), b.to(device)) == expected);
        for (const int k : tile_dims) {
          const BitTileMatrix out = ewise(op, pack(a, {.tile_dim = k}).to(device), pack(b, {.tile_dim = k}).to(device));
          out.validate();
          EXPECT_TRUE(out == pack(expected, {.tile_dim = k}));
        }
      });
    }
  }
}

TEST(Ewise, Values) {
  const Buffer<std::int32_t> a{1, 5, 3};
  const Buffer<std::int32_t> b{4, 2, 3};
  const Buffer<std::int32_t> least = ewise_add(min_plus, a, b);
  const Buffer<std::int32_t> product = ewise_mult([](std::int32_t x, std::int32_t y) { return x * y; }, a, b);
  EXPECT_EQ(std::vector<std::int32_t>(least.begin(), least.end()), (std::vector<std::int32_t>{1, 2, 3}));
  EXPECT_EQ(std::vector<std::int32_t>(product.begin(), product.end()), (std::vector<std::int32_t>{4, 10, 9}));
}

TEST(Ewise, ErrorsNameOperandsThatDoNotFit) {
  const CsrPattern a = test::random_pattern(4, 5, 0.5, 1);
  const CsrPattern b = test::random_pattern(5, 4, 0.5, 1);
  test::expect_usage_error([&] { (void)ewise(SetOp::both, a, b); }, "A is 4 x 5, B is 5 x 4");
  test::expect_usage_error([&] { (void)ewise(SetOp::both, pack(a), pack(a, {.tile_dim = 4})); }, "tiles of side 8");
  test::expect_usage_error([&] { (void)ewise(SetOp::both, BitVector(3), BitVector(4)); }, "3 and 4 bits");
  test::expect_usage_error([&] { (void)ewise_add(plus_times, Buffer<float>(3), Buffer<float>(4)); }, "3 and 4 values");
}

template <class Graph>
void expect_same_merges(const Graph& a, const Graph& b) {
  const Device& device = *test::cuda_device();
  const Graph a_there = a.to(device), b_there = b.to(device);
  for (const SetOp op : all_ops) {
    const Graph merged = ewise(op, a_there, b_there);
    EXPECT_TRUE(merged.device() == device);
    const Graph back = merged.to(Device{});
    back.validate();
    EXPECT_TRUE(back == ewise(op, a, b)) << static_cast<int>(op);
  }
}

TEST(EwiseOnCuda, Matrices) {
  BITGRAPH_REQUIRE_CUDA();
  std::vector<std::pair<CsrPattern, CsrPattern>> pairs;
  for (const auto& [n, m] :
       {std::pair<NodeId, NodeId>{0, 0}, {0, 3}, {3, 0}, {1, 90}, {90, 1}, {130, 67}, {2500, 40}}) {
    pairs.emplace_back(test::random_pattern(n, m, 0.1, n + m), test::random_pattern(n, m, 0.2, n + m + 1));
  }
  pairs.emplace_back(test::random_pattern(80, 80, 0, 1), test::random_pattern(80, 80, 0.2, 2));
  pairs.emplace_back(test::random_pattern(80, 80, 0.2, 1), test::random_pattern(80, 80, 0, 2));
  pairs.emplace_back(test::rmat_pattern(11, 30000, 3), test::rmat_pattern(11, 20000, 4));
  pairs.emplace_back(test::random_pattern(3, 9000, 1.2, 6), test::random_pattern(3, 9000, 0.5, 7));
  pairs.emplace_back(test::random_pattern(70000, 50, 0.0005, 6), test::random_pattern(70000, 50, 0.0005, 7));
  for (const auto& [a, b] : pairs) {
    SCOPED_TRACE(std::to_string(a.nrows()) + " x " + std::to_string(a.ncols()));
    expect_same_merges(a, b);
    expect_same_merges(a, a);
    for (const int k : tile_dims) expect_same_merges(pack(a, {.tile_dim = k}), pack(b, {.tile_dim = k}));
  }
}

TEST(EwiseOnCuda, SetsAndValues) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const std::size_t size : {0U, 1U, 64U, 65U, 300001U}) {
    BitVector a(size), b(size);
    Buffer<std::int32_t> x(size), y(size);
    Buffer<float> p(size), q(size);
    for (std::size_t i = 0; i < size; ++i) {
      a.set_bit(i, random_below({1, 1, 0}, i, 3) == 0);
      b.set_bit(i, random_below({2, 1, 0}, i, 2) == 0);
      x[i] = static_cast<std::int32_t>(random_bits({3, 1, 0}, i));
      y[i] = static_cast<std::int32_t>(random_bits({4, 1, 0}, i));
      p[i] = static_cast<float>(x[i]);
      q[i] = static_cast<float>(y[i]);
    }
    for (const SetOp op : all_ops) EXPECT_TRUE(ewise(op, a.to(device), b.to(device)).to(Device{}) == ewise(op, a, b));
    BitVector in_place = a.to(device);
    ewise_into(in_place, SetOp::without, in_place, b.to(device));
    EXPECT_TRUE(in_place.to(Device{}) == ewise(SetOp::without, a, b));
    const auto same = [&](auto semiring, const auto& left, const auto& right) {
      const auto there = ewise_add(semiring, left.to(device), right.to(device)).to(Device{});
      const auto here = ewise_add(semiring, left, right);
      EXPECT_TRUE(std::equal(there.begin(), there.end(), here.begin(), here.end()));
    };
    same(plus_times, x, y);
    same(min_plus, x, y);
    same(max_times, p, q);
    same(any_first, p, q);
    same(plus_pair, p, q);
  }
  test::expect_usage_error([&] { (void)ewise(SetOp::both, BitVector(3), BitVector(3, device)); }, "b on cuda:0");
  EXPECT_THROW((void)ewise_mult([](float, float) { return 0.0F; }, Buffer<float>(3, device), Buffer<float>(3, device)),
               Error);
}

}  // namespace
}  // namespace bitgraph
