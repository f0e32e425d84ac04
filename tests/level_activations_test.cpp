// SPDX-License-Identifier: Apache-2.0
// Activations at the end of products and sums of levels, as floats and as levels, in every kernel: they are what the
// floats without an activation become, step by step.
#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/plane_aggregations.hpp"
#include "support/random_levels.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/formats/sparse_levels.hpp>
#include <bitgraph/ops/gradient.hpp>
#include <bitgraph/ops/level_gemm.hpp>
#include <bitgraph/ops/level_spmm.hpp>
#include <bitgraph/ops/plane_gemm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace bitgraph {
namespace {

using Floats = DenseMatrix<float>;

/// What is done to the sums.
struct End {
  Activation activation = Activation::none;
  Rounding rounding = Rounding::nearest;
};

/// An operator with its operands on a device.
struct Operation {
  std::string name;
  std::size_t nrows, ncols;
  std::function<void(Floats& out, const End&)> to_floats;
  std::function<void(QuantizedMatrix& out, const End&)> to_levels;
};

/// Multiplies the steps and offsets of a scale.
void shrink(LevelScale& scale, float factor) {
  for (float& step : scale.steps.span()) step *= factor;
  for (float& offset : scale.offsets.span()) offset *= factor;
}

struct Shape {
  std::size_t rows, columns, outputs;
  int x_bits, w_bits;
};

/// A product whose values lie about 0, where a tanh is not flat.
Operation product(const Shape& s, bool sparse, const Device& device) {
  QuantizedMatrix x = test::random_levels(s.rows, s.columns, s.x_bits, 1);
  QuantizedMatrix w = test::random_levels(s.outputs, s.columns, s.w_bits, 2);
  LevelScale x_scale = test::random_scale(ScaleExtent::row, s.rows, !sparse, 5);
  shrink(x_scale, 1.0F / static_cast<float>(1U << s.x_bits));
  x.set_scale(std::move(x_scale));
  LevelScale w_scale = test::random_scale(ScaleExtent::row, s.outputs, true, 6);
  const float middle = static_cast<float>(1U << s.w_bits) / 2;
  for (std::size_t f = 0; f < s.outputs; ++f) w_scale.offsets[f] = -middle * w_scale.steps[f];
  const auto columns = static_cast<float>(s.columns);
  shrink(w_scale, 4.0F / (middle * std::max(std::sqrt(columns), columns / 20)));
  w.set_scale(std::move(w_scale));
  const auto weights =
      std::make_shared<LevelWeights>(prepare_level_weights(w, device, {.x_bits = x.bits(), .sparse = sparse}));
  const auto bias =
      std::make_shared<Buffer<float>>(Buffer<float>::copy_of(test::random_floats(s.outputs, 3, -1, 1), device));
  Operation made{.name = std::string(sparse ? "level_gemm of entries, " : "level_gemm, ") + std::to_string(s.x_bits) +
                         " and " + std::to_string(s.w_bits) + " bits, " + std::to_string(s.columns) + " columns",
                 .nrows = s.rows,
                 .ncols = s.outputs,
                 .to_floats = {},
                 .to_levels = {}};
  const auto multiply = [=](const auto& operand) {
    return [=](auto& out, const End& end) {
      level_gemm_into(out, *operand, *weights,
                      {.bias = std::as_const(*bias).span(), .activation = end.activation, .rounding = end.rounding});
    };
  };
  if (sparse) {
    CsrPattern entries = test::random_pattern(static_cast<NodeId>(s.rows), static_cast<NodeId>(s.columns), 0.1, 7);
    const std::size_t count = entries.nvals();
    SparseLevels few{std::move(entries), Buffer<std::uint16_t>(count), s.x_bits, x.scale().to(Device{})};
    for (std::size_t e = 0; e < few.levels.size(); ++e)
      few.levels[e] = static_cast<std::uint16_t>(e % (1U << s.x_bits));
    const auto there = std::make_shared<SparseLevels>(few.to(device));
    made.to_floats = multiply(there), made.to_levels = multiply(there);
  } else {
    const auto there = std::make_shared<QuantizedMatrix>(x.to(device));
    made.to_floats = multiply(there), made.to_levels = multiply(there);
  }
  return made;
}

/// Sums over neighbours, the graph as pattern CSR, as dense bits and as tiles.
void for_each_sum(std::size_t columns, int bits, const Device& device, const std::function<void(Operation)>& use) {
  test::PlaneAggregation of(test::rmat_pattern(7, 1000, 2), columns, bits, 0);
  LevelScale scale = of.x.scale().to(Device{});
  shrink(scale, 1.0F / static_cast<float>(1U << bits));
  of.x.set_scale(std::move(scale));
  for (float& s : of.row_scale) s *= 0.2F;
  const test::PlaneAggregationThere there(of, device);
  const auto options = [&](const End& end) {
    LevelSpmmOptions made = there.options;
    made.activation = end.activation;
    made.rounding = end.rounding;
    return made;
  };
  const std::string rest = ", " + std::to_string(bits) + " bits, " + std::to_string(columns) + " columns";
  const auto sparse = [&](auto& out, const End& end) {
    level_spmm_into(out, there.pattern, there.levels, options(end));
  };
  const auto dense = [&](auto& out, const End& end) { plane_gemm_into(out, there.dense, there.planes, options(end)); };
  const auto tiles = [&](auto& out, const End& end) { plane_gemm_into(out, there.tiles, there.planes, options(end)); };
  use({"level_spmm" + rest, of.graph.nrows(), columns, sparse, sparse});
  use({"plane_gemm" + rest, of.graph.nrows(), columns, dense, dense});
  use({"plane_gemm of tiles" + rest, of.graph.nrows(), columns, tiles, tiles});
}

void for_each_operation(const Device& device, const std::function<void(Operation)>& use) {
  for (const Shape& s : {Shape{33, 65, 130, 4, 4}, {70, 64, 7, 8, 8}, {20, 40, 65, 12, 9}, {3, 17000, 33, 9, 8}})
    use(product(s, false, device));
  for (const Shape& s : {Shape{33, 65, 130, 4, 4}, {20, 40, 7, 12, 9}}) use(product(s, true, device));
  for_each_sum(65, 2, device, use);
  for_each_sum(130, 8, device, use);
  for_each_sum(7, 12, device, use);
}

void activate(Floats& x, Activation activation) {
  if (activation == Activation::relu) relu(x);
  if (activation == Activation::tanh) tanh(x);
}

/// The formula of level_gemm.hpp for levels that are made of floats.
QuantizedMatrix levels_of(const Floats& values, int bits, const LevelScale& scale, Rounding rounding) {
  QuantizedMatrix levels(values.nrows(), values.ncols(), bits);
  const float most = static_cast<float>((1U << bits) - 1);
  for (std::size_t i = 0; i < values.nrows(); ++i) {
    for (std::size_t j = 0; j < values.ncols(); ++j) {
      const float u = 1 / scale.step(i, j);
      const float place = std::clamp(std::fma(values(i, j), u, -(scale.offset(i, j) * u)), 0.0F, most);
      const float whole = rounding == Rounding::nearest ? std::nearbyint(place) : std::floor(place);
      levels.set_level(i, j, static_cast<std::uint32_t>(whole));
    }
  }
  return levels;
}

/// Steps and offsets about a range of -1.1 to 1.4, which no two rows or columns share.
LevelScale scale_out(ScaleExtent extent, std::size_t count, int bits) {
  LevelScale scale = test::random_scale(extent, count, true, 9);
  for (std::size_t n = 0; n < count; ++n) {
    scale.steps[n] = (1.5F + scale.steps[n]) / static_cast<float>((1U << bits) - 1);
    scale.offsets[n] = -0.7F + 0.4F * scale.offsets[n];
  }
  return scale;
}

void expect_late_levels(const Operation& op, const Floats& plain, const Device& device) {
  for (const auto extent : {ScaleExtent::tensor, ScaleExtent::column, ScaleExtent::row}) {
    for (const Activation activation : {Activation::none, Activation::relu, Activation::tanh}) {
      // Levels on other scales are rounded from the sums at once.
      if (extent != ScaleExtent::row && activation != Activation::tanh) continue;
      Floats values = plain.to(Device{});
      activate(values, activation);
      for (const int bits : {1, 2, 4, 8, 13}) {
        if (test::sanitized && (bits == 1 || bits == 4)) continue;  // nibbles as those of 2 bits
        SCOPED_TRACE(testing::Message() << "extent " << static_cast<int>(extent) << ", activation "
                                        << static_cast<int>(activation) << ", " << bits << " bits out");
        const std::size_t count = extent == ScaleExtent::tensor ? 1 : extent == ScaleExtent::row ? op.nrows : op.ncols;
        const LevelScale scale = scale_out(extent, count, bits);
        const Rounding rounding = bits == 2 || bits == 13 ? Rounding::floor : Rounding::nearest;
        QuantizedMatrix out(op.nrows, op.ncols, bits, device);
        out.levels().fill(0xFF);  // what was there does not matter
        out.set_scale(scale.to(device));
        op.to_levels(out, {activation, rounding});
        const QuantizedMatrix here = out.to(Device{}), expected = levels_of(values, bits, scale, rounding);
        const auto [at, other] = std::mismatch(here.levels().begin(), here.levels().end(), expected.levels().begin());
        ASSERT_EQ(at - here.levels().begin(), static_cast<std::ptrdiff_t>(here.levels().size()))
            << int{*at} << ", expected " << int{*other};
      }
    }
  }
}

/// Floats out, and levels that are made of them: those behind a tanh, and those on a scale by rows.
void expect_activations(const Operation& op, const Device& device) {
  SCOPED_TRACE(op.name);
  Floats plain(op.nrows, op.ncols, device);
  op.to_floats(plain, {});
  const Floats sums = plain.to(Device{});
  const auto bent = [](float value) { return std::fabs(value) > 0.1F && std::fabs(value) < 2; };
  ASSERT_GT(std::ranges::count_if(sums.values(), bent), static_cast<std::ptrdiff_t>(sums.values().size() / 4));
  for (const Activation activation : {Activation::relu, Activation::tanh}) {
    SCOPED_TRACE(testing::Message() << "activation " << static_cast<int>(activation));
    Floats expected = plain.to(Device{}), actual(op.nrows, op.ncols, device);
    activate(expected, activation);
    op.to_floats(actual, {.activation = activation});
    test::expect_identical(actual.to(Device{}).values(), expected.values());
  }
  expect_late_levels(op, plain, device);
}

TEST(LevelActivations, AreThoseOfTheFloatsOnTheHost) {
  test::everywhere([](const Device& device) {
    for_each_operation(device, [&](const Operation& op) { expect_activations(op, device); });
  });
}

TEST(LevelActivations, AreThoseOfTheFloatsOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for_each_operation(device, [&](const Operation& op) { expect_activations(op, device); });
}

}  // namespace
}  // namespace bitgraph
