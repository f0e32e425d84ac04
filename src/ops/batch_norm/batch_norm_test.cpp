// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/batch_norm.hpp>

#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"
#include "support/shapes.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

namespace bitgraph {
namespace {

using Floats = DenseMatrix<float>;

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments moments(const Floats& x, std::size_t j) {
  Moments m;
  const auto n = static_cast<double>(x.nrows());
  for (std::size_t i = 0; i < x.nrows(); ++i) m.mean += static_cast<double>(x(i, j)) / n;
  for (std::size_t i = 0; i < x.nrows(); ++i) m.variance += (x(i, j) - m.mean) * (x(i, j) - m.mean) / n;
  return m;
}

/// Values around a different centre in each column, and column 3 the same value throughout.
Floats columns_of_all_kinds(const test::Shape& shape) {
  Floats x = test::random_dense(shape.nrows, shape.ncols, 7);
  for (std::size_t i = 0; i < shape.nrows; ++i) {
    for (std::size_t j = 0; j < shape.ncols; ++j) {
      x(i, j) = j == 3 ? 0.3F : x(i, j) * static_cast<float>(1 + j % 5) + static_cast<float>(j);
    }
  }
  return x;
}

BatchNorm norm_of(const ColumnStatistics& s, std::span<const float> scale = {}, std::span<const float> shift = {}) {
  return {s.mean.span(), s.variance.span(), scale, shift};
}

TEST(BatchNorm, StatisticsAreThoseOfTheColumns) {
  for (const test::Shape& shape : test::odd_shapes()) {
    SCOPED_TRACE(testing::Message() << shape);
    const Floats x = columns_of_all_kinds(shape);
    const ColumnStatistics serial = column_statistics(x.to(Device::host(1)));
    ASSERT_EQ(serial.mean.size(), shape.ncols);
    ASSERT_EQ(serial.variance.size(), shape.ncols);
    for (std::size_t j = 0; j < shape.ncols; ++j) {
      const Moments expected = moments(x, j);
      EXPECT_NEAR(serial.mean[j], expected.mean, 1e-6 * (1 + std::fabs(expected.mean)));
      EXPECT_NEAR(serial.variance[j], expected.variance, 1e-6 * (1 + expected.variance));
    }
    test::with_thread_counts([&](const Device& device) {
      const ColumnStatistics parallel = column_statistics(x.to(device));
      test::expect_identical(parallel.mean.span(), serial.mean.span());
      test::expect_identical(parallel.variance.span(), serial.variance.span());
    });
  }
}

TEST(BatchNorm, ASmallVarianceAroundALargeMeanSurvives) {
  Floats x(1000, 1);
  for (std::size_t i = 0; i < 1000; ++i) x(i, 0) = 65536.0F + static_cast<float>(i % 2) / 64;
  const ColumnStatistics s = column_statistics(x);
  EXPECT_FLOAT_EQ(s.mean[0], 65536.0F + 1.0F / 128);
  EXPECT_FLOAT_EQ(s.variance[0], 1.0F / (128 * 128));
}

TEST(BatchNorm, SparseStatisticsAreThoseOfTheDenseMatrix) {
  EXPECT_TRUE(rc::check([] {
    const auto nrows = *rc::gen::inRange<NodeId>(0, 300);
    const auto ncols = *rc::gen::inRange<NodeId>(0, 60);
    const auto seed = *rc::gen::arbitrary<std::uint32_t>();
    const CsrPattern pattern = test::random_pattern(nrows, ncols, *rc::gen::element(0.0, 0.02, 0.5), seed);
    const auto values = test::random_floats(pattern.nvals(), seed + 1, -2, 3);
    const ColumnStatistics sparse = column_statistics(pattern, values);
    const ColumnStatistics dense = column_statistics(test::dense_of(pattern, values));
    RC_ASSERT(sparse.mean.size() == ncols && sparse.variance.size() == ncols);
    for (std::size_t j = 0; j < ncols; ++j) {
      RC_ASSERT(std::fabs(sparse.mean[j] - dense.mean[j]) <= 1e-6F);
      RC_ASSERT(std::fabs(sparse.variance[j] - dense.variance[j]) <= 1e-6F);
    }
  }));
}

TEST(BatchNorm, InverseDeviationIsFiniteForAConstantColumn) {
  const auto inverse = inverse_deviation(std::vector<float>{0, 4}, 1e-5F);
  EXPECT_FLOAT_EQ(inverse[0], 1 / std::sqrt(1e-5F));
  EXPECT_FLOAT_EQ(inverse[1], 1 / std::sqrt(4 + 1e-5F));
}

TEST(BatchNorm, NormalizesEveryColumn) {
  for (const test::Shape& shape : test::odd_shapes()) {
    SCOPED_TRACE(testing::Message() << shape);
    const Floats x = columns_of_all_kinds(shape);
    const ColumnStatistics s = column_statistics(x);
    const auto inverse = inverse_deviation(s.variance.span());
    Floats expected(shape.nrows, shape.ncols);
    for (std::size_t i = 0; i < shape.nrows; ++i) {
      for (std::size_t j = 0; j < shape.ncols; ++j) expected(i, j) = (x(i, j) - s.mean[j]) * inverse[j];
    }
    const auto scale = test::random_floats(shape.ncols, 3, -1, 2), shift = test::random_floats(shape.ncols, 4, -1, 2);
    Floats affine(shape.nrows, shape.ncols);
    batch_norm_into(affine, x, norm_of(s, scale, shift));
    for (std::size_t n = 0; n < affine.values().size(); ++n) {
      const std::size_t j = n % shape.ncols;
      EXPECT_NEAR(affine.values()[n], scale[j] * expected.values()[n] + shift[j], 1e-5);
    }
    test::with_thread_counts([&](const Device& device) {
      Floats y(shape.nrows, shape.ncols, device);
      batch_norm_into(y, x, norm_of(s));
      test::expect_identical(y.values(), expected.values());
      Floats in_place = x.to(device);
      batch_norm_into(in_place, in_place, norm_of(s));
      test::expect_identical(in_place.values(), expected.values());
    });
    if (shape.nrows < 100) continue;
    const ColumnStatistics after = column_statistics(expected);
    for (std::size_t j = 0; j < shape.ncols; ++j) {
      EXPECT_NEAR(after.mean[j], 0, 1e-4);
      EXPECT_NEAR(after.variance[j], j == 3 ? 0 : 1, 1e-3);
    }
  }
}

/// sum of weight * batch_norm(x)
double objective(const Floats& x, const Floats& weight, std::span<const float> scale, std::span<const float> shift) {
  Floats y(x.nrows(), x.ncols());
  const ColumnStatistics s = column_statistics(x);
  batch_norm_into(y, x, norm_of(s, scale, shift));
  double sum = 0;
  for (std::size_t n = 0; n < y.values().size(); ++n) sum += static_cast<double>(y.values()[n]) * weight.values()[n];
  return sum;
}

TEST(BatchNorm, BackwardMatchesFiniteDifferences) {
  Floats x = test::random_dense(7, 3, 3);
  const Floats g = test::random_dense(7, 3, 4);
  auto scale = test::random_floats(3, 5, -2, 2), shift = test::random_floats(3, 6, -2, 2);
  Floats gradient(7, 3);
  std::vector<float> of_scale(3), of_shift(3);
  const ColumnStatistics s = column_statistics(x);
  batch_norm_backward_into(gradient, of_scale, of_shift, x, g, norm_of(s, scale, shift));
  const auto check = [&](float& value, float expected) {
    const float kept = value;
    value = kept + 2e-3F;
    const double up = objective(x, g, scale, shift);
    const double wide = value;
    value = kept - 2e-3F;
    const double slope = (up - objective(x, g, scale, shift)) / (wide - static_cast<double>(value));
    value = kept;
    EXPECT_NEAR(expected, slope, 4e-3);
  };
  for (std::size_t n = 0; n < x.values().size(); ++n) check(x.values()[n], gradient.values()[n]);
  for (std::size_t j = 0; j < 3; ++j) check(scale[j], of_scale[j]), check(shift[j], of_shift[j]);
}

TEST(BatchNorm, BackwardIsItsFormulaInPlaceAndForAnyNumberOfThreads) {
  for (const test::Shape& shape : test::odd_shapes()) {
    if (shape.nrows == 0) continue;
    SCOPED_TRACE(testing::Message() << shape);
    const Floats x = columns_of_all_kinds(shape);
    const Floats g = test::random_dense(shape.nrows, shape.ncols, 2);
    const auto scale = test::random_floats(shape.ncols, 3, -0.5F, 2);
    const ColumnStatistics s = column_statistics(x);
    const auto inverse = inverse_deviation(s.variance.span());
    Floats y(shape.nrows, shape.ncols);
    batch_norm_into(y, x, norm_of(s));
    Floats serial(shape.nrows, shape.ncols, Device::host(1));
    std::vector<float> of_scale(shape.ncols), of_shift(shape.ncols);
    batch_norm_backward_into(serial, of_scale, of_shift, x, g, norm_of(s, scale));
    for (std::size_t j = 0; j < shape.ncols; ++j) {
      const auto n = static_cast<double>(shape.nrows);
      double sum = 0, slope = 0;
      for (std::size_t i = 0; i < shape.nrows; ++i) sum += g(i, j);
      for (std::size_t i = 0; i < shape.nrows; ++i) slope += static_cast<double>(g(i, j)) * y(i, j);
      EXPECT_NEAR(of_shift[j], sum, 1e-6 * n);
      EXPECT_NEAR(of_scale[j], slope, 1e-6 * n);
      const double factor = static_cast<double>(scale[j]) * inverse[j];
      for (std::size_t i = 0; i < shape.nrows; ++i)
        EXPECT_NEAR(serial(i, j), factor * (g(i, j) - sum / n - y(i, j) * slope / n), 1e-5 * (1 + std::fabs(factor)));
    }
    test::with_thread_counts([&](const Device& device) {
      Floats out = g.to(device);
      std::vector<float> scale_too(shape.ncols), shift_too(shape.ncols);
      batch_norm_backward_into(out, scale_too, shift_too, x, out, norm_of(s, scale));
      test::expect_identical(out.values(), serial.values());
      EXPECT_EQ(scale_too, of_scale);
      EXPECT_EQ(shift_too, of_shift);
    });
  }
}

TEST(BatchNorm, ErrorsNameOperandsThatDoNotFit) {
  Floats x(3, 4);
  Floats wide(3, 5);
  const Floats empty(0, 4);
  std::vector<float> four(4), five(5);
  test::expect_usage_error([&] { batch_norm_into(wide, x, {four, four, {}, {}}); }, "3 x 5 and 3 x 4 differ");
  test::expect_usage_error([&] { batch_norm_into(x, x, {five, four, {}, {}}); }, "5 statistics for 4 columns");
  test::expect_usage_error([&] { batch_norm_into(x, x, {four, five, {}, {}}); }, "5 statistics for 4 columns");
  test::expect_usage_error([&] { batch_norm_into(x, x, {four, four, five, {}}); }, "5 statistics for 4 columns");
  test::expect_usage_error([&] { batch_norm_into(x, x, {four, four, {}, five}); }, "5 statistics for 4 columns");
  const auto refuse = [&](Floats& out, const Floats& in, const Floats& g, std::span<float> scale, const char* what) {
    test::expect_usage_error([&] { batch_norm_backward_into(out, scale, four, in, g, {four, four, {}, {}}); }, what);
  };
  refuse(x, x, wide, four, "3 x 4 and 3 x 5 differ");
  refuse(wide, x, x, four, "3 x 5 and 3 x 4 differ");
  refuse(x, x, x, five, "5 statistics for 4 columns");
  test::expect_usage_error([&] { column_statistics_into(five, four, wide); }, "4 statistics for 5 columns");
  test::expect_usage_error([&] { column_statistics_into(four, four, empty); }, "no rows to take statistics of");
  test::expect_usage_error([&] { (void)column_statistics(test::random_pattern(4, 4, 0.5, 1), std::vector<float>(99)); },
                           "99 values for");
}

}  // namespace
}  // namespace bitgraph
