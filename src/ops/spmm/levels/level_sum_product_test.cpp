// SPDX-License-Identifier: Apache-2.0
// What one kernel for a sum of levels and its product is asked for, and what it refuses on any machine.
#include "support/expect_error.hpp"
#include "support/random_levels.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/formats/row_order.hpp>
#include <bitgraph/ops/level_sum_product.hpp>

#include <gtest/gtest.h>

namespace bitgraph {
namespace {

TEST(LevelSumProduct, HasKernelsForFewOutputs) {
  const auto can = [](const auto& change) {
    LevelSumProductShape shape{
        .x_bits = 4, .between_bits = 4, .w_bits = 8, .out_bits = 8, .columns = 256, .outputs = 7};
    change(shape);
    return level_sum_product_can(shape);
  };
  using Shape = LevelSumProductShape;
  EXPECT_TRUE(can([](Shape&) {}));
  EXPECT_TRUE(can([](Shape& s) { s.columns = 64; }));
  EXPECT_TRUE(can([](Shape& s) { s.x_bits = s.between_bits = 5, s.columns = 144; }));
  EXPECT_FALSE(can([](Shape& s) { s.columns = 257; }));
  EXPECT_FALSE(can([](Shape& s) { s.columns = 63; }));
  EXPECT_FALSE(can([](Shape& s) { s.columns = 208; })) << "rows of 104 bytes are no whole pieces";
  EXPECT_FALSE(can([](Shape& s) { s.outputs = 9; }));
  EXPECT_FALSE(can([](Shape& s) { s.outputs = 0; }));
  EXPECT_FALSE(can([](Shape& s) { s.out_bits = 4; }));
  EXPECT_FALSE(can([](Shape& s) { s.out_bits = 9; }));
  EXPECT_FALSE(can([](Shape& s) { s.w_bits = 9; }));
  EXPECT_FALSE(can([](Shape& s) { s.between_bits = 5; })) << "nibbles and bytes";
  EXPECT_FALSE(can([](Shape& s) { s.x_bits = s.between_bits = 9; }));
  const auto can_planes = [](int x_bits, int w_bits, std::size_t columns) {
    return level_sum_product_can({.x_bits = x_bits,
                                  .packing = LevelPacking::planes,
                                  .between_bits = 2,
                                  .w_bits = w_bits,
                                  .columns = columns,
                                  .outputs = 7});
  };
  EXPECT_TRUE(can_planes(2, 2, 256));
  EXPECT_TRUE(can_planes(2, 1, 192));
  EXPECT_FALSE(can_planes(1, 1, 192));
  EXPECT_FALSE(can_planes(2, 2, 128));
  EXPECT_FALSE(can_planes(2, 2, 200)) << "no whole pieces of planes";
  EXPECT_FALSE(can_planes(2, 3, 256));
  EXPECT_FALSE(can_planes(3, 2, 256));
}

TEST(LevelSumProduct, SaysThatTheHostHasNoKernel) {
  const CsrPattern a = test::random_pattern(5, 9, 0.3, 1);
  QuantizedMatrix x = test::random_levels(9, 64, 4, 1), out(5, 7, 8);
  x.set_scale(test::random_scale(ScaleExtent::tensor, 1, true, 2));
  out.set_scale(test::random_scale(ScaleExtent::tensor, 1, true, 3));
  QuantizedMatrix w = test::random_levels(7, 64, 4, 4);
  w.set_scale(test::random_scale(ScaleExtent::tensor, 1, true, 5));
  const LevelScale scale = test::random_scale(ScaleExtent::tensor, 1, true, 6);
  const RowOrder order(a);
  const LevelWeights weights = prepare_level_weights(w);
  const LevelsBetween between{.bits = 4, .scale = &scale};
  test::expect_error_with([&] { level_sum_product_into(out, a, x, {.row_order = &order}, between, weights); },
                          ErrorCode::not_possible, "no kernel for 64 columns of 4 bits and 7 outputs of 8 on");
  test::expect_error_with([&] { level_sum_product_into(out, a, x, {.row_order = &order}, {.bits = 4}, weights); },
                          ErrorCode::usage, "the levels between have no scale for the tensor");
  QuantizedMatrix narrow(5, 6, 8);
  narrow.set_scale(test::random_scale(ScaleExtent::tensor, 1, true, 3));
  test::expect_error_with([&] { level_sum_product_into(narrow, a, x, {.row_order = &order}, between, weights); },
                          ErrorCode::usage, "X has 64 columns, W is 7 x 64, the output has 6");
  out.set_scale(test::random_scale(ScaleExtent::row, 5, true, 3));
  test::expect_error_with([&] { level_sum_product_into(out, a, x, {.row_order = &order}, between, weights); },
                          ErrorCode::usage, "levels out have a scale by rows");
}

}  // namespace
}  // namespace bitgraph
