// SPDX-License-Identifier: Apache-2.0
#include "ops/quantize/quantize.hpp"

#include <bitgraph/ops/quantize.hpp>

#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/random_matrices.hpp"
#include "support/shapes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace bitgraph {
namespace {

using Floats = DenseMatrix<float>;

constexpr ScaleExtent extents[] = {ScaleExtent::tensor, ScaleExtent::row, ScaleExtent::column};

QuantizedMatrix reference(const Floats& x, const LevelScale& scale, int bits, Rounding rounding) {
  QuantizedMatrix out(x.nrows(), x.ncols(), bits);
  std::fill(out.levels().begin(), out.levels().end(), std::uint8_t{0xFF});  // something else
  quantize(Reference{}, QuantizeArgs{x.view(), out.view(), scale.extent, scale.steps.data(),
                                     scale.has_offsets() ? scale.offsets.data() : nullptr, rounding});
  return out;
}

void expect_same_everywhere(const Floats& x, const LevelScale& scale, int bits, Rounding rounding) {
  const QuantizedMatrix expected = reference(x, scale, bits, rounding);
  const auto check = [&](const Device& device) {
    QuantizedMatrix there(x.nrows(), x.ncols(), bits, device);
    there.levels().fill(0xFF);
    there.set_scale(scale.to(device));
    quantize_into(there, x.to(device), rounding);
    const QuantizedMatrix actual = there.to(Device{});
    ASSERT_TRUE(std::equal(actual.levels().begin(), actual.levels().end(), expected.levels().begin()));
  };
  test::everywhere(check);
  if (test::cuda_device()) check(*test::cuda_device());
  // What is behind the last column is zero: the constructor looks.
  const QuantizedMatrix checked(x.nrows(), x.ncols(), bits, expected.levels().clone());
}

TEST(Quantize, LevelsAreTheSameEverywhere) {
  for (const test::Shape& shape : test::odd_shapes()) {
    const Floats x = test::random_dense(shape.nrows, shape.ncols, shape.ncols);
    for (const int bits : {1, 2, 4, 5, 8, 12, 16}) {
      for (const ScaleExtent extent : extents) {
        for (const Rounding rounding : {Rounding::nearest, Rounding::floor}) {
          SCOPED_TRACE(testing::Message() << shape << ", " << bits << " bits, extent " << static_cast<int>(extent));
          LevelScale scale = choose_scale(x, {.bits = bits, .extent = extent, .rounding = rounding});
          for (float& step : scale.steps) step *= 0.8F;  // some values beyond the bounds
          expect_same_everywhere(x, scale, bits, rounding);
          scale.offsets = {};
          expect_same_everywhere(x, scale, bits, rounding);
        }
      }
    }
  }
}

/// What D^-1/2 is multiplied in by: the row first, then its place on the scale.
TEST(Quantize, RowsTimesFactorsAreTheSameEverywhere) {
  for (const test::Shape& shape : test::odd_shapes()) {
    const Floats x = test::random_dense(shape.nrows, shape.ncols, shape.ncols + 1);
    const std::vector<float> factors = test::random_floats(shape.nrows, 9, 0, 2);
    Floats scaled = x.clone();
    for (std::size_t i = 0; i < shape.nrows; ++i) {
      for (float& value : scaled.row(i)) value *= factors[i];
    }
    for (const int bits : {1, 4, 8, 16}) {
      for (const ScaleExtent extent : extents) {
        SCOPED_TRACE(testing::Message() << shape << ", " << bits << " bits, extent " << static_cast<int>(extent));
        const LevelScale scale = choose_scale(x, {.bits = bits, .extent = extent});  // some values beyond the bounds
        const QuantizedMatrix expected = reference(scaled, scale, bits, Rounding::nearest);
        const auto check = [&](const Device& device) {
          QuantizedMatrix there(shape.nrows, shape.ncols, bits, device);
          there.set_scale(scale.to(device));
          const Buffer<float> row_scale = Buffer<float>::copy_of(factors, device);
          quantize_into(there, x.to(device), Rounding::nearest, row_scale.span());
          const QuantizedMatrix actual = there.to(Device{});
          ASSERT_TRUE(std::ranges::equal(actual.levels().span(), expected.levels().span()));
        };
        test::everywhere(check);
        if (test::cuda_device()) check(*test::cuda_device());
      }
    }
  }
}

TEST(Quantize, SpecialValuesBecomeTheFirstOrTheLastLevel) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values{NAN, -NAN, infinity, -infinity, 1e38F, -1e38F, -0.0F, 1e-45F, 0.5F, 1.5F, 2.5F, 3};
  Floats x(3, values.size());
  for (std::size_t i = 0; i < 3; ++i) std::copy(values.begin(), values.end(), x.row(i).begin());
  const LevelScale scale{ScaleExtent::tensor, Buffer<float>{1}, {}};
  for (const Rounding rounding : {Rounding::nearest, Rounding::floor}) expect_same_everywhere(x, scale, 2, rounding);
  const QuantizedMatrix levels = reference(x, scale, 2, Rounding::nearest);
  const std::uint32_t expected[] = {0, 0, 3, 0, 3, 0, 0, 0, 0, 2, 2, 3};  // ties to even
  for (std::size_t j = 0; j < values.size(); ++j) EXPECT_EQ(levels.level(2, j), expected[j]) << values[j];
}

