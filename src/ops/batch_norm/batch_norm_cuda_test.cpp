// SPDX-License-Identifier: Apache-2.0
// Batch norm on a CUDA device: sums in double, another order than the host's.
#include "support/cuda_device.hpp"
#include "support/random_matrices.hpp"
#include "support/shapes.hpp"

#include <bitgraph/ops/batch_norm.hpp>

#include <gtest/gtest.h>

#include <cmath>

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
    SCOPED_TRACE(testing::Message() << shape);
    const Floats x = values_of(shape);
    const Floats g = test::random_dense(shape.nrows, shape.ncols, 8);
    const ColumnStatistics statistics = column_statistics(x);
    const Buffer<float> inverse = inverse_deviation(statistics.variance.span());
    const Buffer<float> mean_there = statistics.mean.to(device);
    const Buffer<float> inverse_there = inverse.to(device);
    Floats y(shape.nrows, shape.ncols);
    Floats y_there = x.to(device);
    batch_norm_into(y, x, statistics.mean.span(), inverse.span());
    batch_norm_into(y_there, y_there, mean_there.span(), inverse_there.span());
    const Floats forward = y_there.to(Device{});
    for (std::size_t n = 0; n < y.values().size(); ++n) ASSERT_EQ(y.values()[n], forward.values()[n]);
    Floats back(shape.nrows, shape.ncols);
    Floats back_there = g.to(device);
    batch_norm_backward_into(back, y, g, inverse.span());
    batch_norm_backward_into(back_there, y_there, back_there, inverse_there.span());
    const Floats backward = back_there.to(Device{});
    expect_near(back.values(), backward.values());
  }
}

}  // namespace
}  // namespace bitgraph
