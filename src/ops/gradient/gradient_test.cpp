// SPDX-License-Identifier: Apache-2.0
// What training needs beside products, against obvious loops, and the same bits on a CUDA device.
#include "ops/gradient/gradient.hpp"

#include "core/tanh.hpp"
#include "support/cuda_device.hpp"
#include "support/every_device.hpp"
#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"
#include "support/shapes.hpp"

#include <bitgraph/ops/gradient.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
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

/// Values of all sizes, both signs, and those that are no usual numbers.
Floats inputs_of_tanh() {
  std::vector<float> all{0.0F, 0.625F, 1e-45F, 1e-38F, 9.0F, 9.1F, 10.0F, 88.0F, 3e38F, INFINITY, NAN};
  for (int n = -4000; n <= 4000; ++n) all.push_back(std::exp2(static_cast<float>(n) / 1000));
  for (float x = 0; x < 10; x += 1e-3F) all.push_back(x);
  Floats x(2, all.size());
  for (std::size_t n = 0; n < all.size(); ++n) x(0, n) = all[n], x(1, n) = -all[n];
  return x;
}

TEST(Gradient, TanhIsNearlyExactAndTheSameBitsEverywhere) {
  const Floats x = inputs_of_tanh();
  std::vector<Device> devices{Device::host(1), Device::host(3)};
  if (test::cuda_device()) devices.push_back(*test::cuda_device());
  for (const Device& device : devices) {
    Floats y = x.to(device), g(2, x.ncols());
    for (float& value : g.values()) value = 3;
    Floats through = g.to(device);
    tanh(y);
    tanh_backward(through, y);
    const Floats here = y.to(Device{}), slopes = through.to(Device{});
    for (std::size_t n = 0; n < x.values().size(); ++n) {
      const float at = x.values()[n], got = here.values()[n];
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(tanh_of(at))) << at;
      ASSERT_EQ(std::signbit(got), std::signbit(at));
      if (std::isnan(at)) {
        ASSERT_TRUE(std::isnan(got));
        continue;
      }
      const double exact = std::tanh(static_cast<double>(at));
      const auto rounded = static_cast<float>(std::fabs(exact));
      const double unit = static_cast<double>(std::nextafter(rounded, 2.0F)) - static_cast<double>(rounded);
      ASSERT_NEAR(got, exact, 1.3 * unit) << at;
      ASSERT_EQ(slopes.values()[n], 3 * (1 - got * got)) << at;
    }
  }
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