TEST(Quantize, QuotientsOfAnySizeAreTheSameEverywhere) {
  constexpr float sizes[] = {1e-45F, 3e-39F, 1e-31F, 0.1F, 1, 3, 7, 1e6F, 1e31F, 3e38F};
  Floats x(2, std::size(sizes) * 16);
  for (std::size_t j = 0; j < x.ncols(); ++j) {
    const float times = static_cast<float>(j % 16) + 0.5F * static_cast<float>(j % 3);  // ties and whole numbers too
    x(0, j) = sizes[j / 16] * times;
    x(1, j) = -x(0, j);
  }
  for (const float step : sizes) {
    for (const Rounding rounding : {Rounding::nearest, Rounding::floor}) {
      SCOPED_TRACE(testing::Message() << "step " << step);
      expect_same_everywhere(x, {ScaleExtent::tensor, Buffer<float>{step}, {}}, 4, rounding);
      const Buffer<float> steps(x.ncols(), step), offsets(x.ncols(), -step);
      expect_same_everywhere(x, {ScaleExtent::column, steps.clone(), offsets.clone()}, 16, rounding);
    }
  }
}

TEST(Quantize, FloorIsEquationTwo) {
  Floats x(1, 9);
  for (std::size_t j = 0; j < 9; ++j) x(0, j) = -1 + 0.25F * static_cast<float>(j);  // -1 .. 1
  const QuantizedMatrix q = quantize(x, {.bits = 2, .rounding = Rounding::floor});
  EXPECT_EQ(q.scale().steps[0], 0.5F);
  EXPECT_EQ(q.scale().offsets[0], -1.0F);
  const std::uint32_t expected[] = {0, 0, 1, 1, 2, 2, 3, 3, 3};
  for (std::size_t j = 0; j < 9; ++j) EXPECT_EQ(q.level(0, j), expected[j]);
}

TEST(Quantize, ValuesComeBackWithinHalfAStep) {
  const Floats x = test::random_dense(70, 33, 5);
  for (const int bits : {1, 2, 4, 8, 16}) {
    for (const ScaleExtent extent : extents) {
      const QuantizedMatrix q = quantize(x, {.bits = bits, .extent = extent});
      const Floats back = to_dense(q);
      for (std::size_t i = 0; i < 70; ++i) {
        for (std::size_t j = 0; j < 33; ++j)
          ASSERT_NEAR(back(i, j), x(i, j), 0.502F * q.scale().step(i, j)) << bits << " bits";
      }
    }
  }
}

