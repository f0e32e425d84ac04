// SPDX-License-Identifier: Apache-2.0
#include "formats/bits/bit_transpose.hpp"
#include "support/entry_sets.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/sparse_bit_matrix.hpp>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

namespace bitgraph {
namespace {

TEST(BitMatrix, BitsAreRowPackedLeastSignificantFirst) {
  BitMatrix<ZeroOne> a(2, 70);
  a.set_bit(0, 0, true);
  a.set_bit(0, 63, true);
  a.set_bit(0, 64, true);
  a.set_bit(1, 69, true);
  a.set_bit(1, 3, true);
  a.set_bit(1, 3, false);
  ASSERT_EQ(a.words().size(), 4U);
  EXPECT_EQ(a.words()[0], 0x8000000000000001U);
  EXPECT_EQ(a.words()[1], 0x1U);
  EXPECT_EQ(a.words()[2], 0x0U);
  EXPECT_EQ(a.words()[3], 0x20U);
  EXPECT_EQ(a.bytes(), 32U);
  EXPECT_EQ(a.value(0, 63), 1.0F);
  EXPECT_EQ(a.value(0, 62), 0.0F);
  EXPECT_EQ(BitMatrix<PlusMinusOne>(1, 1).value(0, 0), -1.0F);
}

TEST(BitMatrix, TakesWordsWithoutPaddingBits) {
  using Words = Buffer<std::uint64_t>;
  EXPECT_TRUE(BitMatrix<ZeroOne>(2, 3, Words{7, 5}).bit(1, 2));
  EXPECT_NO_THROW(BitMatrix<>(1, 64, Words{~std::uint64_t{0}}));
  EXPECT_NO_THROW(BitMatrix<>(5, 0, Words{}));
  const auto code_of = [](std::size_t nrows, std::size_t ncols, Words words) {
    try {
      (void)BitMatrix<PlusMinusOne>(nrows, ncols, std::move(words));
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::internal;
  };
  EXPECT_EQ(code_of(2, 3, Words{7}), ErrorCode::usage);
  EXPECT_EQ(code_of(2, 3, Words{7, 8}), ErrorCode::bad_input);
  EXPECT_EQ(code_of(1, 65, Words{0, 2}), ErrorCode::bad_input);
  // Rows times words wraps around to 0.
  EXPECT_EQ(code_of(std::size_t{1} << 63, 128, Words{}), ErrorCode::usage);
}

template <std::size_t K>
void check_bit_transpose() {
  EXPECT_TRUE(rc::check("bit (r, c) becomes bit (c, r)", [] {
    std::array<std::uint64_t, K> rows;
    for (auto& row : rows) row = *rc::gen::arbitrary<std::uint64_t>() & (~std::uint64_t{0} >> (64 - K));
    auto columns = rows;
    transpose_bits<K>(columns);
    for (std::size_t r = 0; r < K; ++r) {
      RC_ASSERT(K == 64 || columns[r] >> (K % 64) == 0);
      for (std::size_t c = 0; c < K; ++c) RC_ASSERT((rows[r] >> c & 1U) == (columns[c] >> r & 1U));
    }
  }));
}

TEST(BitTranspose, EveryTileSide) {
  check_bit_transpose<4>();
  check_bit_transpose<8>();
  check_bit_transpose<16>();
  check_bit_transpose<32>();
  check_bit_transpose<64>();
}

TEST(BitMatrix, TransposeExchangesRowsAndColumns) {
  EXPECT_TRUE(rc::check("and twice is the same", [](std::uint64_t seed) {
    const auto a = test::random_bits<PlusMinusOne>(test::arbitrary_side(), test::arbitrary_side(), seed);
    const auto b = transpose(a);
    RC_ASSERT(b.nrows() == a.ncols() && b.ncols() == a.nrows());
    RC_ASSERT(test::padding_is_zero(b));
    for (std::size_t i = 0; i < a.nrows(); ++i) {
      for (std::size_t j = 0; j < a.ncols(); ++j) RC_ASSERT(a.bit(i, j) == b.bit(j, i));
    }
    RC_ASSERT(transpose(b) == a);
  }));
}

TEST(BitMatrix, PatternAndBack) {
  EXPECT_TRUE(rc::check("csr to bits to csr", [] {
    const test::EntrySet entries = test::arbitrary_matrix();
    const CsrPattern a = test::csr_of(entries);
    const BitMatrix<ZeroOne> bits = to_bit_matrix(a);
    RC_ASSERT(bits.nrows() == a.nrows() && bits.ncols() == a.ncols());
    RC_ASSERT(test::padding_is_zero(bits));
    for (NodeId i = 0; i < a.nrows(); ++i) {
      for (NodeId j = 0; j < a.ncols(); ++j) RC_ASSERT(bits.bit(i, j) == entries.entries.contains({i, j}));
    }
    const CsrPattern back = to_csr(bits);
    back.validate();
    RC_ASSERT(back == a);
  }));
}

TEST(BitMatrix, DenseValuesFollowTheDomain) {
  const auto signs = test::random_bits<PlusMinusOne>(9, 65, 1);
  const auto ones = test::random_bits<ZeroOne>(9, 65, 1);
  const DenseMatrix<float> minus = to_dense(signs);
  const DenseMatrix<float> zero = to_dense(ones);
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t j = 0; j < 65; ++j) {
      EXPECT_EQ(minus(i, j), signs.bit(i, j) ? 1.0F : -1.0F);
      EXPECT_EQ(zero(i, j), ones.bit(i, j) ? 1.0F : 0.0F);
    }
  }
}

TEST(BitMatrix, NothingDependsOnTheThreads) {
  const auto pattern_of = [](int threads) { return test::random_pattern(3001, 517, 0.01, 4, Device::host(threads)); };
  const BitMatrix<ZeroOne> bits = to_bit_matrix(pattern_of(1));
  const BitMatrix<ZeroOne> turned = transpose(bits);
  for (const int threads : {2, 5}) {
    const CsrPattern a = pattern_of(threads);
    const BitMatrix<ZeroOne> same = to_bit_matrix(a);
    EXPECT_TRUE(same == bits) << threads;
    EXPECT_TRUE(transpose(same) == turned) << threads;
    EXPECT_TRUE(transpose(transpose(same)) == bits) << threads;
    EXPECT_TRUE(to_csr(same) == a) << threads;
  }
}

TEST(BitMatrix, TrustedWordsAreCountedAndNotLookedAt) {
  const auto with_padding = [] { return Buffer<std::uint64_t>(2, ~std::uint64_t{0}); };
  EXPECT_THROW((void)BitMatrix<ZeroOne>(2, 63, with_padding()), Error);
  const BitMatrix<ZeroOne> bits(2, 63, with_padding(), trusted);
  EXPECT_TRUE(bits.bit(1, 62));
  EXPECT_THROW((void)BitMatrix<ZeroOne>(3, 63, with_padding(), trusted), Error);
}

TEST(SparseBitMatrix, IsTheBaseRowWithFlips) {
  EXPECT_TRUE(rc::check("expanded", [](std::uint64_t seed) {
    const test::EntrySet flips = test::arbitrary_matrix();
    SparseBitMatrix a{test::random_bits<PlusMinusOne>(1, flips.ncols, seed), test::csr_of(flips)};
    const BitMatrix<PlusMinusOne> bits = to_bit_matrix(a);
    RC_ASSERT(test::padding_is_zero(bits));
    for (NodeId i = 0; i < flips.nrows; ++i) {
      for (NodeId j = 0; j < flips.ncols; ++j) {
        RC_ASSERT(bits.bit(i, j) == (a.base.bit(0, j) != flips.entries.contains({i, j})));
      }
    }
  }));
  const SparseBitMatrix narrow{BitMatrix<PlusMinusOne>(1, 3), csr_from_edges(2, 4, {}, {})};
  EXPECT_THROW((void)to_bit_matrix(narrow), Error);
}

}  // namespace
}  // namespace bitgraph
