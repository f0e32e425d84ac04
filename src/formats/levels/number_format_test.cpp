// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/random.hpp>
#include <bitgraph/formats/number_format.hpp>

#include "support/expect_error.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

/// Every kind with every extent, with and without an offset; planes at several widths.
std::vector<NumberFormat> all_formats() {
  std::vector<NumberFormat> all;
  for (const NumberTraits& traits : number_traits()) {
    for (const int bits : traits.bits != 0 ? std::vector{traits.bits} : std::vector{1, 2, 4, 8, 13}) {
      for (const auto scale : {ScaleExtent::none, ScaleExtent::tensor, ScaleExtent::row, ScaleExtent::column}) {
        all.push_back({traits.kind, bits, scale, false});
        if (scale != ScaleExtent::none) all.push_back({traits.kind, bits, scale, true});
      }
    }
  }
  return all;
}

DenseMatrix<float> random_matrix(std::size_t nrows, std::size_t ncols) {
  DenseMatrix<float> x(nrows, ncols);
  for (std::size_t n = 0; n < x.values().size(); ++n) x.values()[n] = 4 * random_uniform({3, 1, 0}, n) - 2;
  return x;
}

TEST(NumberFormat, RowsOfTheTableStandInTheOrderOfTheKinds) {
  for (const NumberTraits& traits : number_traits()) EXPECT_EQ(&number_traits(traits.kind), &traits) << traits.name;
}

TEST(NumberFormat, TextNamesTheFormatAndNoOther) {
  EXPECT_EQ(to_string({NumberKind::planes, 4, ScaleExtent::column, true}), "planes4*column+offset");
  EXPECT_EQ(to_string({NumberKind::sign, 1, ScaleExtent::row}), "sign*row");
  for (const NumberFormat& format : all_formats())
    EXPECT_EQ(number_format_from_string(to_string(format)), format) << to_string(format);
  for (const char* const wrong : {"", "float", "float33", "sign*", "sign*rows", "int8+offset", "planes", "planes0",
                                  "planes33", "planes4x", "sign*row*row", "int8 "}) {
    EXPECT_THROW((void)number_format_from_string(wrong), Error) << wrong;
  }
}

TEST(NumberFormat, BytesAreThoseOfTheStorage) {
  for (const NumberFormat& format : all_formats()) {
    for (const auto& [nrows, ncols] : {std::pair{3, 65}, {5, 64}, {1, 1}, {0, 7}, {4, 0}}) {
      const auto rows = static_cast<std::size_t>(nrows);
      const auto cols = static_cast<std::size_t>(ncols);
      const EncodedMatrix matrix = encode(random_matrix(rows, cols), format);
      EXPECT_EQ(matrix.levels.bytes() + matrix.steps.bytes() + matrix.offsets.bytes(), stored_bytes(format, rows, cols))
          << to_string(format);
    }
  }
  EXPECT_EQ(stored_bytes({NumberKind::sign, 1, ScaleExtent::row}, 3, 65), 3U * 2 * 8 + 3 * 4);
  EXPECT_EQ(stored_bytes({NumberKind::planes, 3, ScaleExtent::column, true}, 2, 10), 3U * 2 * 8 + 2 * 10 * 4);
}

/// Half a step is the most that rounding moves a value.
TEST(NumberFormat, WholeLevelsAreWithinHalfAStep) {
  const DenseMatrix<float> x = random_matrix(9, 70);
  for (const NumberFormat& format : all_formats()) {
    const bool is_signed = number_traits(format.kind).least(format.bits) < -1;
    if (!number_traits(format.kind).whole || format.scale == ScaleExtent::none || (!format.offset && !is_signed))
      continue;
    const EncodedMatrix matrix = encode(x, format);
    const DenseMatrix<float> back = decode(matrix);
    for (std::size_t i = 0; i < x.nrows(); ++i) {
      for (std::size_t j = 0; j < x.ncols(); ++j) {
        const std::size_t s = format.scale == ScaleExtent::row ? i : format.scale == ScaleExtent::column ? j : 0;
        const float step = matrix.steps[s];
        const float width = format.kind == NumberKind::sign ? 2 * step : step;
        ASSERT_NEAR(back(i, j), x(i, j), width * 0.5001F + 1e-6F) << to_string(format) << " at " << i << ", " << j;
      }
    }
  }
}

TEST(NumberFormat, SignsHaveTheMeanMagnitude) {
  const DenseMatrix<float> x(2, 3, Buffer<float>::copy_of(std::vector<float>{1, -2, 3, -4, 0, -8}));
  const EncodedMatrix matrix = encode(x, {NumberKind::sign, 1, ScaleExtent::row});
  EXPECT_EQ(matrix.steps[0], 2);
  EXPECT_EQ(matrix.steps[1], 4);
  const DenseMatrix<float> back = decode(matrix);
  const std::vector<float> expected{2, -2, 2, -4, 4, -4};  // the sign of 0 is +1
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), back.values().begin()));
}

/// A row has its planes one after the other, as BitPlanes packs them.
TEST(NumberFormat, PlanesAreBitMatricesOnePerDigit) {
  DenseMatrix<float> x(2, 65);
  x(0, 0) = 5;
  x(1, 64) = 2;
  x(1, 63) = 100;  // above the greatest level
  const EncodedMatrix matrix = encode(x, {NumberKind::planes, 3});
  std::vector<std::uint64_t> words(3 * 2 * 2);
  std::memcpy(words.data(), matrix.levels.data(), matrix.levels.bytes());
  const std::uint64_t top = std::uint64_t{1} << 63;
  EXPECT_EQ(words, (std::vector<std::uint64_t>{1, 0, 0, 0, 1, 0, top, 0, top, 1, top, 0}));
  EXPECT_EQ(decode(matrix)(1, 63), 7);
}

TEST(NumberFormat, WrongFormatsAndValuesAreRefused) {
  test::expect_error(
      [] {
        require_valid({NumberKind::int8, 4});
      },
      ErrorCode::usage, "numbers of kind int8 have no 4 bits");
  test::expect_error(
      [] {
        require_valid({NumberKind::int8, 8, ScaleExtent::none, true});
      },
      ErrorCode::usage, "int8+offset has an offset, but no scale");
  DenseMatrix<float> x(1, 2);
  x(0, 1) = std::numeric_limits<float>::infinity();
  test::expect_error(
      [&] {
        (void)encode(x, {NumberKind::int8, 8});
      },
      ErrorCode::bad_input, "int8 cannot hold a value that is not finite");
}

TEST(Bfloat16, RoundsToNearestTiesToEven) {
  EXPECT_EQ(static_cast<float>(Bfloat16(1.0F)), 1.0F);
  EXPECT_EQ(Bfloat16(1.0F + 0.00390625F).bits, 0x3f80);  // half way to the next: to the even one below
  EXPECT_EQ(Bfloat16(1.0F + 0.01171875F).bits, 0x3f82);  // half way: to the even one above
  EXPECT_EQ(Bfloat16(-3.4028235e38F).bits, 0xff80);      // beyond the greatest: infinite
  EXPECT_TRUE(std::isnan(static_cast<float>(Bfloat16(std::nanf("")))));
  for (std::uint32_t high = 0; high < 0x10000U; ++high) {
    Bfloat16 value;
    value.bits = static_cast<std::uint16_t>(high);
    const auto wide = static_cast<float>(value);
    if (!std::isnan(wide)) {
      ASSERT_EQ(Bfloat16(wide).bits, high);
    }
  }
}

}  // namespace
}  // namespace bitgraph