TEST(Quantize, ConstantExtentsLoseNothing) {
  Floats x(4, 3);
  for (std::size_t i = 0; i < 4; ++i) {
    x(i, 0) = 7.25F;
    x(i, 1) = 0;
    x(i, 2) = -3e38F;
  }
  for (const Rounding rounding : {Rounding::nearest, Rounding::floor}) {
    const QuantizedMatrix q = quantize(x, {.bits = 3, .extent = ScaleExtent::column, .rounding = rounding});
    test::expect_identical(to_dense(q).values(), x.values());
  }
  const QuantizedMatrix nothing = quantize(Floats(0, 5), {.extent = ScaleExtent::column});  // nothing to calibrate on
  EXPECT_EQ(nothing.nrows(), 0U);
  EXPECT_EQ(nothing.scale().steps[4], 1.0F);
  EXPECT_EQ(quantize(Floats(5, 0)).ncols(), 0U);
}

TEST(Quantize, ARangeThatOverflowsFloatsStillHasASteps) {
  Floats x(1, 2);
  x(0, 0) = -3e38F;
  x(0, 1) = 3e38F;
  const QuantizedMatrix q = quantize(x, {.bits = 8});
  EXPECT_TRUE(std::isfinite(q.scale().steps[0]));
  EXPECT_EQ(q.level(0, 0), 0U);
}

TEST(Quantize, ZeroIsKeptWhereThatIsAskedFor) {
  Floats x = test::random_dense(20, 40, 8);
  for (float& value : x.values()) value = value > 0.3F ? 0 : value;
  for (const int bits : {2, 4, 8}) {
    const Floats back = to_dense(quantize(x, {.bits = bits, .extent = ScaleExtent::row, .keeps_zero = true}));
    for (std::size_t n = 0; n < x.values().size(); ++n) {
      if (x.values()[n] == 0) {
        ASSERT_EQ(back.values()[n], 0.0F);
      }
    }
  }
}

double squared_error(const Floats& x, const QuantizedMatrix& q) {
  double sum = 0;
  for (std::size_t i = 0; i < x.nrows(); ++i) {
    for (std::size_t j = 0; j < x.ncols(); ++j) sum += std::pow(q.value(i, j) - x(i, j), 2);
  }
  return sum;
}

TEST(Quantize, BoundsMadeForTheErrorLeaveOutliersOut) {
  Floats x = test::random_dense(50, 50, 4);
  x(3, 4) = 20;
  const double by_range = squared_error(x, quantize(x, {.bits = 2}));
  const double by_error = squared_error(x, quantize(x, {.bits = 2, .bounds = BoundsOf::least_error}));
  EXPECT_LT(by_error, 0.9 * by_range);
  const QuantizedMatrix by_share = quantize(x, {.bits = 4, .bounds = BoundsOf::percentile, .percentile = 99});
  EXPECT_LT(by_share.scale().steps[0] * 15, 2.0F);
  const QuantizedMatrix given = quantize(x, {.bits = 4, .given = Bounds{-1, 0.5F}});
  EXPECT_EQ(given.scale().steps[0], 0.1F);
  EXPECT_EQ(given.level(3, 4), 15U);
}

/// All values but one are small: with 2 bits, half of the range is still far too much for them.
TEST(Quantize, ClippedBoundsServeWhatIsNotAnOutlier) {
  Floats x = test::random_dense(50, 50, 4);
  for (float& value : x.values()) value = std::abs(value);
  x(3, 4) = 20;
  const auto error = [&](BoundsOf bounds) {
    return squared_error(x, quantize(x, {.bits = 2, .bounds = bounds, .keeps_zero = true}));
  };
  EXPECT_LT(error(BoundsOf::clipped), 0.8 * error(BoundsOf::least_error));
}

/// n values are spread evenly over 0 .. 1, and one is 20. With 7 bits and bounds 0 .. c, rounding costs
/// n (c / 127)^2 / 12, and cutting off (20 - c)^2: together the least at c = 20 / (1 + n / (12 127^2)) = 13.2.
TEST(Quantize, ClippedBoundsOfManyLevelsCutOffLessThanTheLeastErrorDoes) {
  constexpr std::size_t n = 100'000;
  Floats x(1, n);
  for (std::size_t j = 0; j < n; ++j) x(0, j) = static_cast<float>(j) / n;
  x(0, n / 2) = 20;
  const auto greatest = [&](int bits) {
    const QuantizeOptions options{.bits = bits, .bounds = BoundsOf::clipped, .keeps_zero = true};
    return choose_scale(x, options).steps[0] * static_cast<float>((1U << bits) - 1);
  };
  EXPECT_GT(greatest(7), 17);
  EXPECT_LT(greatest(4), 2);
}

