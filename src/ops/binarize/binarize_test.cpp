// SPDX-License-Identifier: Apache-2.0
#include "ops/binarize/binarize.hpp"

#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"
#include "support/shapes.hpp"

#include <bitgraph/ops/binarize.hpp>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

namespace bitgraph {
namespace {

using Floats = DenseMatrix<float>;

/// An output that holds something else already.
Binarized dirty(std::size_t nrows, std::size_t ncols) {
  return {test::random_bits(nrows, ncols, 99), Buffer<float>(nrows, -1.0F)};
}

Binarized reference(const Floats& x, const ColumnMap& map) {
  Binarized out = dirty(x.nrows(), x.ncols());
  const auto pointer = [](std::span<const float> s) { return s.empty() ? nullptr : s.data(); };
  binarize(Reference{},
           BinarizeArgs{x.view(), pointer(map.shift), pointer(map.scale), out.bits.view(), out.alpha.data()});
  return out;
}

void expect_same_everywhere(const Floats& x, const ColumnMap& map) {
  const Binarized expected = reference(x, map);
  test::everywhere([&](const Device& device) {
    const Binarized unset = dirty(x.nrows(), x.ncols());
    Binarized actual{unset.bits.to(device), unset.alpha.to(device)};
    binarize_into(actual, x, map);
    EXPECT_TRUE(actual.bits == expected.bits);
    EXPECT_TRUE(test::padding_is_zero(actual.bits));
    test::expect_identical(actual.alpha.span(), expected.alpha.span());
  });
}

TEST(Binarize, IsTheSameToTheLastBitEverywhere) {
  for (const test::Shape& shape : test::odd_shapes()) {
    const Floats x = test::random_dense(shape.nrows, shape.ncols, shape.ncols);
    const auto shift = test::random_floats(shape.ncols, 1, -0.5F, 0.5F);
    const auto scale = test::random_floats(shape.ncols, 2, 0.5F, 2);
    for (const ColumnMap& map : {ColumnMap{}, ColumnMap{shift, {}}, ColumnMap{{}, scale}, ColumnMap{shift, scale}}) {
      SCOPED_TRACE(testing::Message() << shape << (map.shift.empty() ? "" : " shift")
                                      << (map.scale.empty() ? "" : " scale"));
      expect_same_everywhere(x, map);
    }
  }
}

TEST(Binarize, SpecialValuesAreTheSameEverywhere) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float denormal = std::numeric_limits<float>::denorm_min();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float special : {0.0F, -0.0F, denormal, -denormal, infinity, -infinity, nan, -nan}) {
    for (const std::size_t at : {0U, 16U, 35U}) {  // in the vectors, and behind the last one
      Floats x = test::random_dense(2, 36, 1);
      x(1, at) = special;
      SCOPED_TRACE(testing::Message() << special << " at " << at);
      expect_same_everywhere(x, {});
      EXPECT_EQ(binarize(x).bits.bit(1, at), special >= 0);
    }
  }
}

TEST(Binarize, ZeroIsPlusOneAndAlphaIsTheMeanMagnitude) {
  const Binarized y = binarize(Floats(1, 4, Buffer<float>{0, -3, 2, -1}));
  EXPECT_TRUE(y.bits.bit(0, 0));
  EXPECT_FALSE(y.bits.bit(0, 1));
  EXPECT_TRUE(y.bits.bit(0, 2));
  EXPECT_FALSE(y.bits.bit(0, 3));
  EXPECT_EQ(y.alpha[0], 1.5F);
}

TEST(Binarize, TheColumnMapComesBeforeTheSign) {
  const std::vector<float> shift{1, -1, 1};
  const std::vector<float> scale{2, 3, 1};
  const Binarized y = binarize(Floats(1, 3, Buffer<float>{0, 0, 1}), {shift, scale});
  EXPECT_FALSE(y.bits.bit(0, 0));
  EXPECT_TRUE(y.bits.bit(0, 1));
  EXPECT_TRUE(y.bits.bit(0, 2)) << "1 - 1 is 0: +1";
  EXPECT_FLOAT_EQ(y.alpha[0], 5.0F / 3);
}

TEST(Binarize, ErrorsNameTheOperandsThatDoNotFit) {
  const Floats x(3, 4);
  Binarized out{BitMatrix<>(3, 5), Buffer<float>(3)};
  test::expect_usage_error([&] { binarize_into(out, x); }, "X is 3 x 4, the output is 3 x 5");
  out = {BitMatrix<>(3, 4), Buffer<float>(2)};
  test::expect_usage_error([&] { binarize_into(out, x); }, "with 2 scales");
  const std::vector<float> five(5);
  test::expect_usage_error([&] { (void)binarize(x, {five, {}}); }, "5 values for 4 columns");
  test::expect_usage_error([&] { (void)binarize(x, {{}, five}); }, "5 values for 4 columns");
  const CsrPattern pattern = test::random_pattern(4, 4, 0.3, 1);
  test::expect_usage_error([&] { (void)binarize(pattern, std::vector<float>(99)); }, "99 values for");
  test::expect_usage_error(
      [&] {
        (void)binarize(pattern, std::vector<float>(pattern.nvals()), {five, {}});
      },
      "5 values for 4 columns");
}

