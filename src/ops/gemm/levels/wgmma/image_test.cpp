// SPDX-License-Identifier: Apache-2.0
// Images of W hold each level once, where kernels look for it.
#include "ops/gemm/levels/wgmma/image.hpp"
#include "support/random_levels.hpp"

#include <bitgraph/ops/level_gemm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

using level_image::Order;

Order order_of(int x_bits, int w_bits, std::size_t columns, LevelStrategy strategy = LevelStrategy::automatic) {
  return level_image::order_of({.x_bits = x_bits, .strategy = strategy}, w_bits, columns);
}

TEST(LevelImage, OrderFollowsFromBitsAndColumns) {
  constexpr std::size_t columns = 512;
  EXPECT_EQ(order_of(1, 2, columns), Order::planes);
  EXPECT_EQ(order_of(2, 2, columns), Order::planes);
  EXPECT_EQ(order_of(2, 3, columns), Order::nibbles);
  EXPECT_EQ(order_of(4, 8, columns), Order::nibbles);
  EXPECT_EQ(order_of(5, 1, columns), Order::bytes);
  for (const auto& [p, q] : {std::pair(9, 4), {4, 9}, {0, 4}}) EXPECT_EQ(order_of(p, q, columns), Order::none);
  for (const std::size_t few : {1U, 256U, 513U, 768U, 3073U}) EXPECT_EQ(order_of(2, 2, few), Order::nibbles) << few;
  for (const std::size_t many : {257U, 512U, 769U, 3072U}) EXPECT_EQ(order_of(2, 2, many), Order::planes) << many;
}

TEST(LevelImage, HasTheOrderOfTheStrategyThatIsNamed) {
  for (const std::size_t columns : {1U, 256U, 512U, 3072U}) {
    EXPECT_EQ(order_of(2, 2, columns, LevelStrategy::planes), Order::planes) << columns;
    EXPECT_EQ(order_of(2, 2, columns, LevelStrategy::bytes), Order::nibbles) << columns;
  }
  EXPECT_EQ(order_of(2, 2, 3073, LevelStrategy::planes), Order::nibbles) << "rows that do not fit";
  EXPECT_EQ(order_of(2, 3, 512, LevelStrategy::planes), Order::nibbles) << "no kernel for 3 bits";
  EXPECT_EQ(order_of(8, 2, 512, LevelStrategy::planes), Order::bytes);
}

TEST(LevelImage, HasAnOrderForLevelsInPlanes) {
  LevelWeightsUse use{.x_bits = 2, .strategy = LevelStrategy::bytes, .x_packing = LevelPacking::planes};
  EXPECT_EQ(level_image::order_of(use, 2, 1), Order::packed);
  EXPECT_EQ(level_image::order_of(use, 3, 1), Order::none);
  EXPECT_EQ(level_image::order_of(use, 2, 3073), Order::none);
  use.out_packing = LevelPacking::planes;
  EXPECT_EQ(level_image::order_of(use, 1, 512), Order::packed_to_planes);
}

TEST(LevelImage, RowsForPlanesOutAreAllOutputsOnce) {
  std::vector<std::size_t> outputs;
  for (std::size_t row = 0; row < 96; ++row) outputs.push_back(level_image::output_of_row(row));
  EXPECT_EQ(outputs[1], 2U);
  EXPECT_EQ(outputs[2], 16U);
  EXPECT_EQ(outputs[4], 1U);
  EXPECT_EQ(outputs[8], 4U);
  EXPECT_EQ(outputs[32], 32U);
  std::ranges::sort(outputs);
  for (std::size_t row = 0; row < 96; ++row) EXPECT_EQ(outputs[row], row);
}

