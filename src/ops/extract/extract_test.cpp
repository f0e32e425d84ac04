// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/extract.hpp>

#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

namespace bitgraph {
namespace {

BitVector every_third(std::size_t size, const Device& device) {
  BitVector set(size, device);
  for (std::size_t i = 0; i < size; i += 3) set.set_bit(i, true);
  return set;
}

TEST(Extract, SetsAndIndices) {
  test::with_thread_counts([](const Device& device) {
    for (const std::size_t size : {0U, 1U, 64U, 65U, 700000U}) {
      const BitVector set = every_third(size, device);
      const Buffer<NodeId> indices = indices_of(set);
      ASSERT_EQ(indices.size(), (size + 2) / 3);
      for (std::size_t n = 0; n < indices.size(); ++n) ASSERT_EQ(indices[n], n * 3);
      EXPECT_TRUE(set_of(size, indices.span()) == set);
    }
  });
}

TEST(Extract, Vectors) {
  const Buffer<double> x{10, 11, 12, 13};
  const std::vector<NodeId> indices{3, 0, 3};
  const Buffer<double> picked = extract(x, indices);
  EXPECT_EQ(std::vector<double>(picked.begin(), picked.end()), (std::vector<double>{13, 10, 13}));
  const Buffer<double> in_set = extract(x, every_third(4, {}));
  EXPECT_EQ(std::vector<double>(in_set.begin(), in_set.end()), (std::vector<double>{10, 13}));
  const BitVector bits = every_third(1000, {});
  std::vector<NodeId> backwards;
  for (NodeId i = 0; i < 1000; ++i) backwards.push_back(999 - i);
  const BitVector turned = extract(bits, backwards);
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(turned.bit(i), bits.bit(999 - i));
  EXPECT_EQ(extract(bits, bits), set_of(334, indices_of(extract(bits, bits)).span()));
  EXPECT_EQ(indices_of(extract(bits, bits)).size(), 334U);
}

template <class Index>
CsrPattern expected(const CsrPattern& a, const Index& rows, const Index& cols) {
  std::vector<NodeId> is, js;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto row = a.row(rows[r]);
    for (std::size_t c = 0; c < cols.size(); ++c) {
      if (std::binary_search(row.begin(), row.end(), cols[c])) {
        is.push_back(static_cast<NodeId>(r)), js.push_back(static_cast<NodeId>(c));
      }
    }
  }
  return csr_from_edges(static_cast<NodeId>(rows.size()), static_cast<NodeId>(cols.size()), is, js);
}

TEST(Extract, Submatrices) {
  const CsrPattern a = test::random_pattern(1300, 90, 0.2, 1);
  std::vector<NodeId> rows, cols;
  for (NodeId n = 0; n < 1500; ++n) rows.push_back((n * 7) % 1300);  // some twice
  for (NodeId n = 0; n < 50; ++n) cols.push_back((n * 37 + 5) % 90);
  test::with_thread_counts([&](const Device& device) {
    const CsrPattern here = a.to(device);
    const CsrPattern part = extract(here, rows, cols);
    part.validate();
    EXPECT_TRUE(part == expected(a, rows, cols));
    const BitVector some_rows = every_third(1300, device);
    const BitVector some_cols = every_third(90, device);
    const CsrPattern by_sets = extract(here, some_rows, some_cols);
    EXPECT_TRUE(by_sets == expected(a, indices_of(some_rows), indices_of(some_cols)));
    EXPECT_TRUE(extract(pack(here, {.tile_dim = 16}), rows, cols) == pack(part, {.tile_dim = 16}));
    EXPECT_TRUE(extract(pack(here, {.tile_dim = 4}), some_rows, some_cols) == pack(by_sets, {.tile_dim = 4}));
    const std::vector<NodeId> none;
    EXPECT_EQ(extract(here, none, cols).nrows(), 0U);
    EXPECT_EQ(extract(here, rows, none).nvals(), 0U);
  });
}

TEST(Extract, ErrorsNameOperandsThatDoNotFit) {
  const CsrPattern a = test::random_pattern(4, 5, 0.5, 1);
  const std::vector<NodeId> good{0, 1};
  const std::vector<NodeId> far{0, 9};
  const std::vector<NodeId> twice{1, 1};
  test::expect_usage_error([&] { (void)extract(a, far, good); }, "index 9 of 4 rows");
  test::expect_usage_error([&] { (void)extract(a, good, far); }, "index 9 of 5 columns");
  test::expect_usage_error([&] { (void)extract(a, good, twice); }, "column 1 is named twice");
  test::expect_usage_error([&] { (void)extract(a, BitVector(4), BitVector(4)); }, "a set out of 4 for 5 columns");
  test::expect_usage_error([&] { (void)extract(Buffer<float>(3), std::span<const NodeId>(far)); }, "index 9");
  test::expect_usage_error([&] { (void)extract(Buffer<float>(3), BitVector(4)); }, "a set out of 4 for 3 values");
  test::expect_usage_error([&] { (void)set_of(5, far); }, "index 9 of 5 elements");
}

TEST(ExtractOnCuda, SetsAndVectors) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const std::size_t size : {0U, 1U, 64U, 65U, 256U, 700001U}) {
    SCOPED_TRACE(size);
    const BitVector set = every_third(size, {});
    const Buffer<NodeId> there = indices_of(set.to(device));
    const Buffer<NodeId> here = indices_of(set);
    EXPECT_TRUE(std::ranges::equal(there.to(Device{}).span(), here.span()));
    EXPECT_TRUE(set_of(size, there).to(Device{}) == set);
    EXPECT_TRUE(set_of(size, here.span()).to(Device{}) == set);
    Buffer<double> x(size);
    for (std::size_t i = 0; i < size; ++i) x[i] = static_cast<double>(i) / 3;
    std::vector<NodeId> picked;
    for (std::size_t n = 0; size != 0 && n < 1000; ++n) picked.push_back(static_cast<NodeId>(n * 7919 % size));
    EXPECT_TRUE(std::ranges::equal(extract(x.to(device), picked).to(Device{}).span(), extract(x, picked).span()));
    EXPECT_TRUE(std::ranges::equal(extract(x.to(device), set.to(device)).to(Device{}).span(), extract(x, set).span()));
    EXPECT_TRUE(extract(set.to(device), picked).to(Device{}) == extract(set, picked));
    EXPECT_TRUE(extract(set.to(device), set.to(device)).to(Device{}) == extract(set, set));
  }
}

