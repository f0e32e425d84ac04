// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/bit_planes.hpp>
#include <bitgraph/formats/quantized_matrix.hpp>

#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/random_levels.hpp"
#include "support/random_matrices.hpp"
#include "support/shapes.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace bitgraph {
namespace {

using Levels = DenseMatrix<std::uint32_t>;

/// Every width of a place, its least and its greatest.
constexpr int widths[] = {1, 2, 3, 4, 5, 8, 9, 13, 16};

void expect_equal(const Levels& actual, const Levels& expected) {
  ASSERT_EQ(actual.nrows(), expected.nrows());
  ASSERT_EQ(actual.ncols(), expected.ncols());
  for (std::size_t n = 0; n < expected.values().size(); ++n)
    ASSERT_EQ(actual.values()[n], expected.values()[n]) << "element " << n;
}

LevelScale scale_of(ScaleExtent extent, std::size_t nrows, std::size_t ncols, bool offsets) {
  const std::size_t count = num_scales(extent, nrows, ncols);
  LevelScale scale{extent, Buffer<float>(count), Buffer<float>(offsets ? count : 0)};
  for (std::size_t s = 0; s < count; ++s) {
    scale.steps[s] = 0.5F + static_cast<float>(s);
    if (offsets) scale.offsets[s] = static_cast<float>(s) - 3;
  }
  return scale;
}

TEST(QuantizedMatrix, HoldsLevelsOfEveryWidthInBytesThatAreCounted) {
  for (const test::Shape& shape : test::odd_shapes()) {
    for (const int bits : widths) {
      SCOPED_TRACE(testing::Message() << shape << ", " << bits << " bits");
      const Levels levels = test::random_numbers(shape.nrows, shape.ncols, bits, 1);
      const QuantizedMatrix x = quantized_from_levels(levels, bits);
      expect_equal(to_levels(x), levels);
      EXPECT_EQ(x.bytes(), stored_bytes(x.format(), shape.nrows, shape.ncols));
      EXPECT_EQ(x.row_bytes() % 8, 0U);
      // The constructor checks what is behind the last column.
      const QuantizedMatrix again(shape.nrows, shape.ncols, bits, x.levels().clone());
      expect_equal(to_levels(again), levels);
    }
  }
}

TEST(QuantizedMatrix, NibblesLieLowHalfFirst) {
  QuantizedMatrix x(2, 3, 4);
  x.set_level(1, 0, 5);
  x.set_level(1, 1, 9);
  x.set_level(1, 2, 15);
  EXPECT_EQ(x.levels()[8], 0x95);
  EXPECT_EQ(x.levels()[9], 0x0F);
  x.set_level(1, 1, 2);
  EXPECT_EQ(x.level(1, 0), 5U);
  EXPECT_EQ(x.level(1, 1), 2U);
  QuantizedMatrix wide(1, 1, 12);
  wide.set_level(0, 0, 0xABC);
  EXPECT_EQ(wide.levels()[0], 0xBC);
  EXPECT_EQ(wide.levels()[1], 0x0A);
}

TEST(QuantizedMatrix, AValueIsAStepTimesTheLevelAndAnOffset) {
  for (const auto extent : {ScaleExtent::none, ScaleExtent::tensor, ScaleExtent::row, ScaleExtent::column}) {
    for (const bool offsets : {false, true}) {
      if (offsets && extent == ScaleExtent::none) continue;
      QuantizedMatrix x = quantized_from_levels(test::random_numbers(5, 7, 3, 1), 3);
      x.set_scale(scale_of(extent, 5, 7, offsets));
      EXPECT_EQ(x.bytes(), stored_bytes(x.format(), 5, 7));
      const DenseMatrix<float> values = to_dense(x);
      for (std::size_t i = 0; i < 5; ++i) {
        for (std::size_t j = 0; j < 7; ++j) {
          const std::size_t s = extent == ScaleExtent::row ? i : extent == ScaleExtent::column ? j : 0;
          const float step = extent == ScaleExtent::none ? 1 : 0.5F + static_cast<float>(s);
          const float offset = offsets ? static_cast<float>(s) - 3 : 0;
          EXPECT_EQ(values(i, j), step * static_cast<float>(x.level(i, j)) + offset);
        }
      }
      const BitPlanes planes = to_planes(x, PlanePacking::columns);
      test::expect_identical(to_dense(planes).values(), values.values());
      test::expect_identical(to_dense(to_quantized(planes)).values(), values.values());
    }
  }
}

TEST(QuantizedMatrix, HoldsTwoBitsInPlanesToo) {
  for (const test::Shape& shape : test::odd_shapes()) {
    SCOPED_TRACE(testing::Message() << shape);
    QuantizedMatrix x = quantized_from_levels(test::random_numbers(shape.nrows, shape.ncols, 2, 1), 2);
    x.set_scale(scale_of(ScaleExtent::row, shape.nrows, shape.ncols, true));
    QuantizedMatrix planes = to_packing(x, LevelPacking::planes);
    EXPECT_TRUE(planes.in_planes());
    EXPECT_EQ(planes.levels().size(), shape.nrows * words_for_bits(shape.ncols) * 16);
    expect_equal(to_levels(planes), to_levels(x));
    test::expect_identical(to_dense(planes).values(), to_dense(x).values());
    expect_equal(to_levels(to_planes(planes)), to_levels(x));
    const QuantizedMatrix back = to_packing(planes, LevelPacking::places);
    EXPECT_TRUE(std::ranges::equal(back.levels().span(), x.levels().span()));
    EXPECT_TRUE(planes.clone().in_planes());
    EXPECT_TRUE(planes.share().in_planes());
    if (shape.nrows == 0 || shape.ncols == 0) continue;
    const std::size_t i = shape.nrows - 1, j = shape.ncols - 1;
    for (const std::uint32_t level : {3U, 0U, 2U, 1U}) {
      planes.set_level(i, j, level);
      EXPECT_EQ(planes.level(i, j), level);
    }
  }
}

/// Of each 64 columns a word of lower bits, then one of upper bits.
TEST(QuantizedMatrix, PlanesOfAPieceLieSideBySide) {
  QuantizedMatrix x(2, 70, 2, {}, LevelPacking::planes);
  ASSERT_EQ(x.row_bytes(), 32U);
  x.set_level(1, 9, 1);
  x.set_level(1, 65, 2);
  EXPECT_EQ(x.levels()[32 + 1], 0x02);
  EXPECT_EQ(x.levels()[32 + 16 + 8], 0x02);
  EXPECT_EQ(std::ranges::count(x.levels().span(), 0), 62);
  test::expect_usage_error([] { QuantizedMatrix(2, 2, 4, {}, LevelPacking::planes); },
                           "levels of 4 bits in planes: expected 2 bits");
}

TEST(QuantizedMatrix, RefusesWhatIsNotLevelsOrSteps) {
  const auto bad = [](auto&& call, const char* text) { test::expect_error_with(call, ErrorCode::bad_input, text); };
  test::expect_usage_error([] { QuantizedMatrix(2, 2, 0); }, "0 bits");
  test::expect_usage_error([] { QuantizedMatrix(2, 2, 17); }, "17 bits");
  test::expect_usage_error([] { QuantizedMatrix(2, 2, 4, Buffer<std::uint8_t>(15, std::uint8_t{0})); },
                           "15 bytes for 2 x 2 levels of 4 bits, expected 8 a row");
  bad(
      [] {
        QuantizedMatrix(1, 2, 3, Buffer<std::uint8_t>{0x80, 0, 0, 0, 0, 0, 0, 0});
      },
      "level 8 in row 0, column 1: 3 bits hold at most 7");
  bad([] { QuantizedMatrix(1, 1, 4, Buffer<std::uint8_t>{0x10, 0, 0, 0, 0, 0, 0, 0}); }, "a level behind column 1");
  bad([] { QuantizedMatrix(1, 1, 9, Buffer<std::uint8_t>{0, 0x02, 0, 0, 0, 0, 0, 0}); }, "level 512");
  bad([] { static_cast<void>(quantized_from_levels(test::random_numbers(3, 3, 5, 1), 4)); }, "4 bits hold at most 15");
  // Rows whose bytes wrap around to none.
  EXPECT_THROW(QuantizedMatrix(3, std::size_t{1} << 63, 16, Buffer<std::uint8_t>()), Error);
  EXPECT_THROW(QuantizedMatrix(3, std::size_t{1} << 63, 16), Error);
  QuantizedMatrix x(2, 3, 4);
  test::expect_usage_error([&] { x.set_level(0, 0, 16); }, "level 16");
  for (const float step : {0.0F, -1.0F, NAN, INFINITY})
    bad([&] { x.set_scale({ScaleExtent::tensor, Buffer<float>{step}, {}}); }, "step 0 is");
  bad([&] { x.set_scale({ScaleExtent::row, Buffer<float>{1, 1}, Buffer<float>{0, NAN}}); }, "offset 1 is");
  test::expect_usage_error([&] { x.set_scale({ScaleExtent::column, Buffer<float>{1, 1}, {}}); }, "expected 3");
}

TEST(BitPlanes, HoldLevelsOfEveryWidthInBothPackings) {
  for (const test::Shape& shape : test::odd_shapes()) {
    for (const int bits : {1, 3, 8, 16, 17, 32}) {
      SCOPED_TRACE(testing::Message() << shape << ", " << bits << " bits");
      const Levels levels = test::random_numbers(shape.nrows, shape.ncols, bits, 1);
      for (const auto packing : {PlanePacking::rows, PlanePacking::columns}) {
        const BitPlanes x = planes_from_levels(levels, bits, packing);
        expect_equal(to_levels(x), levels);
        const std::size_t words = packing == PlanePacking::rows
                                      ? shape.nrows * words_for_bits(shape.ncols)
                                      : (shape.nrows + 127) / 128 * ((shape.ncols + 7) / 8) * 16;
        EXPECT_EQ(x.bytes(), words * static_cast<std::size_t>(bits) * 8);
        if (packing == PlanePacking::rows) {
          EXPECT_EQ(x.bytes(), stored_bytes(x.format(), shape.nrows, shape.ncols));
        }
        // The constructor checks the padding.
        expect_equal(to_levels(BitPlanes(shape.nrows, shape.ncols, bits, packing, x.words().clone())), levels);
        const auto other = packing == PlanePacking::rows ? PlanePacking::columns : PlanePacking::rows;
        const BitPlanes turned = to_packing(x, other), wanted = planes_from_levels(levels, bits, other);
        EXPECT_TRUE(std::equal(turned.words().begin(), turned.words().end(), wanted.words().begin()));
      }
    }
  }
}

TEST(BitPlanes, AreTheLevelsOfAQuantizedMatrix) {
  for (const int bits : widths) {
    const Levels levels = test::random_numbers(70, 67, bits, 1);
    const QuantizedMatrix x = quantized_from_levels(levels, bits);
    for (const auto packing : {PlanePacking::rows, PlanePacking::columns}) {
      const BitPlanes planes = to_planes(x, packing);
      expect_equal(to_levels(planes), levels);
      const QuantizedMatrix back = to_quantized(planes);
      EXPECT_TRUE(std::equal(back.levels().begin(), back.levels().end(), x.levels().begin()));
    }
  }
}

TEST(BitPlanes, SideBySideAreOneBitMatrixOfTheSameStorage) {
  const BitPlanes x = planes_from_levels(test::random_numbers(9, 70, 3, 1), 3);
  const BitMatrix<ZeroOne> bits = x.side_by_side();
  EXPECT_EQ(bits.words().data(), x.words().data());
  EXPECT_EQ(bits.ncols(), 3U * 128);
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t j = 0; j < 70; ++j) {
      for (std::size_t p = 0; p < 3; ++p) EXPECT_EQ(bits.bit(i, p * 128 + j), ((x.level(i, j) >> p) & 1U) != 0);
    }
  }
  const BitPlanes by_columns = to_packing(x, PlanePacking::columns);
  test::expect_usage_error([&] { static_cast<void>(by_columns.side_by_side()); }, "packed by columns");
}

