// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/gemm.hpp"

#include "core/devices/isa.hpp"
#include "support/every_device.hpp"
#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/ops/binarize.hpp>
#include <bitgraph/ops/gemm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace bitgraph {
namespace {

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;

struct Shape {
  std::size_t n, d, c;
};

std::vector<Shape> shapes() {
  return {{0, 5, 5},  {5, 0, 3},    {5, 5, 0},     {1, 1, 1},      {3, 63, 7},   {4, 64, 8},
          {5, 65, 9}, {7, 130, 64}, {9, 1433, 65}, {130, 200, 70}, {2, 40000, 9}};
}

/// Those and others that are large enough for tiles: of one block and a part, of words that fill the unpacked rows and
/// of one more, of outputs that are done in several goes.
std::vector<Shape> shapes_for_bits() {
  const std::size_t longest = test::sanitized ? 200 : 1000;
  std::vector<Shape> all = shapes();
  for (const Shape& s :
       {Shape{256, 64, 32}, {257, 1024, 33}, {300, 500, 70}, {290, 1025, 48}, {300, longest, 300}, {259, 3, 64}})
    all.push_back(s);
  return all;
}

template <class Out>
Out reference(const Bits& x, const Bits& w, const GemmOptions& options) {
  Out out(x.nrows(), w.nrows());
  const auto pointer = [](std::span<const float> s) { return s.empty() ? nullptr : s.data(); };
  gemm(Reference{},
       GemmArgs<decltype(out.view())>{x.view(), w.view(), out.view(), pointer(options.row_scale),
                                      pointer(options.col_scale), pointer(options.bias),
                                      options.keep == nullptr ? BitMatrixView<ZeroOne>{} : options.keep->view()});
  return out;
}

TEST(Gemm, TheGradientOfSignsIsTheReferenceLoopEverywhere) {
  for (const Shape& s : {Shape{0, 5, 5},
                         {5, 0, 3},
                         {5, 5, 0},
                         {1, 1, 1},
                         {3, 63, 7},
                         {33, 64, 8},
                         {67, 65, 33},
                         {130, 700, 70},
                         {64, 130, 16}}) {
    const Floats g = test::random_dense(s.n, s.c, 1);
    const Bits x = test::random_bits(s.n + 3, s.d, 2);
    const auto keep = test::random_bits<ZeroOne>(s.n + 3, s.d, 3);
    const auto scale = test::random_floats(s.n + 3, 4, -1, 1);
    for (const SignGradientOptions& options :
         {SignGradientOptions{}, SignGradientOptions{scale, nullptr}, SignGradientOptions{scale, &keep}}) {
      Floats expected(s.c, s.d);
      sign_gradient(Reference{}, SignGradientArgs{expected.view(), g.view(), x.view(),
                                                  options.row_scale.empty() ? nullptr : options.row_scale.data(),
                                                  options.keep == nullptr ? BitMatrixView<ZeroOne>{} : keep.view()});
      Floats product(s.c, s.d);
      Floats signs(s.n, s.d);
      for (std::size_t i = 0; i < s.n; ++i) {
        for (std::size_t j = 0; j < s.d; ++j) {
          const bool counts = options.keep == nullptr || keep.bit(i, j);
          signs(i, j) = counts ? x.value(i, j) * (options.row_scale.empty() ? 1 : scale[i]) : 0;
        }
      }
      float_gemm(product, g, true, signs, false);
      test::everywhere([&](const Device& device) {
        Floats out = test::random_dense(s.c, s.d, 5).to(device);
        sign_gradient_into(out, g.share(device), x.to(device), options);
        test::expect_identical(out.values(), expected.values());
        for (std::size_t n = 0; n < out.values().size(); ++n) ASSERT_NEAR(out.values()[n], product.values()[n], 1e-4);
      });
    }
  }
  Floats out(3, 4);
  EXPECT_THROW(sign_gradient_into(out, Floats(5, 3), Bits(4, 4)), Error);
}

TEST(Gemm, SignGradientsOnCudaAreNearTheReferences) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const Shape& s : {Shape{1, 1, 1}, Shape{31, 63, 5}, Shape{33, 64, 16}, Shape{200, 65, 17}, Shape{2708, 1433, 64},
                         Shape{1000, 129, 70}, Shape{257, 200, 140}, Shape{65, 1000, 129}, Shape{0, 10, 3}}) {
    const Bits x = test::random_bits(s.n, s.d, 1);
    const Floats g = test::random_dense(s.n, s.c, 2);
    const auto keep = test::random_bits<ZeroOne>(s.n, s.d, 3);
    const auto scale = test::random_floats(s.n, 4, 0.5F, 2);
    const auto scale_there = Buffer<float>::copy_of(scale, device);
    const auto keep_there = keep.to(device);
    for (const bool masked : {false, true}) {
      Floats expected(s.c, s.d);
      sign_gradient(Reference{}, SignGradientArgs{expected.view(), g.view(), x.view(), scale.data(),
                                                  masked ? keep.view() : BitMatrixView<ZeroOne>{}});
      Floats out(s.c, s.d, device);
      sign_gradient_into(out, g.to(device), x.to(device), {scale_there.span(), masked ? &keep_there : nullptr});
      const Floats here = out.to(Device{});
      const double most = 1e-4 * std::sqrt(static_cast<double>(s.n) + 1);
      for (std::size_t n = 0; n < here.values().size(); ++n)
        ASSERT_NEAR(here.values()[n], expected.values()[n], most) << s.n << " " << s.d << " " << s.c;
      Floats again(s.c, s.d, device);
      sign_gradient_into(again, g.to(device), x.to(device), {scale_there.span(), masked ? &keep_there : nullptr});
      test::expect_identical(again.to(Device{}).values(), here.values());
    }
  }
}

