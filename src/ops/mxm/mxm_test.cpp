// SPDX-License-Identifier: Apache-2.0
// Every product on every format and instruction set against one made by hand from the operands' bits.
#include "ops/mxm/column_set.hpp"
#include "ops/mxm/mxm_cases.hpp"
#include "support/everywhere.hpp"

#include <bitgraph/ops/mxm.hpp>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace bitgraph {
namespace {

using test::mxm_cases;
using Case = test::MxmCase;

/// Counts of A B by the definition, dense.
std::vector<std::uint32_t> dense_product(const CsrPattern& a, const CsrPattern& b) {
  std::vector<std::uint32_t> counts(std::size_t{a.nrows()} * b.ncols());
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (const NodeId k : a.row(i)) {
      for (const NodeId j : b.row(k)) ++counts[std::size_t{i} * b.ncols() + j];
    }
  }
  return counts;
}

enum class Masked { no, inside, outside };

/// The counts that a mask leaves.
std::vector<std::uint32_t> masked_counts(const Case& c, Masked masked) {
  std::vector<std::uint32_t> counts = dense_product(c.a, c.b);
  if (masked == Masked::no) return counts;
  std::vector<bool> inside(counts.size());
  for (NodeId i = 0; i < c.mask.nrows(); ++i) {
    for (const NodeId j : c.mask.row(i)) inside[std::size_t{i} * c.mask.ncols() + j] = true;
  }
  for (std::size_t n = 0; n < counts.size(); ++n) {
    if (inside[n] != (masked == Masked::inside)) counts[n] = 0;
  }
  return counts;
}

std::uint64_t sum_of(const std::vector<std::uint32_t>& counts) {
  std::uint64_t sum = 0;
  for (const std::uint32_t count : counts) sum += count;
  return sum;
}

template <class Graph>
MatrixMask<Graph> mask_of(const Graph& mask, Masked masked) {
  if (masked == Masked::no) return {};
  return masked == Masked::inside ? MatrixMask<Graph>(mask) : ~mask;
}

void expect_pattern(const CsrPattern& actual, const std::vector<std::uint32_t>& counts) {
  actual.validate();
  std::size_t entries = 0;
  for (const std::uint32_t count : counts) entries += count == 0 ? 0U : 1U;
  ASSERT_EQ(actual.nvals(), entries);
  for (NodeId i = 0; i < actual.nrows(); ++i) {
    for (const NodeId j : actual.row(i)) EXPECT_NE(counts[std::size_t{i} * actual.ncols() + j], 0U) << i << ", " << j;
  }
}

CsrPattern as_csr(const CsrPattern& a) { return a.clone(); }
CsrPattern as_csr(const BitTileMatrix& a) {
  a.validate();
  return unpack(a);
}

template <class Graph>
void expect_products(const Case& c, const Graph& a, const Graph& b, const Graph& mask) {
  const Graph b_transposed = transpose(b);
  EXPECT_EQ(mxm_sum(a, b), sum_of(dense_product(c.a, c.b)));
  EXPECT_EQ(mxm_sum(a, b, mask_of(mask, Masked::inside)), sum_of(masked_counts(c, Masked::inside)));
  EXPECT_EQ(mxm_sum(a, b_transposed, mask_of(mask, Masked::inside), {.transpose_b = true}),
            sum_of(masked_counts(c, Masked::inside)));
  for (const Masked masked : {Masked::no, Masked::inside, Masked::outside}) {
    SCOPED_TRACE(static_cast<int>(masked));
    const std::vector<std::uint32_t> expected = masked_counts(c, masked);
    const Graph product = mxm(or_and, a, b, mask_of(mask, masked));
    ASSERT_EQ(product.nrows(), a.nrows());
    ASSERT_EQ(product.ncols(), b.ncols());
    expect_pattern(as_csr(product), expected);
    const CsrMatrix<std::uint32_t> counts = mxm(plus_pair, a, b, mask_of(mask, masked));
    expect_pattern(counts.pattern(), expected);
    for (NodeId i = 0; i < counts.nrows(); ++i) {
      const auto columns = counts.pattern().row(i);
      for (std::size_t e = 0; e < columns.size(); ++e) {
        ASSERT_EQ(counts.row_values(i)[e], expected[std::size_t{i} * counts.ncols() + columns[e]]);
      }
    }
  }
}

void expect_products_in_every_format(const Case& c, const Device& device) {
  SCOPED_TRACE(c.name);
  expect_products(c, c.a.to(device), c.b.to(device), c.mask.to(device));
  for (const int k : tile_dims) {
    SCOPED_TRACE("tiles " + std::to_string(k));
    const auto tiles = [&](const CsrPattern& m) { return pack(m, {.tile_dim = k}, device).to(device); };
    expect_products(c, tiles(c.a), tiles(c.b), tiles(c.mask));
  }
}

TEST(Mxm, EveryProductEverywhere) {
  const std::vector<Case> all = mxm_cases();
  test::everywhere([&](const Device& device) {
    for (const Case& c : all) expect_products_in_every_format(c, device);
  });
}

TEST(Mxm, TheReferenceToo) {
  ::setenv("BITGRAPH_BACKEND", "reference", 1);
  for (const Case& c : mxm_cases()) expect_products_in_every_format(c, Device::host(1));
  ::unsetenv("BITGRAPH_BACKEND");
}

TEST(Mxm, RandomShapes) {
  EXPECT_TRUE(rc::check([] {
    const auto side = [] { return *rc::gen::inRange<NodeId>(0, 150); };
    const double density = *rc::gen::element(0.005, 0.05, 0.5);
    const auto seed = *rc::gen::arbitrary<std::uint32_t>();
    expect_products_in_every_format(test::random_mxm_case("random", side(), side(), side(), density, seed),
                                    Device::host(2));
  }));
}

