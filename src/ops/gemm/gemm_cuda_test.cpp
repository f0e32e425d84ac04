// SPDX-License-Identifier: Apache-2.0
// gemm on a CUDA device against the host's: bits and sums of bits equal to the last bit, sums of floats near.
#include "support/cuda_device.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/ops/binarize.hpp>
#include <bitgraph/ops/gemm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace bitgraph {
namespace {

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;

struct Shape {
  std::size_t n, d, c;
};

std::vector<Shape> shapes() {
  return {{0, 5, 5},        {5, 0, 3},        {5, 5, 0},       {1, 1, 1},     {3, 63, 7},     {4, 64, 8},
          {5, 65, 9},       {7, 130, 64},     {17, 256, 63},   {33, 257, 65}, {9, 1433, 65},  {130, 200, 70},
          {1000, 512, 256}, {300, 4100, 130}, {2, 40000, 9},   {1, 513, 1},   {50, 602, 128}, {77, 1024, 192},
          {66, 1025, 41},   {40, 128, 513},   {5000, 700, 200}};
}

void expect_same(const Bits& expected, const Bits& actual) {
  EXPECT_TRUE(expected == actual);
  EXPECT_TRUE(test::padding_is_zero(actual));
}
void expect_same(const Floats& expected, const Floats& actual) {
  for (std::size_t n = 0; n < expected.values().size(); ++n) {
    ASSERT_EQ(expected.values()[n], actual.values()[n]) << "element " << n;
  }
}

void expect_near(const Floats& expected, const Floats& actual, double bound) {
  for (std::size_t n = 0; n < expected.values().size(); ++n) {
    ASSERT_NEAR(expected.values()[n], actual.values()[n], bound) << "element " << n;
  }
}

/// Options on the host and on the device alike.
struct Scales {
  Scales(int kind, const Shape& s) {
    if (kind == 1 || kind == 2) {
      row = test::random_floats(s.n, 3, 0.5F, 2);
      col = test::random_floats(s.c, 4, 0.5F, 2);
      bias = test::random_floats(s.c, 5, -9, 9);
    }
    if (kind == 3) bias = std::vector<float>(s.c, -0.0F);
    if (kind == 2) keep = test::random_bits<ZeroOne>(s.n, s.d, 6);
    bring();
  }
  /// What has changed on the host goes to the device.
  void bring() {
    const Device& device = *test::cuda_device();
    row_there = Buffer<float>::copy_of(row, device);
    col_there = Buffer<float>::copy_of(col, device);
    bias_there = Buffer<float>::copy_of(bias, device);
    keep_there = keep.to(device);
    const bool kept = keep.nrows() != 0;
    host = {row, col, bias, kept ? &keep : nullptr};
    there = {row_there.span(), col_there.span(), bias_there.span(), kept ? &keep_there : nullptr};
  }
  std::vector<float> row, col, bias;
  BitMatrix<ZeroOne> keep, keep_there;
  Buffer<float> row_there, col_there, bias_there;
  GemmOptions host, there;
};

template <class Out, class X, class W>
void check(const X& x, const W& w, const Scales& scales) {
  const Device& device = *test::cuda_device();
  const Out actual = gemm<Out>(x.to(device), w.to(device), scales.there);
  expect_same(gemm<Out>(x, w, scales.host), actual.to(Device{}));
}

TEST(GemmCuda, BitsAreThoseOfTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  for (const Shape& s : shapes()) {
    const Bits x = test::random_bits(s.n, s.d, 1);
    const Bits w = test::random_bits(s.c, s.d, 2);
    for (int kind = 0; kind < 4; ++kind) {
      SCOPED_TRACE(testing::Message() << s.n << " " << s.d << " " << s.c << " options " << kind);
      const Scales scales(kind, s);
      check<Bits>(x, w, scales);
      check<Floats>(x, w, scales);
    }
  }
}

/// More rows than all warps have at a time, and what is left over comes in pieces.
TEST(GemmCuda, BitsOfManyRowsAreThoseOfTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  for (const Shape& s :
       {Shape{2708, 130, 256}, {9000, 70, 129}, {40000, 70, 200}, {36001, 30, 300}, {70000, 64, 128}}) {
    const Bits x = test::random_bits(s.n, s.d, 1);
    const Bits w = test::random_bits(s.c, s.d, 2);
    for (const int kind : {0, 1, 3}) {
      SCOPED_TRACE(testing::Message() << s.n << " " << s.d << " " << s.c << " options " << kind);
      check<Bits>(x, w, Scales(kind, s));
    }
  }
}

/// A float operand is binarized on the way; nothing may differ from the host, which does it beforehand.
TEST(GemmCuda, FloatsThatAreBinarizedGiveTheBitsOfTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  for (const Shape& s : shapes()) {
    const Floats x = test::random_dense(s.n, s.d, 1);
    const Bits w = test::random_bits(s.c, s.d, 2);
    for (const int kind : {0, 1}) {
      SCOPED_TRACE(testing::Message() << s.n << " " << s.d << " " << s.c << " options " << kind);
      const Scales scales(kind, s);
      check<Bits>(x, w, scales);
      check<Floats>(x, w, scales);
    }
  }
}

/// Rows of zeros, and scales that are 0, negative, infinite or NaN: what a sign becomes is not what it was.
TEST(GemmCuda, ScalesThatAreNotPositiveAreThoseOfTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Floats x = test::random_dense(40, 100, 1);
  for (std::size_t j = 0; j < 100; ++j) x(3, j) = x(17, j) = 0;
  x(5, 7) = infinity;
  x(20, 9) = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> row = test::random_floats(40, 3, 0.5F, 2);
  row[8] = 0;
  row[9] = -1;
  row[25] = -infinity;
  row[39] = std::numeric_limits<float>::denorm_min();
  const auto row_there = Buffer<float>::copy_of(row, device);
  const Bits w = test::random_bits(70, 100, 2);
  for (const bool scaled : {false, true}) {
    const GemmOptions host{.row_scale = scaled ? std::span<const float>(row) : std::span<const float>()};
    const GemmOptions there{.row_scale = scaled ? row_there.span() : std::span<const float>()};
    const Bits expected = gemm<Bits>(x, w, host);
    EXPECT_TRUE(expected == gemm<Bits>(x.to(device), w.to(device), there).to(Device{})) << scaled;
  }
}

/// Biases that sums meet exactly or nearly; scales that turn signs around, are 0, infinite or NaN.
TEST(GemmCuda, SignsTurnAtTheSumsWhereTheHostsDo) {
  BITGRAPH_REQUIRE_CUDA();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const bool wild : {false, true}) {
    std::vector<float> scales{1, -1, 0.1F, -0.1F, 3e-7F, -1.7F, 0, -0.0F, 1e-40F};
    std::vector<float> offsets{0, -0.0F, 0.5F, 1e-7F};
    std::vector<float> row_scales{0, -0.0F, -1.3F, 1e-40F};
    if (wild) {
      row_scales.insert(row_scales.end(), {infinity, -infinity, nan, 3e38F});
      scales.insert(scales.end(), {infinity, -infinity, nan, 1e30F, -1e30F});
      offsets.insert(offsets.end(), {infinity, -infinity, nan});
    }
    for (const Shape& s : {Shape{40, 100, 70}, Shape{600, 600, 256}, Shape{300, 1024, 140}}) {
      const Bits x = test::random_bits(s.n, s.d, 1);
      const Bits w = test::random_bits(s.c, s.d, 2);
      for (const bool biased : {false, true}) {
        for (const bool rows : {false, true}) {
          SCOPED_TRACE(testing::Message() << s.n << " " << s.d << " " << s.c << " " << wild << biased << rows);
          Scales options(rows ? 1 : 0, s);
          for (std::size_t i = 0; i < options.row.size(); i += 3) {
            options.row[i] = row_scales[i / 3 % row_scales.size()];
          }
          options.col.resize(s.c);
          options.bias.assign(biased ? s.c : 0, 0.0F);
          for (std::size_t f = 0; f < s.c; ++f) {
            options.col[f] = scales[f % scales.size()];
            const auto sum = static_cast<float>(static_cast<int>(f % 41) - 20);
            if (biased) options.bias[f] = options.col[f] * -sum + offsets[f / 7 % offsets.size()];
          }
          options.bring();
          check<Bits>(x, w, options);
        }
      }
    }
  }
}

