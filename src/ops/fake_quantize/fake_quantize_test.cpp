// SPDX-License-Identifier: Apache-2.0
// Fake quantization on every backend against the reference, and against levels that were made and read back.
#include "ops/fake_quantize/fake_quantize.hpp"

#include <bitgraph/formats/quantized_matrix.hpp>
#include <bitgraph/ops/fake_quantize.hpp>
#include <bitgraph/ops/quantize.hpp>

#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/random_matrices.hpp"
#include "support/shapes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

using Floats = DenseMatrix<float>;

Floats random(std::size_t nrows, std::size_t ncols, std::uint64_t seed) {
  return {nrows, ncols, Buffer<float>::copy_of(test::random_floats(nrows * ncols, seed, -2, 3))};
}

/// Some of a matrix's values lie beyond its levels.
struct Case {
  Floats x;
  LevelScale scale;
  Buffer<float> row_scale;
  int bits;

  Case(const test::Shape& shape, int the_bits, ScaleExtent extent, bool by_rows)
      : x(random(shape.nrows, shape.ncols, 1)), bits(the_bits) {
    const std::size_t count = num_scales(extent, shape.nrows, shape.ncols);
    scale = {extent, Buffer<float>::copy_of(test::random_floats(count, 2, 0.3F / static_cast<float>(bits), 1)),
             Buffer<float>::copy_of(test::random_floats(count, 3, -1, 0.5F))};
    if (by_rows) row_scale = Buffer<float>::copy_of(test::random_floats(shape.nrows, 4, 0.2F, 2));
  }

  [[nodiscard]] LevelGrid grid(const LevelScale& at, const Buffer<float>& rows) const {
    return {.bits = bits,
            .extent = at.extent,
            .steps = at.steps.span(),
            .offsets = at.offsets.span(),
            .row_scale = rows.span()};
  }
  [[nodiscard]] FakeQuantizeArgs args(Floats& out) const {
    return {.out = out.view(),
            .x = x.view(),
            .extent = scale.extent,
            .most = static_cast<float>((1U << bits) - 1),
            .steps = scale.steps.data(),
            .offsets = scale.offsets.data(),
            .row_scale = row_scale.empty() ? nullptr : row_scale.data()};
  }
};

template <class Fn>
void for_each_case(const Fn& fn) {
  for (const test::Shape& shape : test::odd_shapes()) {
    for (const int bits : {1, 2, 4, 8, 16}) {
      for (const ScaleExtent extent : {ScaleExtent::tensor, ScaleExtent::row, ScaleExtent::column}) {
        for (const bool by_rows : {false, true}) fn(Case(shape, bits, extent, by_rows));
      }
    }
  }
}

void expect_reference(const Case& c, const Device& device) {
  Floats expected(c.x.nrows(), c.x.ncols());
  fake_quantize(Reference{}, c.args(expected));
  const LevelScale scale = c.scale.to(device);
  const Buffer<float> rows = c.row_scale.to(device);
  const Floats x = c.x.to(device);
  Floats out(c.x.nrows(), c.x.ncols(), device);
  fake_quantize_into(out, x, c.grid(scale, rows));
  const Floats here = out.to(Device());
  test::expect_identical(here.values(), std::as_const(expected).values());

  Floats passed = random(c.x.nrows(), c.x.ncols(), 5);
  Floats gradient = passed.to(device);
  fake_quantize_backward(Reference{}, c.args(passed));
  fake_quantize_backward(gradient, x, c.grid(scale, rows));
  const Floats gradient_here = gradient.to(Device());
  test::expect_identical(gradient_here.values(), std::as_const(passed).values());
}

TEST(FakeQuantize, GivesTheReferencesFloatsEverywhere) {
  for_each_case([](const Case& c) { test::everywhere([&](const Device& device) { expect_reference(c, device); }); });
}

TEST(FakeQuantize, GivesTheReferencesFloatsOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  for_each_case([](const Case& c) { expect_reference(c, *test::cuda_device()); });
}

TEST(FakeQuantize, GivesTheValuesOfTheLevels) {
  for_each_case([](const Case& c) {
    if (!c.row_scale.empty()) return;
    QuantizedMatrix levels(c.x.nrows(), c.x.ncols(), c.bits);
    levels.set_scale(c.scale.to(Device()));
    quantize_into(levels, c.x);
    Floats out(c.x.nrows(), c.x.ncols());
    fake_quantize_into(out, c.x, c.grid(c.scale, c.row_scale));
    const Floats expected = to_dense(levels);
    test::expect_identical(std::as_const(out).values(), expected.values());
  });
}

