// SPDX-License-Identifier: Apache-2.0
// Every product on a CUDA device against the host's, bit for bit: each case, format and use of a mask.
#include "ops/mxm/mxm_cases.hpp"
#include "support/cuda_device.hpp"

#include <bitgraph/ops/mxm.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bitgraph {
namespace {

void expect_same_counts(const CsrMatrix<std::uint32_t>& expected, const CsrMatrix<std::uint32_t>& actual) {
  ASSERT_TRUE(expected.pattern() == actual.pattern());
  for (std::size_t e = 0; e < expected.nvals(); ++e)
    ASSERT_EQ(expected.values()[e], actual.values()[e]) << "entry " << e;
}

enum class Masked { no, inside, outside };

template <class Graph>
MatrixMask<Graph> mask_of(const Graph& mask, Masked masked) {
  if (masked == Masked::no) return {};
  return masked == Masked::inside ? MatrixMask<Graph>(mask) : ~mask;
}

template <class Graph>
void expect_same_sums(const Graph& a, const Graph& b, const Graph& mask) {
  const Device& device = *test::cuda_device();
  const Graph a_there = a.to(device), b_there = b.to(device), mask_there = mask.to(device);
  EXPECT_EQ(mxm_sum(a, b), mxm_sum(a_there, b_there));
  EXPECT_EQ(mxm_sum(a, b, mask), mxm_sum(a_there, b_there, mask_there));
  const Graph b_transposed = transpose(b);
  EXPECT_EQ(mxm_sum(a, b_transposed, mask, {.transpose_b = true}),
            mxm_sum(a_there, b_transposed.to(device), mask_there, {.transpose_b = true}));
}

template <class Graph>
void expect_same_products(const Graph& a, const Graph& b, const Graph& mask) {
  const Device& device = *test::cuda_device();
  const Graph a_there = a.to(device), b_there = b.to(device), mask_there = mask.to(device);
  for (const Masked masked : {Masked::no, Masked::inside, Masked::outside}) {
    SCOPED_TRACE(static_cast<int>(masked));
    const Graph product = mxm(or_and, a_there, b_there, mask_of(mask_there, masked));
    EXPECT_TRUE(product.device() == device);
    const Graph back = product.to(Device{});
    back.validate();
    EXPECT_TRUE(mxm(or_and, a, b, mask_of(mask, masked)) == back);
    expect_same_counts(mxm(plus_pair, a, b, mask_of(mask, masked)),
                       mxm(plus_pair, a_there, b_there, mask_of(mask_there, masked)).to(Device{}));
  }
}

template <class Fn>
void in_every_format(const test::MxmCase& c, const Fn& fn) {
  SCOPED_TRACE(c.name);
  fn(c.a, c.b, c.mask);
  for (const int k : tile_dims) {
    SCOPED_TRACE("tiles of " + std::to_string(k));
    fn(pack(c.a, {.tile_dim = k}), pack(c.b, {.tile_dim = k}), pack(c.mask, {.tile_dim = k}));
  }
}

const auto sums = [](const auto& a, const auto& b, const auto& mask) { expect_same_sums(a, b, mask); };
const auto products = [](const auto& a, const auto& b, const auto& mask) { expect_same_products(a, b, mask); };

TEST(MxmCuda, SumsAgreeWithTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  for (const test::MxmCase& c : test::mxm_cases()) in_every_format(c, sums);
}

TEST(MxmCuda, ProductsAgreeWithTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  for (const test::MxmCase& c : test::mxm_cases()) in_every_format(c, products);
}

/// Rows of every class, bit rows of hubs, several chunks of entries; hubs on either side.
TEST(MxmCuda, SkewedMatrices) {
  BITGRAPH_REQUIRE_CUDA();
  const CsrPattern a = test::rmat_pattern(12, 60000, 5);
  const CsrPattern b = test::rmat_pattern(12, 30000, 6);
  in_every_format({"skewed", a.clone(), b.clone(), b.clone()}, sums);
  in_every_format({"skewed square", a.clone(), a.clone(), a.clone()}, sums);
  in_every_format({"skewed", b.clone(), b.clone(), a.clone()}, products);
}

TEST(MxmCuda, SparseEvenMatrices) {
  BITGRAPH_REQUIRE_CUDA();
  const CsrPattern a = test::random_pattern(9000, 7000, 1e-3, 7);
  const CsrPattern b = test::random_pattern(7000, 8000, 2e-3, 8);
  const CsrPattern mask = test::random_pattern(9000, 8000, 1e-3, 9);
  in_every_format({"even", a.clone(), b.clone(), mask.clone()}, sums);
  expect_same_products(a, b, mask);
}

/// More columns than shared memory has bits for; rows that a block sorts, and longer ones.
TEST(MxmCuda, VeryWideMatrices) {
  BITGRAPH_REQUIRE_CUDA();
  constexpr NodeId wide = (NodeId{1} << 21) + 77;
  const CsrPattern a = test::random_pattern(50, 300, 0.3, 1);
  const CsrPattern mask = test::random_pattern(50, wide, 1e-4, 3);
  for (const double density : {2e-6, 8e-6, 3e-5}) {
    expect_same_products(a, test::random_pattern(300, wide, density, 2), mask);
  }
}

/// Rows of up to 16, 32, 64, 128 and 256 products, many of which are the same.
TEST(MxmCuda, ShortRows) {
  BITGRAPH_REQUIRE_CUDA();
  for (const double degree : {2.0, 5.0, 7.0, 10.0, 14.0}) {
    const CsrPattern a = test::random_pattern(3000, 200, degree / 200, 1);
    const CsrPattern b = test::random_pattern(200, 900, degree / 900, 2);
    expect_same_products(a, b, test::random_pattern(3000, 900, 0.02, 3));
    expect_same_sums(a, b, test::random_pattern(3000, 900, 0.02, 3));
  }
}

TEST(MxmCuda, ARepeatedSumAllocatesNothing) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern a = test::rmat_pattern(12, 60000, 5).to(device);
  const std::uint64_t first = mxm_sum(a, a, a);
  EXPECT_NE(first, 0U);
  const std::size_t before = device.memory().allocations;
  for (int n = 0; n < 3; ++n) {
    EXPECT_EQ(mxm_sum(a, a, a), first);
    EXPECT_NE(mxm_sum(a, a), 0U);
  }
  EXPECT_EQ(device.memory().allocations, before);
}

}  // namespace
}  // namespace bitgraph