/// Sums of whole numbers are exact in any order as long as their magnitudes add up to less than 2^24.
TEST(GemmCuda, WholeNumbersTimesSignsAreExact) {
  BITGRAPH_REQUIRE_CUDA();
  for (const Shape& s : shapes()) {
    SCOPED_TRACE(testing::Message() << s.n << " " << s.d << " " << s.c);
    Floats x = test::random_dense(s.n, s.d, 1);
    const float most = std::floor(16777215.0F / static_cast<float>(std::max<std::size_t>(s.d, 1)));
    for (float& value : x.values()) value = std::trunc(std::clamp(value, -1.0F, 1.0F) * most);
    const Bits w = test::random_bits(s.c, s.d, 2);
    const Scales scales(0, s);
    const Device& device = *test::cuda_device();
    const Floats actual = binary_weight_gemm(x.to(device), w.to(device), scales.there);
    expect_same(binary_weight_gemm(x, w, scales.host), actual.to(Device{}));
  }
}

TEST(GemmCuda, FloatsTimesSignsAreNearThoseOfTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const Shape& s : shapes()) {
    SCOPED_TRACE(testing::Message() << s.n << " " << s.d << " " << s.c);
    const Floats x = test::random_dense(s.n, s.d, 1);
    const Bits w = test::random_bits(s.c, s.d, 2);
    for (const int kind : {0, 1}) {
      const Scales scales(kind, s);
      const Floats expected = binary_weight_gemm(x, w, scales.host);
      const Floats actual = binary_weight_gemm(x.to(device), w.to(device), scales.there).to(Device{});
      for (std::size_t i = 0; i < s.n; ++i) {
        double magnitudes = 0;
        for (std::size_t j = 0; j < s.d; ++j) magnitudes += std::fabs(x(i, j));
        // Both sums have rounded, then three more operations; the scales are at most 4 together, the bias 9.
        const double bound = 2 * static_cast<double>(s.d + 1) * magnitudes * 4 * 0x1p-23 + 9 * 0x1p-22;
        for (std::size_t f = 0; f < s.c; ++f) ASSERT_NEAR(expected(i, f), actual(i, f), bound) << i << ", " << f;
      }
    }
  }
}