/// Four levels from -1 to 2, half a step beyond both.
TEST(FakeQuantize, PassesGradientsWithinTheLevelsAlone) {
  const std::vector<float> step{1}, offset{-1};
  const LevelGrid grid{.bits = 2, .steps = step, .offsets = offset};
  const Floats x(1, 6, Buffer<float>{-1.6F, -1.4F, 0.2F, 2.4F, 2.6F, 9});
  Floats gradient(1, 6, Buffer<float>{1, 2, 3, 4, 5, 6});
  fake_quantize_backward(gradient, x, grid);
  const std::vector<float> expected{0, 2, 3, 4, 0, 0};
  test::expect_identical(std::as_const(gradient).values(), expected);
}

// --- learned scales
// ---------------------------------------------------------------------------------------------------

/// Steps and below them offsets, as they are learned.
Floats learned_of(const LevelScale& scale) {
  Floats learned(2, scale.steps.size());
  for (std::size_t n = 0; n < scale.steps.size(); ++n) {
    learned(0, n) = std::log(scale.steps[n]);
    learned(1, n) = scale.offsets[n] / scale.steps[n];
  }
  return learned;
}

void expect_exponent(const Device& device) {
  const Floats learned(2, 3, Buffer<float>{0, std::log(2.0F), -1, 0, -3, 2.5F});
  Floats scale(2, 3, device);
  learned_scale_into(scale, learned.to(device));
  const Floats here = scale.to(Device());
  const std::vector<float> expected{1, 2, std::exp(-1.0F), 0, -6, 2.5F * std::exp(-1.0F)};
  for (std::size_t n = 0; n < 6; ++n) EXPECT_NEAR(here.values()[n], expected[n], 1e-6) << n;
}

TEST(LearnedScale, IsTheExponentAndAPlaceInSteps) { expect_exponent(Device()); }

TEST(LearnedScale, IsTheExponentAndAPlaceInStepsOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  expect_exponent(*test::cuda_device());
}

/// The sum of gradient times value, where rounding adds to each element what it adds at `at`: what straight-through
/// gradients are gradients of.
double straight_sum(const Case& c, const Floats& gradient, const Floats& learned, const Floats& at) {
  const double most = (1U << c.bits) - 1;
  double sum = 0;
  for (std::size_t i = 0; i < c.x.nrows(); ++i) {
    const double factor = c.row_scale.empty() ? 1 : static_cast<double>(c.row_scale[i]);
    for (std::size_t j = 0; j < c.x.ncols(); ++j) {
      const std::size_t s = c.scale.extent == ScaleExtent::tensor ? 0 : c.scale.extent == ScaleExtent::row ? i : j;
      const auto place = [&](const Floats& with) {
        return c.x(i, j) * factor / std::exp(double{with(0, s)}) - double{with(1, s)};
      };
      const double there = place(at), here = place(learned);
      const bool clipped = there < 0 || there > most;
      const double level = clipped ? (there < 0 ? 0 : most) : here + std::nearbyint(there) - there;
      sum += gradient(i, j) * (level + double{learned(1, s)}) * std::exp(double{learned(0, s)}) / factor;
    }
  }
  return sum;
}

/// Against differences of straight_sum(), in double. An element of which the floats here and the doubles there round to
/// different levels, or of which one is clipped, would differ: there is none such with these seeds.
void expect_differences(const Case& c, const Device& device) {
  const Floats gradient = random(c.x.nrows(), c.x.ncols(), 6);
  const Floats learned = learned_of(c.scale);
  const LevelScale scale = c.scale.to(device);
  const Buffer<float> rows = c.row_scale.to(device);
  Floats sums(2, learned.ncols(), device);
  learned_scale_backward_into(sums, gradient.to(device), c.x.to(device), c.grid(scale, rows));
  const Floats here = sums.to(Device());
  constexpr float step = 1.0F / 256;
  for (std::size_t n = 0; n < 2 * learned.ncols(); ++n) {
    if (n % learned.ncols() > 2) continue;  // some scales are enough
    Floats more = learned.clone(), less = learned.clone();
    more.values()[n] += step;
    less.values()[n] -= step;
    const double width = double{std::as_const(more).values()[n]} - double{std::as_const(less).values()[n]};
    const double expected =
        (straight_sum(c, gradient, more, learned) - straight_sum(c, gradient, less, learned)) / width;
    const double size = 1 + std::abs(expected) + 0.1 * std::sqrt(static_cast<double>(c.x.values().size()));
    ASSERT_NEAR(here.values()[n], expected, 2e-3 * size)
        << c.x.nrows() << " x " << c.x.ncols() << ", " << c.bits << " bits, " << n;
  }
}