TEST(Gemm, BitsMatchTheReferenceOnEveryInstructionSet) {
  for (const Shape& s : shapes_for_bits()) {
    const Bits x = test::random_bits(s.n, s.d, 1);
    const Bits w = test::random_bits(s.c, s.d, 2);
    const auto row = test::random_floats(s.n, 3, 0.5F, 2);
    const auto col = test::random_floats(s.c, 4, 0.5F, 2);
    const auto bias = test::random_floats(s.c, 5, -9, 9);
    const auto keep = test::random_bits<ZeroOne>(s.n, s.d, 6);
    for (const GemmOptions& options : {GemmOptions{}, GemmOptions{{}, col, bias, nullptr},
                                       GemmOptions{row, col, bias, nullptr}, GemmOptions{row, col, bias, &keep}}) {
      const Bits bits = reference<Bits>(x, w, options);
      const Floats floats = reference<Floats>(x, w, options);
      for (const Isa isa : available_isas()) {
        const ScopedIsa scope(isa);
        ASSERT_EQ(active_isa(), isa);
        const Bits y = gemm<Bits>(x, w.to(Device::host(2)), options);
        EXPECT_TRUE(y == bits) << s.n << " " << s.d << " " << s.c << " " << to_string(isa);
        EXPECT_TRUE(test::padding_is_zero(y));
        const Floats z = gemm<Floats>(x, w, options);
        for (std::size_t n = 0; n < z.values().size(); ++n)
          ASSERT_EQ(z.values()[n], floats.values()[n]) << to_string(isa);
      }
    }
  }
}

/// A few columns differ from the base row in each row.
SparseBitMatrix sparse_bits(NodeId nrows, NodeId ncols, std::uint64_t seed) {
  return {test::random_bits(1, ncols, seed), test::random_pattern(nrows, ncols, 0.05, seed)};
}

TEST(Gemm, SparseBitsGiveWhatTheirDenseFormGives) {
  for (const Shape& s : std::vector<Shape>{{50, 333, 64}, {20, 64, 7}, {3, 1000, 130}}) {
    const SparseBitMatrix x = sparse_bits(static_cast<NodeId>(s.n), static_cast<NodeId>(s.d), 7);
    const Bits w = test::random_bits(s.c, s.d, 8);
    const Bits dense = to_bit_matrix(x);
    EXPECT_TRUE((gemm<Bits>(x, w)) == (gemm<Bits>(dense, w)));
    const auto row = test::random_floats(s.n, 3, 0.5F, 2);
    const auto col = test::random_floats(s.c, 4, 0.5F, 2);
    const auto bias = test::random_floats(s.c, 5, -9, 9);
    const Floats a = gemm<Floats>(x, w, {row, col, bias, nullptr});
    const Floats b = gemm<Floats>(dense, w, {row, col, bias, nullptr});
    for (std::size_t n = 0; n < a.values().size(); ++n) EXPECT_NEAR(a.values()[n], b.values()[n], 1e-3F);
  }
}

TEST(Gemm, FloatOperandsAreBinarizedWithTheirScales) {
  const Floats x = test::random_dense(6, 100, 1);
  const Floats w = test::random_dense(5, 100, 2);
  const Floats y = gemm<Floats>(x, binarize(w).bits);
  const Floats z = gemm<Floats>(binarize(x).bits, w);
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t f = 0; f < 5; ++f) {
      float sum = 0, alpha = 0, m = 0;
      for (std::size_t j = 0; j < 100; ++j) {
        sum += (x(i, j) >= 0 ? 1.0F : -1.0F) * (w(f, j) >= 0 ? 1.0F : -1.0F);
        alpha += std::fabs(x(i, j)) / 100;
        m += std::fabs(w(f, j)) / 100;
      }
      EXPECT_NEAR(y(i, f), alpha * sum, 1e-3F);
      EXPECT_NEAR(z(i, f), m * sum, 1e-3F);
    }
  }
  EXPECT_TRUE((gemm<Bits>(x, w)) == (gemm<Bits>(binarize(x).bits, binarize(w).bits)));
}