/// With 4 bits the bounds are those of the least squared error of 40 tries, each 0.89 of the one before: here the
/// fifth.
TEST(Quantize, ClippedBoundsOfFewLevelsHaveTheLeastError) {
  Floats x(1, 20'000);
  for (std::size_t j = 0; j < 20'000; ++j) x(0, j) = -std::log((static_cast<float>(j * 7919 % 20'000) + 1) / 20'000);
  const LevelScale scale = choose_scale(x, {.bits = 4, .bounds = BoundsOf::clipped, .keeps_zero = true});
  EXPECT_NEAR(scale.steps[0] * 15, std::log(20'000.0) * std::pow(0.89, 4), 1e-3);
}

TEST(Quantize, PercentilesLeaveOutAsMuchBelowAsAbove) {
  Floats x(1, 101);
  for (std::size_t j = 0; j <= 100; ++j) x(0, j) = static_cast<float>((j * 37) % 101);  // 0 .. 100
  const LevelScale scale = choose_scale(x, {.bits = 4, .bounds = BoundsOf::percentile, .percentile = 90});
  EXPECT_EQ(scale.offsets[0], 10.0F);
  EXPECT_EQ(scale.steps[0], 80.0F / 15);
  const LevelScale all = choose_scale(x, {.bits = 4, .bounds = BoundsOf::percentile, .percentile = 100});
  EXPECT_EQ(all.offsets[0], 0.0F);
  EXPECT_EQ(all.steps[0], 100.0F / 15);
}

TEST(Quantize, PlanesOfUpTo32Bits) {
  const Floats x = test::random_dense(70, 65, 6);
  for (const int bits : {1, 7, 16, 17, 24, 32}) {
    for (const auto packing : {PlanePacking::rows, PlanePacking::columns}) {
      const BitPlanes planes = quantize_to_planes(x, {.bits = bits}, packing);
      const Floats back = to_dense(planes);
      for (std::size_t n = 0; n < x.values().size(); ++n)
        ASSERT_NEAR(back.values()[n], x.values()[n], 0.5001F * planes.scale().steps[0] + 1e-6F);
    }
  }
}

TEST(Quantize, BadInputNamesThePlace) {
  Floats x(2, 3);
  x(1, 2) = NAN;
  test::expect_error_with([&] { static_cast<void>(quantize(x)); }, ErrorCode::bad_input, "row 1, column 2 is nan");
  x(0, 1) = -INFINITY;
  test::expect_error_with([&] { static_cast<void>(quantize(x)); }, ErrorCode::bad_input, "row 0, column 1 is -inf");
  const Floats fine(2, 3);
  const auto refused = [&](const QuantizeOptions& options, const char* text) {
    test::expect_usage_error([&] { static_cast<void>(choose_scale(fine, options)); }, text);
  };
  refused({.bits = 0}, "0 bits");
  refused({.bits = 33}, "33 bits");
  refused({.extent = ScaleExtent::none}, "need a scale");
  refused({.percentile = 50}, "above 50");
  test::expect_error_with(
      [&] {
        static_cast<void>(quantize(fine, {.given = Bounds{2, 1}}));
      },
      ErrorCode::bad_input, "bounds 2 and 1");
  QuantizedMatrix out(2, 3, 4);
  test::expect_usage_error([&] { quantize_into(out, fine); }, "no scale");
  test::expect_usage_error([&] { quantize_into(out, Floats(3, 3)); }, "X is 3 x 3, the output is 2 x 3");
  out.set_scale(choose_scale(fine));
  const std::vector<float> three(3, 1.0F);
  test::expect_usage_error([&] { quantize_into(out, fine, Rounding::nearest, three); }, "3 row scales for 2 rows");
}

}  // namespace
}  // namespace bitgraph
