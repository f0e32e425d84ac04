// SPDX-License-Identifier: Apache-2.0
// Columns side by side at every offset, on every backend.
#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/random_levels.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/formats/quantized_matrix.hpp>
#include <bitgraph/ops/concat.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace bitgraph {
namespace {

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;

/// Widths of the parts, around words and fours of floats, nothing among them.
std::vector<std::vector<std::size_t>> all_widths() {
  std::vector<std::vector<std::size_t>> widths{
      {0},       {0, 0},         {7},        {64, 64},   {128, 256},
      {0, 5, 0}, {3, 60, 1, 64}, {63, 1, 2}, {40, 8, 4}, {1, 1, 1, 1, 1, 1, 1, 1},
      {130, 500}};
  for (std::size_t width = 1; width < 130; width += 9) {
    widths.push_back({width, 130 - width});
    widths.push_back({width, 64, 70});
  }
  return widths;
}

Bits part(const Bits&, std::size_t nrows, std::size_t ncols, std::uint64_t seed) {
  return test::random_bits(nrows, ncols, seed);
}
Floats part(const Floats&, std::size_t nrows, std::size_t ncols, std::uint64_t seed) {
  return test::random_dense(nrows, ncols, seed);
}
float element(const Bits& x, std::size_t i, std::size_t j) { return x.value(i, j); }
float element(const Floats& x, std::size_t i, std::size_t j) { return x(i, j); }
bool is_clean(const Bits& x) { return test::padding_is_zero(x); }
bool is_clean(const Floats&) { return true; }

template <class X>
void expect_parts(const X& out, const std::vector<X>& parts) {
  ASSERT_TRUE(is_clean(out));
  std::size_t first = 0;
  for (const X& p : parts) {
    for (std::size_t i = 0; i < p.nrows(); ++i) {
      for (std::size_t j = 0; j < p.ncols(); ++j) ASSERT_EQ(element(out, i, first + j), element(p, i, j));
    }
    first += p.ncols();
  }
}

template <class X>
void check(const Device& device, std::size_t nrows) {
  for (const auto& widths : all_widths()) {
    SCOPED_TRACE(testing::PrintToString(widths));
    std::vector<X> parts;
    std::vector<X> there;
    std::vector<const X*> pointers;
    std::size_t ncols = 0;
    there.reserve(widths.size());
    for (const std::size_t width : widths) {
      parts.push_back(part(X(), nrows, width, parts.size()));
      there.push_back(parts.back().to(device));
      pointers.push_back(&there.back());
      ncols += width;
    }
    X out = part(X(), nrows, ncols, 99).to(device);
    concat_into(out, std::span<const X* const>(pointers));
    expect_parts(out.to(Device{}), parts);
  }
}

TEST(Concat, BitsAtEveryOffset) {
  test::with_thread_counts([](const Device& device) { check<Bits>(device, 37); });
  check<Bits>(Device::host(2), 3000);
  check<Bits>(Device{}, 0);
}

TEST(Concat, Floats) {
  test::with_thread_counts([](const Device& device) { check<Floats>(device, 37); });
  check<Floats>(Device{}, 0);
}

TEST(ConcatCuda, BitsAtEveryOffset) {
  BITGRAPH_REQUIRE_CUDA();
  check<Bits>(*test::cuda_device(), 517);
  check<Bits>(*test::cuda_device(), 0);
}

TEST(ConcatCuda, Floats) {
  BITGRAPH_REQUIRE_CUDA();
  check<Floats>(*test::cuda_device(), 517);
  check<Floats>(*test::cuda_device(), 0);
}

/// Parts of whole words but for the last one, on the scale of the output.
void check_levels(const Device& device, std::size_t nrows) {
  const auto check = [&](int bits, LevelPacking packing, const std::vector<std::size_t>& widths) {
    SCOPED_TRACE(std::to_string(bits) + " bits, parts " + testing::PrintToString(widths));
    std::vector<QuantizedMatrix> parts, there;
    std::vector<const QuantizedMatrix*> pointers;
    std::size_t ncols = 0;
    there.reserve(widths.size());
    for (const std::size_t width : widths) {
      parts.push_back(test::random_levels(nrows, width, bits, parts.size()));
      there.push_back(to_packing(parts.back(), packing).to(device));
      pointers.push_back(&there.back());
      ncols += width;
    }
    QuantizedMatrix out = to_packing(test::random_levels(nrows, ncols, bits, 99), packing).to(device);
    out.set_scale(test::random_scale(ScaleExtent::tensor, 1, true, 5).to(device));
    concat_into(out, std::span<const QuantizedMatrix* const>(pointers));
    EXPECT_EQ(out.scale().extent, ScaleExtent::tensor) << "the scale stays";
    const DenseMatrix<std::uint32_t> levels = to_levels(to_packing(out.to(Device{}), LevelPacking::places));
    std::size_t first = 0;
    for (const QuantizedMatrix& p : parts) {
      for (std::size_t i = 0; i < nrows; ++i) {
        for (std::size_t j = 0; j < p.ncols(); ++j) ASSERT_EQ(levels(i, first + j), p.level(i, j)) << i << ", " << j;
      }
      first += p.ncols();
    }
  };
  for (const int bits : {1, 2, 3, 4, 7, 8, 11, 16}) {
    check(bits, LevelPacking::places, {16, 32});
    check(bits, LevelPacking::places, {64, 16, 37});
    check(bits, LevelPacking::places, {5});
  }
  check(2, LevelPacking::planes, {64, 128, 64});
  check(2, LevelPacking::planes, {64, 70});
}

TEST(Concat, LevelsOfEveryPacking) {
  test::with_thread_counts([](const Device& device) { check_levels(device, 37); });
  check_levels(Device{}, 0);
}

TEST(ConcatCuda, LevelsOfEveryPacking) {
  BITGRAPH_REQUIRE_CUDA();
  check_levels(*test::cuda_device(), 517);
}

TEST(Concat, ErrorsNameTheLevelsThatDoNotFit) {
  const auto of = [](std::size_t columns, int bits) { return QuantizedMatrix(2, columns, bits); };
  QuantizedMatrix out = of(48, 4);
  test::expect_usage_error([&] { concat_into(out, of(32, 4), of(16, 8)); },
                           "part 1 has levels of 8 bits, the output of 4");
  test::expect_usage_error([&] { concat_into(out, of(40, 4), of(8, 4)); },
                           "the 40 columns of levels of part 0 end within a word of 64 bits");
  EXPECT_TRUE(levels_fill_words(48, 4));
  EXPECT_FALSE(levels_fill_words(40, 4));
  EXPECT_TRUE(levels_fill_words(8, 8));
  EXPECT_FALSE(levels_fill_words(96, 2, LevelPacking::planes));
}

TEST(Concat, TwoInOneCall) {
  const Bits a = test::random_bits(5, 30, 1);
  const Bits b = test::random_bits(5, 70, 2);
  const Bits both = concat(a, b);
  EXPECT_EQ(both.ncols(), 100U);
  EXPECT_EQ(both.bit(4, 29), a.bit(4, 29));
  EXPECT_EQ(both.bit(4, 99), b.bit(4, 69));
}

TEST(Concat, ErrorsNameTheOperandsThatDoNotFit) {
  Floats out(2, 7);
  test::expect_usage_error([&] { concat_into(out, Floats(2, 3), Floats(3, 4)); }, "the parts are 2 x 3, 3 x 4");
  test::expect_usage_error([&] { concat_into(out, Floats(2, 3), Floats(2, 3)); }, "the output is 2 x 7");
  test::expect_usage_error([&] { concat_into(out, out, Floats(2, 0)); }, "the output is one of the parts");
  const std::vector<const Floats*> none;
  test::expect_usage_error([&] { concat_into(out, std::span<const Floats* const>(none)); }, "0 parts");
}

}  // namespace
}  // namespace bitgraph