TEST(Binarize, ARepeatedCallAllocatesNothingAndNewOnesAreCounted) {
  const Device device = Device::host(2);
  const Floats x = test::random_dense(500, 70, 1).to(device);
  Binarized out = binarize(x);
  EXPECT_EQ(device.memory().live, x.bytes() + out.bits.bytes() + out.alpha.bytes());
  const std::size_t before = device.memory().allocations;
  for (int n = 0; n < 3; ++n) binarize_into(out, x);
  EXPECT_EQ(device.memory().allocations, before);
}

/// The sparse form gives the bits of the dense one, its scales to rounding, and no more flips than entries.
void expect_sparse_agrees(const CsrPattern& pattern, std::span<const float> values, const ColumnMap& map) {
  const Floats dense = test::dense_of(pattern, values);
  const Binarized expected = binarize(dense, map);
  const SparseBinarized serial = binarize(pattern.to(Device::host(1)), values, map);
  serial.bits.flips.validate();
  RC_ASSERT(to_bit_matrix(serial.bits) == expected.bits);
  RC_ASSERT(serial.bits.flips.nvals() <= pattern.nvals());
  for (std::size_t i = 0; i < dense.nrows(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < dense.ncols(); ++j) {
      float z = dense(i, j);
      if (!map.shift.empty()) z -= map.shift[j];
      if (!map.scale.empty()) z *= map.scale[j];
      sum += std::fabs(z);
    }
    const double mean = dense.ncols() == 0 ? 0 : sum / static_cast<double>(dense.ncols());
    RC_ASSERT(std::fabs(serial.alpha[i] - mean) <= 1e-6 * mean);
    RC_ASSERT(std::fabs(serial.alpha[i] - expected.alpha[i]) <= 2e-6F * expected.alpha[i]);
  }
  test::with_thread_counts([&](const Device& device) {
    const SparseBinarized parallel = binarize(pattern.to(device), values, map);
    RC_ASSERT(parallel.bits.base == serial.bits.base);
    RC_ASSERT(parallel.bits.flips == serial.bits.flips);
    test::expect_identical(parallel.alpha.span(), serial.alpha.span());
  });
}

TEST(Binarize, SparseAgreesWithDense) {
  EXPECT_TRUE(rc::check([] {
    const auto nrows = *rc::gen::inRange<NodeId>(0, 600);
    const auto ncols = *rc::gen::inRange<NodeId>(0, 200);
    const auto seed = *rc::gen::arbitrary<std::uint32_t>();
    const double density = *rc::gen::element(0.0, 0.01, 0.3);
    const CsrPattern pattern = test::random_pattern(nrows, ncols, density, seed);
    auto values = test::random_floats(pattern.nvals(), seed + 1, -2, 2);
    for (std::size_t e = 0; e < values.size(); e += 7) values[e] = 0;  // a stored zero is a zero
    auto shift = test::random_floats(ncols, seed + 2, -0.1F, 0.1F);
    for (std::size_t j = 0; j < shift.size(); j += 3) shift[j] = 0;  // what is absent stands on the border
    const auto scale = test::random_floats(ncols, seed + 3, 0.5F, 2);
    switch (*rc::gen::inRange(0, 3)) {
      case 0: return expect_sparse_agrees(pattern, values, {});
      case 1: return expect_sparse_agrees(pattern, values, {shift, {}});
      default: return expect_sparse_agrees(pattern, values, {shift, scale});
    }
  }));
}

TEST(Binarize, SparseByHand) {
  // Columns: 0 below its mean where absent, 1 without entries and without shift, 2 above where absent.
  const CsrPattern pattern = csr_from_edges(3, 3, std::vector<NodeId>{0, 1, 2}, std::vector<NodeId>{0, 2, 0});
  const std::vector<float> values{1, -4, 0.25F};
  const std::vector<float> shift{0.5F, 0, -1};
  const SparseBinarized y = binarize(pattern, values, {shift, {}});
  EXPECT_FALSE(y.bits.base.bit(0, 0));
  EXPECT_TRUE(y.bits.base.bit(0, 1)) << "0 is +1";
  EXPECT_TRUE(y.bits.base.bit(0, 2));
  EXPECT_TRUE(y.bits.flips == csr_from_edges(3, 3, std::vector<NodeId>{0, 1}, std::vector<NodeId>{0, 2}))
      << "0.25 is below 0.5 as an absent entry is";
  EXPECT_FLOAT_EQ(y.alpha[0], (0.5F + 0 + 1) / 3);
  EXPECT_FLOAT_EQ(y.alpha[1], (0.5F + 0 + 3) / 3);
  EXPECT_FLOAT_EQ(y.alpha[2], (0.25F + 0 + 1) / 3);
}

}  // namespace
}  // namespace bitgraph
