// SPDX-License-Identifier: Apache-2.0
// One kernel for a sum and its product makes the levels that two operators of the host make one after the other.
#include "ops/spmm/levels/level_spmm_cases.hpp"
#include "support/cuda_device.hpp"
#include "support/expect_error.hpp"

#include <bitgraph/formats/row_order.hpp>
#include <bitgraph/ops/level_sum_product.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace bitgraph {
namespace {

using namespace level_cases;

struct Shape {
  int x_bits, between_bits, w_bits, out_bits;
  std::size_t columns, outputs;
  LevelPacking packing = LevelPacking::places;

  [[nodiscard]] LevelSumProductShape to_ask() const {
    return {.x_bits = x_bits,
            .packing = packing,
            .between_bits = between_bits,
            .w_bits = w_bits,
            .out_bits = out_bits,
            .columns = columns,
            .outputs = outputs};
  }
};

constexpr auto planes = LevelPacking::planes;
constexpr Shape shapes[] = {{4, 4, 4, 8, 256, 7},        {4, 4, 8, 8, 192, 8},         {3, 4, 2, 6, 128, 1},
                            {2, 1, 3, 8, 96, 5},         {4, 4, 4, 8, 64, 7},          {8, 8, 8, 8, 256, 7},
                            {8, 6, 4, 5, 144, 3},        {5, 8, 8, 8, 128, 8},         {7, 7, 1, 8, 80, 2},
                            {8, 8, 8, 8, 64, 7},         {2, 2, 2, 8, 256, 7, planes}, {2, 2, 1, 8, 192, 8, planes},
                            {2, 2, 2, 5, 256, 1, planes}};

/// All that the two operators are given, on the host.
struct Layers {
  Aggregation sum;
  QuantizedMatrix w;
  LevelScale between, out;
  std::vector<float> bias;

  Layers(const CsrPattern& a, const Shape& shape, bool offsets, unsigned turn)
      : sum(a, shape.columns, shape.x_bits, turn % 2 == 0 ? ScaleExtent::column : ScaleExtent::tensor, offsets),
        w(test::random_levels(shape.outputs, shape.columns, shape.w_bits, turn)),
        between(test::random_scale(ScaleExtent::tensor, 1, offsets, turn + 1)),
        bias(test::random_floats(shape.outputs, turn, -1, 1)) {
    sum.options.rounding = turn % 3 == 0 ? Rounding::floor : Rounding::nearest;
    sum.options.activation = turn % 2 == 0 ? Activation::relu : Activation::none;
    w.set_scale(test::random_scale(ScaleExtent::row, shape.outputs, offsets, turn + 2));
    const ScaleExtent extent = turn % 2 == 0 ? ScaleExtent::tensor : ScaleExtent::column;
    out = test::random_scale(extent, num_scales(extent, a.nrows(), shape.outputs), true, turn + 3);
    for (float& step : out.steps.span()) step *= 20;
    for (float& step : between.steps.span()) step *= 20.0F / static_cast<float>(1U << shape.between_bits);
  }

  [[nodiscard]] LevelGemmOptions product() const { return {.bias = bias, .activation = sum.options.activation}; }

  [[nodiscard]] QuantizedMatrix expected(const CsrPattern& a, const Shape& shape) const {
    QuantizedMatrix levels(a.nrows(), shape.columns, shape.between_bits),
        made(a.nrows(), shape.outputs, shape.out_bits);
    levels.set_scale(between.to(Device()));
    made.set_scale(out.to(Device()));
    level_spmm_into(levels, a, sum.x, sum.options);
    level_gemm_into(made, levels, prepare_level_weights(w), product());
    return made;
  }