template <class Graph>
void expect_same_submatrix(const Graph& a, const std::vector<NodeId>& rows, const std::vector<NodeId>& cols) {
  const Graph there = extract(a.to(*test::cuda_device()), rows, cols);
  EXPECT_TRUE(there.device() == *test::cuda_device());
  const Graph back = there.to(Device{});
  back.validate();
  EXPECT_TRUE(back == extract(a, rows, cols));
}

TEST(ExtractOnCuda, Submatrices) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern a = test::random_pattern(1300, 90, 0.2, 1);
  std::vector<NodeId> rows, cols, rising;
  for (NodeId n = 0; n < 1500; ++n) rows.push_back((n * 7) % 1300);  // some twice
  for (NodeId n = 0; n < 50; ++n) cols.push_back((n * 37 + 5) % 90);
  for (NodeId n = 0; n < 90; n += 2) rising.push_back(n);
  const std::vector<NodeId> none;
  const BitVector some_rows = every_third(1300, {});
  const BitVector some_cols = every_third(90, {});
  const auto check = [&](const auto& matrix) {
    for (const auto& columns : {cols, rising, none}) expect_same_submatrix(matrix, rows, columns);
    expect_same_submatrix(matrix, none, cols);
    const auto there = extract(matrix.to(device), some_rows.to(device), some_cols.to(device));
    EXPECT_TRUE(there.to(Device{}) == extract(matrix, some_rows, some_cols));
  };
  check(a);
  for (const int k : tile_dims) check(pack(a, {.tile_dim = k}));
  const CsrPattern skewed = test::rmat_pattern(11, 40000, 3);
  std::vector<NodeId> backwards;
  for (NodeId n = 0; n < skewed.ncols(); ++n) backwards.push_back(skewed.ncols() - 1 - n);
  expect_same_submatrix(skewed, backwards, backwards);
  expect_same_submatrix(test::random_pattern(40, 50, 0, 1), {3, 1}, {2, 1});
}

TEST(ExtractOnCuda, ErrorsNameOperandsThatDoNotFit) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern a = test::random_pattern(4, 5, 0.5, 1).to(device);
  const std::vector<NodeId> good{0, 1};
  const std::vector<NodeId> far{0, 9, 7};
  const std::vector<NodeId> twice{2, 1, 1, 2};
  test::expect_usage_error([&] { (void)extract(a, far, good); }, "index 9 of 4 rows");
  test::expect_usage_error([&] { (void)extract(a, good, far); }, "index 9 of 5 columns");
  test::expect_usage_error([&] { (void)extract(a, good, twice); }, "column 1 is named twice");
  test::expect_usage_error([&] { (void)extract(Buffer<float>(3, device), std::span<const NodeId>(far)); }, "index 9");
  test::expect_usage_error([&] { (void)extract(BitVector(3, device), std::span<const NodeId>(far)); }, "index 9");
  test::expect_usage_error([&] { (void)set_of(5, far); }, "index 9 of 5 elements");
  test::expect_usage_error([&] { (void)extract(Buffer<float>(3), Buffer<NodeId>(1, NodeId{0}, device)); },
                           "indices on");
}

}  // namespace
}  // namespace bitgraph
