// SPDX-License-Identifier: Apache-2.0
// Columns side by side at every offset, on every backend.
#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"

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
