// SPDX-License-Identifier: Apache-2.0
// binarize on a CUDA device: bits and scales of the host, to the last bit.
#include "support/cuda_device.hpp"
#include "support/random_matrices.hpp"
#include "support/shapes.hpp"

#include <bitgraph/ops/binarize.hpp>
#include <bitgraph/ops/gemm.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace bitgraph {
namespace {

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;

void expect_same(const Buffer<float>& expected, const Buffer<float>& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t n = 0; n < expected.size(); ++n) {
    if (std::isnan(expected[n]) && std::isnan(actual[n])) continue;
    ASSERT_EQ(expected[n], actual[n]) << "element " << n;
  }
}

void check(const Floats& x, std::span<const float> shift, std::span<const float> scale) {
  const Device& device = *test::cuda_device();
  const Binarized expected = binarize(x, {shift, scale});
  const auto shift_there = Buffer<float>::copy_of(shift, device);
  const auto scale_there = Buffer<float>::copy_of(scale, device);
  Binarized actual{test::random_bits(x.nrows(), x.ncols(), 99).to(device), Buffer<float>(x.nrows(), -1.0F, device)};
  binarize_into(actual, x.to(device), {shift_there.span(), scale_there.span()});
  const Bits bits = actual.bits.to(Device{});
  EXPECT_TRUE(expected.bits == bits);
  EXPECT_TRUE(test::padding_is_zero(bits));
  expect_same(expected.alpha, actual.alpha.to(Device{}));
}

TEST(BinarizeCuda, IsTheSameToTheLastBit) {
  BITGRAPH_REQUIRE_CUDA();
  for (const test::Shape& shape : test::odd_shapes()) {
    SCOPED_TRACE(testing::Message() << shape);
    const Floats x = test::random_dense(shape.nrows, shape.ncols, shape.ncols);
    const auto shift = test::random_floats(shape.ncols, 1, -0.5F, 0.5F);
    const auto scale = test::random_floats(shape.ncols, 2, 0.5F, 2);
    check(x, {}, {});
    check(x, shift, {});
    check(x, {}, scale);
    check(x, shift, scale);
  }
}

TEST(BinarizeCuda, SpecialValuesAreThoseOfTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float denormal = std::numeric_limits<float>::denorm_min();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float special : {0.0F, -0.0F, denormal, -denormal, infinity, -infinity, nan, -nan}) {
    Floats x = test::random_dense(3, 36, 1);
    x(1, 16) = special;
    x(2, 35) = special;
    SCOPED_TRACE(special);
    check(x, {}, {});
  }
}

TEST(BinarizeCuda, GemmOfFloatsGoesThroughIt) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const Floats x = test::random_dense(130, 300, 1);
  const Floats w = test::random_dense(70, 300, 2);
  const auto row = test::random_floats(130, 3, 0.5F, 2);
  const auto col = test::random_floats(70, 4, 0.5F, 2);
  const auto row_there = Buffer<float>::copy_of(row, device);
  const auto col_there = Buffer<float>::copy_of(col, device);
  const GemmOptions scales{.row_scale = row, .col_scale = col};
  const GemmOptions scales_there{.row_scale = row_there.span(), .col_scale = col_there.span()};
  const Bits weights = binarize(w).bits;
  const Bits signs = binarize(x).bits;
  const auto same = [](const Floats& a, const Floats& b) {
    return std::equal(a.values().begin(), a.values().end(), b.values().begin());
  };
  EXPECT_TRUE(same(gemm<Floats>(x, weights, scales),
                   gemm<Floats>(x.to(device), weights.to(device), scales_there).to(Device{})));
  EXPECT_TRUE(
      same(gemm<Floats>(signs, w, scales), gemm<Floats>(signs.to(device), w.to(device), scales_there).to(Device{})));
  EXPECT_TRUE(gemm<Bits>(x, w) == gemm<Bits>(x.to(device), w.to(device)).to(Device{}));
}

TEST(BinarizeCuda, PatternsHaveNoKernelAndThrowNotPossible) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern pattern = test::random_pattern(4, 4, 0.3, 1).to(device);
  try {
    (void)binarize(pattern, std::vector<float>(pattern.nvals()));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_possible);
  }
}

}  // namespace
}  // namespace bitgraph