/// More columns than counters are kept for: counts are hashed, and most tiles of A B are alone.
TEST(Mxm, CountsOfVeryWideMatrices) {
  constexpr NodeId wide = (NodeId{1} << 22) + 5000;
  const CsrPattern a = test::random_pattern(200, 300, 0.1, 1);
  const CsrPattern b = test::random_pattern(300, wide, 1e-5, 2);
  const CsrMatrix<std::uint32_t> counts = mxm(plus_pair, a, b);
  std::uint64_t sum = 0;
  for (const std::uint32_t count : counts.values()) sum += count;
  EXPECT_EQ(sum, mxm_sum(a, b));
  EXPECT_TRUE(counts.pattern() == mxm(or_and, a, b));
  for (NodeId i = 0; i < 200; i += 37) {
    std::vector<std::uint32_t> expected(wide);
    for (const NodeId k : a.row(i)) {
      for (const NodeId j : b.row(k)) ++expected[j];
    }
    const auto columns = counts.pattern().row(i);
    for (std::size_t e = 0; e < columns.size(); ++e) EXPECT_EQ(counts.row_values(i)[e], expected[columns[e]]);
  }
}

/// Many tiles with a bit or two are unpacked for what is compared row by row.
TEST(Mxm, LooseTiles) {
  const CsrPattern a = test::rmat_pattern(14, 150000, 1);
  const CsrPattern b = test::rmat_pattern(14, 140000, 2);
  const auto tiles = [](const CsrPattern& m) { return pack(m, {.tile_dim = 8}); };
  ASSERT_GT(tiles(b).num_tiles(), EdgeOffset{1} << 16U);
  EXPECT_EQ(mxm_sum(tiles(a), tiles(b), tiles(a)), mxm_sum(a, b, a));
  const BitTileMatrix one = tiles(b);
  EXPECT_EQ(mxm_sum(one, one, one, {.transpose_b = true}), mxm_sum(b, b, b, {.transpose_b = true}));
  EXPECT_TRUE(mxm(or_and, tiles(a), one, tiles(a)) == tiles(mxm(or_and, a, b, a)));
}

/// Hubs, which are met early, short rows, which are gathered, and rows that meet nowhere.
TEST(Mxm, BitsWithinAMaskAreWhereCountsAre) {
  const CsrPattern skewed = test::rmat_pattern(12, 60000, 1);
  const CsrPattern sparse = test::random_pattern(3000, 3000, 2.0 / 3000, 2);
  for (const CsrPattern* a : {&skewed, &sparse}) {
    for (const int threads : {1, 2, 5}) {
      const CsrPattern here = a->to(Device::host(threads));
      EXPECT_TRUE(mxm(or_and, here, here, here) == mxm(plus_pair, here, here, here).pattern());
    }
  }
}

TEST(Mxm, CountsTrianglesAsThePaperDoes) {
  // A clique of five has ten triangles.
  std::vector<NodeId> rows, cols;
  for (NodeId i = 0; i < 5; ++i) {
    for (NodeId j = 0; j < i; ++j) rows.push_back(i), cols.push_back(j);
  }
  const CsrPattern lower = csr_from_edges(5, 5, rows, cols);
  EXPECT_EQ(mxm_sum(lower, lower, lower, {.transpose_b = true}), 10U);
  EXPECT_EQ(mxm_sum(lower, lower, lower), 10U);
}

TEST(Mxm, ErrorsNameTheOperandsThatDoNotFit) {
  const CsrPattern a = test::random_pattern(4, 5, 0.5, 1);
  const CsrPattern b = test::random_pattern(6, 7, 0.5, 1);
  const CsrPattern c = test::random_pattern(5, 7, 0.5, 1);
  test::expect_usage_error([&] { (void)mxm(or_and, a, b); }, "A is 4 x 5, B is 6 x 7");
  test::expect_usage_error([&] { (void)mxm_sum(a, b); }, "A is 4 x 5, B is 6 x 7");
  test::expect_usage_error([&] { (void)mxm(plus_pair, a, c, ~b); }, "the product is 4 x 7, the mask 6 x 7");
  test::expect_usage_error([&] { (void)mxm_sum(a, c, a, {.transpose_b = true}); }, "B is 5 x 7, transposed");
  test::expect_usage_error([&] { (void)mxm_sum(a, c, MatrixMask<CsrPattern>{}); }, "the mask is empty");
  test::expect_usage_error([&] { (void)mxm(or_and, pack(a), pack(c, {.tile_dim = 16})); }, "tiles of side 8");
  const CsrPattern m = test::random_pattern(4, 7, 0.5, 1);
  test::expect_usage_error([&] { (void)mxm_sum(a, c, ~m); }, "complemented");
}

TEST(ColumnSet, GivesItsMembersInOrderAndIsEmptyThen) {
  for (const std::size_t n : {1U, 64U, 65U, 4096U, 4097U, 300000U}) {
    std::vector<std::uint64_t> words(ColumnSet::num_words(n));
    ColumnSet set(n, words.data());
    for (int round = 0; round < 2; ++round) {
      std::vector<std::size_t> members{0, n / 2, n - 1, n / 3};
      for (const std::size_t member : members) set.insert(member);
      EXPECT_FALSE(set.insert(n - 1));
      std::sort(members.begin(), members.end());
      members.erase(std::unique(members.begin(), members.end()), members.end());
      std::vector<std::size_t> drained;
      set.drain([&](std::size_t member) { drained.push_back(member); });
      EXPECT_EQ(drained, members);
      EXPECT_EQ(words, std::vector<std::uint64_t>(words.size()));
    }
  }
}

}  // namespace
}  // namespace bitgraph
