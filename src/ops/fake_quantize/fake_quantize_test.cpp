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