/// Large ones are cuBLAS's where it is there, small ones our own kernel's.
TEST(GemmCuda, FloatProductsAreNearThoseOfTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  std::vector<Shape> cases = shapes();
  cases.push_back({200, 40000, 30});
  for (const Shape& s : cases) {
    SCOPED_TRACE(testing::Message() << s.n << " " << s.d << " " << s.c);
    const Floats x = test::random_dense(s.n, s.d, 1);
    const Floats w = test::random_dense(s.c, s.d, 2);
    const Floats x_turned = test::random_dense(s.d, s.n, 3);
    const Floats w_turned = test::random_dense(s.d, s.c, 4);
    for (const bool turn_x : {false, true}) {
      for (const bool turn_w : {false, true}) {
        const Floats& a = turn_x ? x_turned : x;
        const Floats& b = turn_w ? w : w_turned;
        Floats expected = test::random_dense(s.n, s.c, 5);
        Floats there = expected.to(device);
        const Floats a_there = a.to(device);
        const Floats b_there = b.to(device);
        float_gemm(expected, a, turn_x, b, turn_w, 0.5F, 2);
        float_gemm(there, a_there, turn_x, b_there, turn_w, 0.5F, 2);
        expect_near(expected, there.to(Device{}), 1e-6 * (10 + static_cast<double>(s.d)));
      }
    }
    const Scales scales(1, s);
    const Floats expected = gemm<Floats>(x, w, scales.host);
    expect_near(expected, gemm<Floats>(x.to(device), w.to(device), scales.there).to(Device{}),
                4e-6 * (10 + static_cast<double>(s.d)));
  }
}

TEST(GemmCuda, FloatProductsAreTheSameInEveryCall) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const Floats a = test::random_dense(20000, 64, 1).to(device);
  const Floats b = test::random_dense(20000, 40, 2).to(device);
  const auto product = [&] {
    Floats out(64, 40, device);
    float_gemm(out, a, true, b, false);
    return out.to(Device{});
  };
  const Floats first = product();
  for (int n = 0; n < 5; ++n) expect_same(first, product());
}

TEST(GemmCuda, ARepeatedCallAllocatesNothing) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const Bits x = test::random_bits(500, 130, 1).to(device);
  const Bits w = test::random_bits(70, 130, 2).to(device);
  Bits out(500, 70, device);
  const std::size_t before = device.memory().allocations;
  for (int n = 0; n < 3; ++n) gemm_into(out, x, w);
  EXPECT_EQ(device.memory().allocations, before);
}

TEST(GemmCuda, ErrorsNameOperandsOnAnotherDevice) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  Bits out(5, 64, device);
  try {
    gemm_into(out, test::random_bits(5, 8, 1), test::random_bits(64, 8, 1).to(device));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
    EXPECT_NE(std::string(error.what()).find("X on cpu"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace bitgraph
