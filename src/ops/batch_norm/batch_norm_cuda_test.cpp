// SPDX-License-Identifier: Apache-2.0
// Batch norm on a CUDA device: sums in double, another order than the host's.
#include "support/cuda_device.hpp"
#include "support/random_matrices.hpp"
#include "support/shapes.hpp"

#include <bitgraph/ops/batch_norm.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace bitgraph {
namespace {

using Floats = DenseMatrix<float>;

void expect_near(std::span<const float> expected, std::span<const float> actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t n = 0; n < expected.size(); ++n) {
    ASSERT_NEAR(expected[n], actual[n], 1e-6 * (1 + std::fabs(expected[n]))) << "element " << n;
  }
}

Floats values_of(const test::Shape& shape) {
  Floats x = test::random_dense(shape.nrows, shape.ncols, 7);
  for (std::size_t n = 0; n < x.values().size(); ++n) x.values()[n] += static_cast<float>(n % shape.ncols % 5);
  return x;
}

std::vector<test::Shape> shapes() {
  auto all = test::odd_shapes();
  all.push_back({70001, 3});  // more rows than parts
  return all;
}

TEST(BatchNormCuda, StatisticsAreThoseOfTheColumnsAndDoNotDependOnTiming) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const test::Shape& shape : shapes()) {
    SCOPED_TRACE(testing::Message() << shape);
    const Floats x = values_of(shape);
    const Floats there = x.to(device);
    const ColumnStatistics expected = column_statistics(x);
    const ColumnStatistics actual = column_statistics(there);
    const Buffer<float> mean = actual.mean.to(Device{});
    const Buffer<float> variance = actual.variance.to(Device{});
    expect_near(expected.mean.span(), mean.span());
    expect_near(expected.variance.span(), variance.span());
    const Buffer<float> again = column_statistics(there).variance.to(Device{});
    EXPECT_TRUE(std::equal(variance.begin(), variance.end(), again.begin()));
  }
}

TEST(BatchNormCuda, ForwardIsTheSameAndBackwardIsNear) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const test::Shape& shape : shapes()) {
    if (shape.nrows == 0) continue;
    SCOPED_TRACE(testing::Message() << shape);
    const Floats x = values_of(shape);
    const Floats g = test::random_dense(shape.nrows, shape.ncols, 8);
    const ColumnStatistics statistics = column_statistics(x);
    const auto scale = Buffer<float>::copy_of(std::span<const float>(test::random_floats(shape.ncols, 3, -1, 2)));
    const auto shift = Buffer<float>::copy_of(std::span<const float>(test::random_floats(shape.ncols, 4, -1, 2)));
    const Buffer<float> mean = statistics.mean.to(device), variance = statistics.variance.to(device);
    const Buffer<float> scale_there = scale.to(device), shift_there = shift.to(device);
    const BatchNorm norm{statistics.mean.span(), statistics.variance.span(), scale.span(), shift.span()};
    const BatchNorm there{mean.span(), variance.span(), scale_there.span(), shift_there.span()};
    Floats y(shape.nrows, shape.ncols);
    const Floats x_there = x.to(device);
    Floats y_there = x.to(device);
    batch_norm_into(y, x, norm);
    batch_norm_into(y_there, y_there, there);
    const Floats forward = y_there.to(Device{});
    for (std::size_t n = 0; n < y.values().size(); ++n) ASSERT_EQ(y.values()[n], forward.values()[n]);
    Floats back(shape.nrows, shape.ncols);
    Floats back_there = g.to(device);
    Buffer<float> of_scale(shape.ncols), of_shift(shape.ncols);
    Buffer<float> of_scale_there(shape.ncols, device), of_shift_there(shape.ncols, device);
    batch_norm_backward_into(back, of_scale.span(), of_shift.span(), x, g, norm);
    batch_norm_backward_into(back_there, of_scale_there.span(), of_shift_there.span(), x_there, back_there, there);
    const Buffer<float> scale_gradient = of_scale_there.to(Device{}), shift_gradient = of_shift_there.to(Device{});
    expect_near(std::as_const(of_scale).span(), scale_gradient.span());
    expect_near(std::as_const(of_shift).span(), shift_gradient.span());
    const Floats backward = back_there.to(Device{});
    expect_near(back.values(), backward.values());
  }
}

}  // namespace
}  // namespace bitgraph