  /// `ahead`: what an X in planes needs is found by a call of its own.
  [[nodiscard]] QuantizedMatrix by_one_kernel(const CsrPattern& a, const Shape& shape, bool ahead,
                                              const Device& device) const {
    const There there(a, sum, true, device);
    const QuantizedMatrix x = to_packing(sum.x, shape.packing).to(device);
    const Buffer<float> bias_there = Buffer<float>::copy_of(bias, device);
    const LevelScale scale = between.to(device);
    const LevelWeights weights = prepare_level_weights(w, device);
    Buffer<std::uint64_t> memory(level_sum_product_words(shape.columns), device);
    LevelSpmmOptions options = there.options;
    if (shape.packing == planes) options.planes = memory.span();
    LevelGemmOptions behind = product();
    behind.bias = bias_there.span();
    QuantizedMatrix made(a.nrows(), shape.outputs, shape.out_bits, device);
    made.levels().fill(0xFF);
    made.set_scale(out.to(device));
    const LevelsBetween levels{.bits = shape.between_bits, .scale = &scale};
    if (ahead) {
      level_sum_product_prepare(made, there.a, x, options, levels, weights, behind);
      options.prepared = true;
    }
    level_sum_product_into(made, there.a, x, options, levels, weights, behind);
    return made.to(Device{});
  }
};

void expect_levels_of_both(const std::vector<GraphCase>& all) {
  const Device& device = *test::cuda_device();
  unsigned turn = 0;
  for (const GraphCase& graph : all) {
    for (const Shape& shape : shapes) {
      for (const bool offsets : {false, true}) {
        SCOPED_TRACE(testing::Message() << graph.name << ", " << shape.x_bits << " bits, " << shape.columns
                                        << " columns, " << shape.outputs << " outputs");
        ASSERT_TRUE(level_sum_product_can(shape.to_ask()));
        const Layers layers(graph.a, shape, offsets, ++turn);
        const QuantizedMatrix expected = layers.expected(graph.a, shape);
        const QuantizedMatrix made =
            layers.by_one_kernel(graph.a, shape, shape.packing == planes && turn % 2 == 0, device);
        const auto [at, other] = std::mismatch(made.levels().begin(), made.levels().end(), expected.levels().begin());
        ASSERT_EQ(at - made.levels().begin(), static_cast<std::ptrdiff_t>(made.levels().size()))
            << int{*at} << ", expected " << int{*other};
      }
    }
  }
}

TEST(LevelSumProductCuda, MakesTheLevelsOfBothOperators) {
  BITGRAPH_REQUIRE_CUDA();
  expect_levels_of_both(graphs());
}

TEST(LevelSumProductCuda, MakesThemOfShortRowsRowsOfWarpsAndHubs) {
  BITGRAPH_REQUIRE_CUDA();
  std::vector<GraphCase> all;
  all.push_back({"rows of all lengths", rows_of_all_lengths()});
  all.push_back({"many short rows", test::random_pattern(20000, 500, 0.01, 1)});
  expect_levels_of_both(all);
}

TEST(LevelSumProductCuda, SaysWhatItDoesNotTake) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const CsrPattern a = test::random_pattern(5, 300, 0.2, 1);
  const Shape shape{2, 2, 2, 8, 256, 7, planes};
  const Layers layers(a, shape, true, 1);
  const There there(a, layers.sum, true, device);
  const QuantizedMatrix x = to_packing(layers.sum.x, planes).to(device);
  const LevelScale scale = layers.between.to(device);
  const LevelWeights weights = prepare_level_weights(layers.w, device);
  Buffer<std::uint64_t> memory(level_sum_product_words(shape.columns) + 1, device);
  QuantizedMatrix out(a.nrows(), shape.outputs, shape.out_bits, device);
  out.set_scale(layers.out.to(device));
  const auto refused = [&](LevelSpmmOptions sum, const LevelGemmOptions& product, std::string_view message) {
    sum.bias = {};
    const auto call = [&] { level_sum_product_into(out, there.a, x, sum, {2, &scale}, weights, product); };
    test::expect_error_with(call, ErrorCode::usage, message);
  };
  LevelSpmmOptions good = there.options;
  good.planes = memory.span();
  LevelSpmmOptions sum = good;
  sum.row_order = nullptr;
  refused(sum, {}, "no row order");
  refused(good, {.activation = Activation::tanh}, "a tanh, an addend or rows of floats, expected none of them");
  sum = good;
  sum.planes = memory.span().first(memory.size() - 2);
  refused(sum, {}, "words of planes, expected");
  sum.planes = memory.span().subspan(1);
  refused(sum, {}, "does not begin at a multiple of 16 bytes");
}

}  // namespace
}  // namespace bitgraph