TEST(BitPlanes, OneBitOfStepTwoAndOffsetMinusOneIsASign) {
  const BitMatrix<PlusMinusOne> signs = test::random_bits(5, 67, 3);
  const BitPlanes x = to_planes(signs);
  EXPECT_EQ(to_string(x.format()), "planes1*tensor+offset");
  test::expect_identical(to_dense(x).values(), to_dense(signs).values());
}

TEST(BitPlanes, RefuseWrongWidthsAndBitsInThePadding) {
  test::expect_usage_error([] { BitPlanes(2, 2, 0); }, "0 bit planes");
  test::expect_usage_error([] { BitPlanes(2, 2, 33); }, "33 bit planes");
  test::expect_usage_error(
      [] {
        BitPlanes(2, 2, 2, PlanePacking::rows, Buffer<std::uint64_t>{0, 0, 0});
      },
      "expected 4");
  test::expect_error_with(
      [] {
        BitPlanes(1, 3, 2, PlanePacking::rows, Buffer<std::uint64_t>{7, 8});
      },
      ErrorCode::bad_input, "row 0 of plane 1");
  // Of 3 rows and 2 columns: rows 3 and on, the second word, and a third column.
  for (const auto& [word, bit, column] : {std::array{2, 3, 1}, {1, 0, 0}, {4, 0, 2}}) {
    Buffer<std::uint64_t> words(16, std::uint64_t{0});
    words[static_cast<std::size_t>(word)] = std::uint64_t{1} << bit;
    test::expect_error_with([&] { BitPlanes(3, 2, 1, PlanePacking::columns, std::move(words)); }, ErrorCode::bad_input,
                            "column " + std::to_string(column) + " of plane 0");
  }
  EXPECT_THROW(BitPlanes(std::size_t{1} << 62, 65, 8, PlanePacking::rows, Buffer<std::uint64_t>()), Error);
  test::expect_usage_error([] { static_cast<void>(to_quantized(BitPlanes(2, 2, 17))); }, "17 bits");
}

}  // namespace
}  // namespace bitgraph