/// Differences run over all elements for each number.
bool is_small(const Case& c) {
  const std::size_t elements = c.x.nrows() * c.x.ncols();
  return c.bits <= 4 && elements != 0 && elements <= 10'000;
}

TEST(LearnedScale, HasTheGradientOfDifferences) {
  for_each_case([](const Case& c) {
    if (is_small(c)) expect_differences(c, Device());
  });
}

TEST(LearnedScale, HasTheGradientOfDifferencesOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  for_each_case([](const Case& c) {
    if (is_small(c)) expect_differences(c, *test::cuda_device());
  });
}

/// Four levels at -1, 0, 1 and 2: elements below, at a level, between two and above.
TEST(LearnedScale, GradientsAreThoseOfTheClippedAndOfWhatRoundingAdds) {
  const std::vector<float> step{1}, offset{-1};
  const LevelGrid grid{.bits = 2, .steps = step, .offsets = offset};
  const Floats x(1, 4, Buffer<float>{-3, 1, 0.25F, 9});
  const auto gradient_of = [&](std::size_t j) {
    Floats gradient(1, 4), sums(2, 1);
    gradient(0, j) = 1;
    learned_scale_backward_into(sums, gradient, x, grid);
    return std::vector<float>{sums(0, 0), sums(1, 0)};
  };
  EXPECT_EQ(gradient_of(0), (std::vector<float>{-1, 1}));
  EXPECT_EQ(gradient_of(1), (std::vector<float>{0, 0}));
  EXPECT_EQ(gradient_of(2), (std::vector<float>{-0.25F, 0}));
  EXPECT_EQ(gradient_of(3), (std::vector<float>{2, 1}));
}

/// Sums are made over fixed parts of the rows.
TEST(LearnedScale, HasTheSameBitsWithAnyNumberOfThreads) {
  for (const ScaleExtent extent : {ScaleExtent::tensor, ScaleExtent::row, ScaleExtent::column}) {
    const Case c({1000, 9}, 2, extent, true);
    const Floats gradient = random(1000, 9, 7);
    const auto sums_with = [&](int threads) {
      const Device device = Device::host(threads);
      Floats sums(2, c.scale.steps.size(), device);
      learned_scale_backward_into(sums, gradient.to(device), c.x.to(device), c.grid(c.scale, c.row_scale));
      return sums.to(Device());
    };
    const Floats one = sums_with(1), five = sums_with(5);
    test::expect_identical(one.values(), five.values());
  }
}

TEST(LearnedScale, RefusesWhatDoesNotFit) {
  const std::vector<float> one{1};
  Floats x(2, 3), other(3, 3), sums(2, 1), three(3, 1);
  const LevelGrid grid{.steps = one, .offsets = one};
  test::expect_usage_error([&] { learned_scale_into(sums, three); }, "two rows");
  test::expect_usage_error([&] { learned_scale_into(sums, Floats(2, 2)); }, "X is 2 x 2, the scale is 2 x 1");
  test::expect_usage_error([&] { learned_scale_backward_into(sums, other, x, grid); }, "the gradient is 3 x 3");
  test::expect_usage_error([&] { learned_scale_backward_into(three, x, x, grid); },
                           "the sums are 3 x 1, expected 2 x 1");
}

TEST(FakeQuantize, RefusesWhatDoesNotFit) {
  const std::vector<float> one{1}, two{1, 1};
  Floats x(2, 3), other(3, 3);
  test::expect_usage_error([&] { fake_quantize_into(other, x, {.steps = one, .offsets = one}); },
                           "X is 2 x 3, the output is 3 x 3");
  test::expect_usage_error([&] { fake_quantize_into(x, x, {.steps = two, .offsets = two}); }, "steps has 2 values");
  test::expect_usage_error([&] { fake_quantize_into(x, x, {.steps = one, .offsets = {}}); }, "as many steps");
  test::expect_usage_error([&] { fake_quantize_into(x, x, {.bits = 17, .steps = one, .offsets = one}); }, "1 to 16");
  test::expect_usage_error([&] { fake_quantize_into(x, x, {.steps = one, .offsets = one, .row_scale = one}); },
                           "row_scale has 1 values");
}

}  // namespace
}  // namespace bitgraph
