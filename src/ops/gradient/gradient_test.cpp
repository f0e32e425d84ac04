// SPDX-License-Identifier: Apache-2.0
// What training needs beside products, against obvious loops, and the same bits on a CUDA device.
#include "ops/gradient/gradient.hpp"

#include "support/every_device.hpp"
#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"
#include "support/shapes.hpp"

#include <bitgraph/ops/gradient.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace bitgraph {
namespace {

using Floats = DenseMatrix<float>;

/// Values in -2 .. 2, some of them 0, 1 and -1.
Floats values(const test::Shape& shape, std::uint64_t seed) {
  Floats x = test::random_dense(shape.nrows, shape.ncols, seed);
  for (float& value : x.values()) value = std::fabs(value) < 0.3F ? std::round(value * 6) : 2 * value;
  return x;
}

TEST(Gradient, ActivationsAndTheirGradients) {
  test::on_all_devices([](const Device& device, const test::Shape& shape) {
    const Floats x = values(shape, 1);
    const Floats g = values(shape, 2);
    Floats y = x.to(device);
    relu(y);
    Floats through_relu = g.to(device);
    relu_backward(through_relu, y);
    Floats through_sign = g.to(device);
    sign_backward(through_sign, x.to(device), 1);
    const Floats y_here = y.to(Device{});
    const Floats relu_here = through_relu.to(Device{});
    const Floats sign_here = through_sign.to(Device{});
    for (std::size_t n = 0; n < x.values().size(); ++n) {
      const float at = x.values()[n];
      ASSERT_EQ(y_here.values()[n], at > 0 ? at : 0.0F);
      ASSERT_EQ(relu_here.values()[n], at > 0 ? g.values()[n] : 0.0F);
      ASSERT_EQ(sign_here.values()[n], at >= -1 && at <= 1 ? g.values()[n] : 0.0F);
    }
  });
}

TEST(Gradient, BinaryWeightsFollowTheRuleOfBiGcn) {
  test::on_all_devices([](const Device& device, const test::Shape& shape) {
    const Floats w = values(shape, 1);
    const Floats g = values(shape, 2);
    const auto m = Buffer<float>::copy_of(test::random_floats(shape.nrows, 3, 0.1F, 2));
    Floats one = g.to(Device::host(1));
    binary_weight_backward(one, w, m.span());
    Floats out = g.to(device);
    const Buffer<float> m_there = m.to(device);
    binary_weight_backward(out, w.to(device), m_there.span());
    const Floats here = out.to(Device{});
    test::expect_identical(here.values(), one.values());
    for (std::size_t f = 0; f < shape.nrows; ++f) {
      double mean = 0;
      for (std::size_t j = 0; j < shape.ncols; ++j) mean += (w(f, j) >= 0 ? 1.0 : -1.0) * g(f, j);
      mean /= static_cast<double>(shape.ncols);
      for (std::size_t j = 0; j < shape.ncols; ++j) {
        const double through = std::fabs(w(f, j)) <= 1 ? static_cast<double>(m[f]) * g(f, j) : 0;
        ASSERT_NEAR(here(f, j), through + (w(f, j) >= 0 ? mean : -mean), 1e-5);
      }
    }
  });
}

TEST(Gradient, BinaryWeightsAreTheReferenceLoopEverywhere) {
  for (const test::Shape& shape : test::odd_shapes()) {
    const Floats w = values(shape, 1);
    const Floats g = values(shape, 2);
    const auto m = test::random_floats(shape.nrows, 3, 0.1F, 2);
    Floats wanted = g.clone();
    binary_weight_backward(Reference{}, BinaryWeightArgs{wanted.view(), w.view(), m.data()});
    test::everywhere([&](const Device& device) {
      Floats out = g.to(device);
      binary_weight_backward(out, w.to(device), m);
      test::expect_identical(out.values(), wanted.values());
    });
  }
}

TEST(Gradient, DivergenceFromATeacher) {
  test::on_all_devices([](const Device& device, const test::Shape& shape) {
    const Floats log_p = values(shape, 1);
    const Floats q = values(shape, 2);
    const Floats start = values(shape, 3);
    Floats g = start.to(device);
    add_divergence_gradient(g, log_p.to(device), q.to(device), 0.25F);
    const Floats here = g.to(Device{});
    for (std::size_t n = 0; n < here.values().size(); ++n) {
      const double expected = start.values()[n] + 0.25 * (std::exp(double{log_p.values()[n]}) - q.values()[n]);
      ASSERT_NEAR(here.values()[n], expected, 1e-5);
    }
  });
}

TEST(Gradient, ShapesThatDoNotFitAreNamed) {
  Floats a(3, 4);
  Floats b(3, 5);
  Buffer<float> two(2);
  test::expect_usage_error([&] { relu_backward(a, b); }, "3 x 4 and 3 x 5");
  test::expect_usage_error([&] { sign_backward(a, b); }, "3 x 4 and 3 x 5");
  test::expect_usage_error([&] { binary_weight_backward(a, b, two.span()); }, "3 x 4 and 3 x 5");
  test::expect_usage_error([&] { binary_weight_backward(a, a, two.span()); }, "2 scales for 3 rows");
  test::expect_usage_error([&] { add_divergence_gradient(a, a, b, 1); }, "3 x 4 and 3 x 5");
}

}  // namespace
}  // namespace bitgraph