TEST(LevelImage, HoldsAsManyLevelsAsW) {
  for (const auto& [rows, columns] : {std::pair(1, 1), {7, 33}, {33, 257}, {40, 513}, {64, 1024}}) {
    SCOPED_TRACE(testing::Message() << rows << " x " << columns);
    const auto image_of = [rows = rows, columns = columns](int bits, Order order) {
      QuantizedMatrix w(rows, columns, bits);
      for (int f = 0; f < rows; ++f) {
        for (int c = 0; c < columns; ++c) w.set_level(f, c, (1U << bits) - 1);
      }
      const Buffer<std::uint8_t> image = level_image::make(w, order);
      EXPECT_EQ(image.size(), level_image::bytes(order, w.nrows(), w.ncols()));
      return image.clone();
    };
    const auto levels = std::int64_t{rows} * columns;
    for (const Order order : {Order::nibbles, Order::bytes}) {
      const Buffer<std::uint8_t> image = image_of(8, order);
      EXPECT_EQ(std::ranges::count(image.span(), 255), levels);
      EXPECT_EQ(std::ranges::count(image.span(), 0), static_cast<std::int64_t>(image.size()) - levels);
    }
    for (const Order order : {Order::planes, Order::packed, Order::packed_to_planes}) {
      std::int64_t ones = 0;
      const Buffer<std::uint8_t> planes = image_of(2, order);
      for (const std::uint8_t byte : planes.span()) ones += std::popcount(byte);
      EXPECT_EQ(ones, 2 * levels);
    }
  }
}

/// The places of a few levels, by hand.
TEST(LevelImage, PutsLevelsWhereKernelsReadThem) {
  const auto byte_of = [](Order order, std::size_t row, std::size_t column, int bits, std::uint32_t level) {
    QuantizedMatrix w(40, 600, bits);
    w.set_level(row, column, level);
    const Buffer<std::uint8_t> image = level_image::make(w, order);
    const auto at = std::ranges::find_if(image.span(), [](std::uint8_t byte) { return byte != 0; });
    return std::pair<std::size_t, int>(at - image.span().begin(), *at);
  };
  constexpr std::size_t block = 64 * 128;  // 40 rows become 64
  EXPECT_EQ(byte_of(Order::bytes, 0, 17, 8, 9), std::pair(std::size_t{17}, 9));
  EXPECT_EQ(byte_of(Order::bytes, 1, 0, 8, 9), std::pair(std::size_t{128 + 16}, 9)) << "pieces change places";
  EXPECT_EQ(byte_of(Order::bytes, 0, 130, 8, 9), std::pair(block + 2, 9));
  EXPECT_EQ(byte_of(Order::nibbles, 0, 35, 8, 9), std::pair(std::size_t{32 + 16 + 1}, 9)) << "odd places come last";
  EXPECT_EQ(byte_of(Order::planes, 0, 0, 2, 1), std::pair(std::size_t{0}, 1));
  EXPECT_EQ(byte_of(Order::planes, 0, 0, 2, 2), std::pair(std::size_t{32}, 1)) << "the second plane";
  EXPECT_EQ(byte_of(Order::planes, 0, 256, 2, 1), std::pair(std::size_t{64}, 1)) << "the next 256 columns";
  EXPECT_EQ(byte_of(Order::planes, 0, 32, 2, 1), std::pair(std::size_t{0}, 4)) << "the next word of nibbles";
  EXPECT_EQ(byte_of(Order::planes, 0, 64, 2, 1), std::pair(std::size_t{0}, 2));
  EXPECT_EQ(byte_of(Order::planes, 0, 128 + 9, 2, 1), std::pair(std::size_t{16 + 4}, 16));
  EXPECT_EQ(byte_of(Order::packed, 0, 9, 2, 1), std::pair(std::size_t{1}, 2));
  EXPECT_EQ(byte_of(Order::packed, 0, 32, 2, 1), std::pair(std::size_t{16}, 1)) << "the upper half of 64 columns";
  EXPECT_EQ(byte_of(Order::packed, 0, 64, 2, 1), std::pair(std::size_t{4}, 1)) << "the next lane's columns";
  EXPECT_EQ(byte_of(Order::packed, 0, 256, 2, 2), std::pair(std::size_t{64 + 32}, 1))
      << "the second half's upper plane";
  EXPECT_EQ(byte_of(Order::packed_to_planes, 1, 0, 2, 1), std::pair(std::size_t{4 * 128 + 4 * 16}, 1));
}

TEST(LevelImage, IsLeftOutOnTheHost) {
  const QuantizedMatrix w = test::random_levels(5, 70, 2, 1);
  const LevelWeightsUse use{.x_bits = 2, .sparse = true};
  EXPECT_TRUE(prepare_level_weights(w, Device{}, use).image.empty());
  EXPECT_EQ(level_weights_bytes(w, Device{}, use), prepare_level_weights(w, Device{}, use).bytes());
}

}  // namespace
}  // namespace bitgraph
