// SPDX-License-Identifier: Apache-2.0
// Every CPU kernel against the reference: each case, instruction set, graph format, type pair, set of scales.
#include "ops/spmm/spmm_cases.hpp"

#include "core/devices/isa.hpp"
#include "ops/spmm/spmm.hpp"

#include <bitgraph/ops/spmm.hpp>

#include <gtest/gtest.h>

namespace bitgraph {
namespace {

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;

/// Random scales of the right lengths; kind 0 none, 1 those of rows and features, 2 of columns as well.
struct Scales {
  Scales(int kind, const CsrPattern& a, std::size_t width) {
    if (kind >= 1) {
      row = test::random_floats(a.nrows(), 11, 0.25F, 2);
      feature = test::random_floats(width, 12, -1, 1);
      offset = test::random_floats(width, 13, -3, 3);
      bias = test::random_floats(width, 14, -1, 1);
    }
    if (kind >= 2) col = test::random_floats(a.ncols(), 15, 0.25F, 2);
  }
  [[nodiscard]] SpmmOptions options() const {
    return {.row_scale = row, .col_scale = col, .feature_scale = feature, .feature_offset = offset, .bias = bias};
  }
  std::vector<float> row, col, feature, offset, bias;
};

template <class In, class Out>
Out reference(const CsrPattern& a, const In& x, const SpmmOptions& options) {
  Out out(a.nrows(), x.ncols());
  const auto pointer = [](std::span<const float> s) { return s.empty() ? nullptr : s.data(); };
  const SpmmArgs<CsrPatternView, decltype(x.view()), decltype(out.view())> args{
      a.view(),
      x.view(),
      out.view(),
      pointer(options.col_scale),
      {pointer(options.row_scale), pointer(options.feature_scale), pointer(options.feature_offset),
       pointer(options.bias)}};
  spmm(Reference{}, args);
  return out;
}

void expect_same(const Bits& expected, const Bits& actual, const std::string& what) {
  EXPECT_TRUE(expected == actual) << what;
  EXPECT_TRUE(test::padding_is_zero(actual)) << what;
}

/// Sums are taken in one order on every backend: equal to the last bit.
void expect_same(const Floats& expected, const Floats& actual, const std::string& what) {
  for (std::size_t n = 0; n < expected.values().size(); ++n) {
    ASSERT_EQ(expected.values()[n], actual.values()[n]) << what << " element " << n;
  }
}

template <class Out, class In>
void check(const test::SpmmCase& c, const In& x) {
  const CsrPattern& a = c.a;
  for (int kind = 0; kind < 3; ++kind) {
    const Scales scales(kind, a, c.width);
    const Out expected = reference<In, Out>(a, x, scales.options());
    for (const Isa isa : available_isas()) {
      const ScopedIsa scope(isa);
      ASSERT_EQ(active_isa(), isa);
      for (const int threads : {1, 3}) {
        const std::string what = c.name + " scales " + std::to_string(kind) + " " + std::string(to_string(isa));
        expect_same(expected, spmm<Out>(a, x.to(Device::host(threads)), scales.options()), what);
      }
      if constexpr (std::is_same_v<In, Bits>) {
        if (kind < 2) {
          for (const int threads : {1, 3}) {
            const In there = x.to(Device::host(threads));
            const std::string what =
                c.name + " SELL, scales " + std::to_string(kind) + " " + std::string(to_string(isa));
            expect_same(expected, spmm<Out>(to_sell(a), there, scales.options()), what);
            const SellStrips strips{3, a.ncols() / 3 + std::size_t{1}, true};
            expect_same(expected, spmm<Out>(to_sell(a, strips), there, scales.options()), what + ", strips");
          }
        }
      }
      for (const int k : tile_dims) {
        const std::string what = c.name + " tiles " + std::to_string(k) + " " + std::string(to_string(isa));
        expect_same(expected, spmm<Out>(pack(a, {.tile_dim = k}), x, scales.options()), what);
      }
    }
  }
}

class SpmmTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  static const test::SpmmCase& the_case() { return test::spmm_cases()[GetParam()]; }
};

TEST_P(SpmmTest, BitsToBits) { check<Bits>(the_case(), test::random_bits(the_case().a->ncols(), the_case().width, 1)); }
TEST_P(SpmmTest, BitsToFloats) {
  check<Floats>(the_case(), test::random_bits(the_case().a->ncols(), the_case().width, 2));
}
TEST_P(SpmmTest, FloatsToBits) {
  check<Bits>(the_case(), test::random_dense(the_case().a->ncols(), the_case().width, 3));
}
TEST_P(SpmmTest, FloatsToFloats) {
  check<Floats>(the_case(), test::random_dense(the_case().a->ncols(), the_case().width, 4));
}

INSTANTIATE_TEST_SUITE_P(Cases, SpmmTest, ::testing::Range(std::size_t{0}, test::spmm_cases().size()),
                         [](const auto& param) { return test::spmm_cases()[param.param].name; });

TEST(Spmm, AVoteByHand) {
  // Row 0 sees rows 0 and 2 of X, row 1 sees row 1, row 2 nothing.
  const CsrPattern a = csr_from_edges(3, 3, std::vector<NodeId>{0, 0, 1}, std::vector<NodeId>{0, 2, 1});
  Bits x(3, 2);
  x.set_bit(0, 0, true);  // row 0: +1 -1
  x.set_bit(1, 1, true);  // row 1: -1 +1
                          // row 2: -1 -1
  const Bits votes = spmm<BitMatrix>(a, x);
  EXPECT_TRUE(votes.bit(0, 0)) << "a tie is +1";
  EXPECT_FALSE(votes.bit(0, 1));
  EXPECT_FALSE(votes.bit(1, 0));
  EXPECT_TRUE(votes.bit(1, 1));
  EXPECT_TRUE(votes.bit(2, 0) && votes.bit(2, 1)) << "no neighbour is a tie";
  const Floats sums = spmm<DenseMatrix>(a, x);
  EXPECT_EQ(sums(0, 0), 0);
  EXPECT_EQ(sums(0, 1), -2);
  EXPECT_EQ(sums(2, 0), 0);
}

TEST(Spmm, TheReferenceReadsSell) {
  for (const test::SpmmCase& c : test::spmm_cases()) {
    const Bits x = test::random_bits(c.a->ncols(), c.width, 1);
    Bits out(c.a->nrows(), c.width);
    const SellPattern sell = to_sell(c.a);
    spmm(Reference{}, SpmmArgs<SellView, BitsIn, BitsOut>{sell.view(), x.view(), out.view(), nullptr, {}});
    EXPECT_TRUE((reference<Bits, Bits>(c.a, x, {}) == out)) << c.name;
  }
}

TEST(Spmm, ShapesThatDoNotFitAreNamed) {
  const CsrPattern a = test::random_pattern(4, 5, 0.5, 1);
  Bits out(4, 8);
  try {
    spmm_into(out, a, Bits(6, 8));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
    EXPECT_NE(std::string(error.what()).find("A is 4 x 5, X is 6 x 8"), std::string::npos) << error.what();
  }
  const std::vector<float> wrong(3);
  EXPECT_THROW(spmm_into(out, a, Bits(5, 8), {.row_scale = wrong}), Error);
}

TEST(Spmm, ARepeatedCallAllocatesNothing) {
  const Device device = Device::host(2);
  const CsrPattern a = test::random_pattern(500, 500, 0.02, 1, device);
  const Bits x = test::random_bits(500, 128, 1);
  Bits out(500, 128, device);
  const std::size_t before = device.memory().allocations;
  for (int n = 0; n < 3; ++n) spmm_into(out, a, x);
  EXPECT_EQ(device.memory().allocations, before);
}

TEST(Spmm, AnOrderIsForMoreThanAFewFeatures) {
  EXPECT_FALSE(spmm_sums_by_order(32));
  EXPECT_TRUE(spmm_sums_by_order(33));
}

/// What plans count on a device.
TEST(Spmm, CopiesAreOfRaggedRowsOrWithScales) {
  EXPECT_EQ(spmm_copy_bytes(100, 7, 1000, false), 100 * 8 * sizeof(float));
  EXPECT_EQ(spmm_copy_bytes(100, 7, 99, false), 0U);
  EXPECT_EQ(spmm_copy_bytes(100, 8, 1000, false), 0U);
  EXPECT_EQ(spmm_copy_bytes(100, 8, 1000, true), 100 * 8 * sizeof(float));
  EXPECT_EQ(spmm_copy_bytes(100, 64, 1000, true), 0U);
  EXPECT_EQ(spmm_copy_bytes(100, 64, 6400, true), 100 * 64 * sizeof(float));
  EXPECT_EQ(spmm_copy_bytes(100, 128, 6400, true), 0U);
  EXPECT_EQ(spmm_copy_bytes(100, 128, 2'000'000, true), 100 * 128 * sizeof(float));
  EXPECT_EQ(spmm_copy_bytes(100, 128, 2'000'000, false), 0U);
  EXPECT_EQ(spmm_copy_bytes(100, 65, 2'000'000, true), 0U);
  EXPECT_EQ(spmm_copy_bytes(100'000, 128, 2'000'000, true), 0U);
}

TEST(Spmm, CopiesForSignsOfManyEntriesHaveSixteenBits) {
  EXPECT_EQ(spmm_copy_bytes(1000, 100, 3'000'000, false, true), 1001 * 104 * 2 + 4U);
  EXPECT_EQ(spmm_copy_bytes(1000, 63, 3'000'000, false, true), 1000 * 64 * sizeof(float));
  EXPECT_EQ(spmm_copy_bytes(1000, 100, 1'800'000, false, true), 0U);
  EXPECT_EQ(spmm_copy_bytes(300'000, 100, 3'000'000, false, true), 0U);
}

}  // namespace
}  // namespace bitgraph