/// A product by 1 or -1 is exact and the order is that of the columns: nothing may differ.
TEST(Gemm, FloatsTimesSignsMatchTheReferenceOnEveryInstructionSet) {
  for (const Shape& s : shapes()) {
    const Floats x = test::random_dense(s.n, s.d, 1);
    const Bits w = test::random_bits(s.c, s.d, 2);
    const auto row = test::random_floats(s.n, 3, 0.5F, 2);
    const auto col = test::random_floats(s.c, 4, 0.5F, 2);
    const auto bias = test::random_floats(s.c, 5, -9, 9);
    for (const GemmOptions& options : {GemmOptions{}, GemmOptions{.row_scale = row, .col_scale = col, .bias = bias}}) {
      const auto pointer = [](std::span<const float> values) { return values.empty() ? nullptr : values.data(); };
      Floats expected(s.n, s.c);
      gemm(Reference{}, GemmOfFloats{x.view(),
                                     w.view(),
                                     expected.view(),
                                     pointer(options.row_scale),
                                     pointer(options.col_scale),
                                     pointer(options.bias),
                                     {}});
      for (const Isa isa : available_isas()) {
        const ScopedIsa scope(isa);
        const Floats y = binary_weight_gemm(x.to(Device::host(2)), w, options);
        for (std::size_t n = 0; n < y.values().size(); ++n) {
          ASSERT_EQ(y.values()[n], expected.values()[n]) << s.n << " " << s.d << " " << s.c << " " << to_string(isa);
        }
      }
    }
  }
}

/// Counts have kernels of their own; rows of other numbers may stand among them.
TEST(Gemm, WholeNumbersTimesSignsMatchTheReferenceOnEveryInstructionSet) {
  for (const Shape& s : {Shape{300, 128, 41}, Shape{257, 64, 16}, Shape{600, 200, 100}, Shape{290, 512, 9},
                         Shape{270, 1, 33}, Shape{256, 513, 48}}) {
    for (const bool all : {true, false}) {
      Floats x = test::random_dense(s.n, s.d, 1);
      for (std::size_t i = 0; i < s.n; ++i) {
        for (float& v : x.row(i)) {
          const bool extreme = i % 5 == 0;
          v = extreme ? (v < 0 ? -32768.0F : 32767.0F) : std::round(v * 3000);
        }
        if (!all && i % 37 == 20) x(i, s.d / 2) = i % 2 == 0 ? 0.5F : 32768.0F;
      }
      const Bits w = test::random_bits(s.c, s.d, 2);
      const auto row = test::random_floats(s.n, 3, 0.5F, 2);
      const auto col = test::random_floats(s.c, 4, -2, 2);
      const auto bias = test::random_floats(s.c, 5, -9, 9);
      Floats expected(s.n, s.c);
      gemm(Reference{},
           GemmOfFloats{std::as_const(x).view(), w.view(), expected.view(), row.data(), col.data(), bias.data(), {}});
      for (const Isa isa : available_isas()) {
        const ScopedIsa scope(isa);
        for (const int threads : {1, 2}) {
          const GemmOptions options{.row_scale = row, .col_scale = col, .bias = bias};
          const Floats y = binary_weight_gemm(x.to(Device::host(threads)), w, options);
          for (std::size_t n = 0; n < y.values().size(); ++n) {
            ASSERT_EQ(y.values()[n], expected.values()[n]) << s.n << " " << s.d << " " << s.c << " " << to_string(isa);
          }
        }
      }
    }
  }
}

TEST(Gemm, FloatsTimesSignsByHand) {
  const Floats x(1, 3, Buffer<float>{1, 2, 4});
  Bits w(2, 3);
  w.set_bit(0, 0, true);
  w.set_bit(1, 2, true);
  const Floats y = binary_weight_gemm(x, w);
  EXPECT_EQ(y(0, 0), 1 - 2 - 4);
  EXPECT_EQ(y(0, 1), -1 - 2 + 4);
  const BitMatrix<ZeroOne> keep(1, 3);
  EXPECT_THROW((void)binary_weight_gemm(x, w, {.keep = &keep}), Error);
}

TEST(Gemm, FloatProductByHandAndTransposed) {
  const Floats a(2, 3, Buffer<float>{1, 2, 3, 4, 5, 6});
  const Floats b(3, 2, Buffer<float>{1, 0, 0, 1, 1, 1});
  Floats out(2, 2);
  float_gemm(out, a, false, b, false);
  EXPECT_EQ(out(0, 0), 4);
  EXPECT_EQ(out(1, 1), 11);
  Floats square(3, 3);
  float_gemm(square, a, true, a, false);
  EXPECT_EQ(square(0, 2), 1 * 3 + 4 * 6);
  EXPECT_THROW(float_gemm(out, a, false, a, false), Error);
}

/// OpenBLAS alone would take a processor that it does not know for one of 2004.
TEST(Gemm, FloatKernelsFitTheProcessor) {
  if (available_isas().back() < Isa::avx2) GTEST_SKIP() << "no AVX2 here";
  const std::string kernels = float_gemm_kernels(Device{});
  for (const char* old : {"Prescott", "Core2", "Nehalem", "Penryn", "Barcelona", "Generic", "Unknown"})
    EXPECT_EQ(kernels.find(old), std::string::npos) << kernels;
}

TEST(Gemm, ShapesThatDoNotFitAreNamed) {
  Bits out(2, 2);
  try {
    gemm_into(out, Bits(2, 3), Bits(2, 4));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("X is 2 x 3, W is 2 x 4"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace bitgraph
