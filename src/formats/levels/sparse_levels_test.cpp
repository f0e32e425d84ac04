// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/sparse_levels.hpp>

#include "support/everywhere.hpp"
#include "support/random_levels.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

namespace bitgraph {
namespace {

constexpr std::array<std::pair<NodeId, NodeId>, 8> shapes{
    {{0, 5}, {5, 0}, {1, 1}, {9, 63}, {9, 64}, {9, 65}, {70, 130}, {300, 33}}};

/// Some rows have no entries. The value 0 has the first level of some rows, the last of others, and any between.
SparseLevels some_entries(NodeId nrows, NodeId ncols, int bits, ScaleExtent extent) {
  SparseLevels x{test::random_pattern(nrows, ncols, 0.05, 3), {}, bits, {}};
  const auto numbers = test::random_numbers(1, x.pattern.nvals(), bits, nrows);
  x.levels = Buffer<std::uint16_t>(x.pattern.nvals());
  for (std::size_t e = 0; e < x.levels.size(); ++e) x.levels[e] = static_cast<std::uint16_t>(numbers(0, e));
  x.scale = test::random_scale(extent, num_scales(extent, nrows, ncols), true, 5);
  const auto most = static_cast<float>((1U << bits) - 1);
  for (std::size_t s = 0; s < x.scale.steps.size(); ++s)
    x.scale.offsets[s] = -x.scale.steps[s] * most * static_cast<float>(s % 5) / 4;
  return x;
}

/// The level whose value is nearest to 0.
std::uint32_t level_of_zero(const SparseLevels& x, std::size_t row) {
  std::uint32_t nearest = 0;
  for (std::uint32_t level = 1; level < 1U << x.bits; ++level) {
    const auto distance = [&](std::uint32_t l) {
      return std::abs(static_cast<double>(x.scale.step(row, 0)) * l + static_cast<double>(x.scale.offset(row, 0)));
    };
    if (distance(level) < distance(nearest)) nearest = level;
  }
  return nearest;
}

template <class Fn>
void for_each_case(Fn&& fn) {
  for (const auto& [nrows, ncols] : shapes) {
    for (const int bits : {1, 2, 3, 4, 5, 8, 9, 16}) {
      for (const ScaleExtent extent : {ScaleExtent::row, ScaleExtent::tensor}) {
        SCOPED_TRACE(testing::Message() << nrows << " x " << ncols << ", " << bits << " bits");
        fn(some_entries(nrows, ncols, bits, extent));
      }
    }
  }
}

TEST(SparseLevels, ComeBackAsTheEntriesThatTheyWere) {
  for_each_case([](const SparseLevels& x) {
    EXPECT_EQ(x.bytes(), x.pattern.bytes() + 2 * x.pattern.nvals() + x.scale.bytes());
    test::with_thread_counts([&](const Device& device) {
      const SparseLevels there = x.to(device);
      const SparseLevels back = to_sparse(to_quantized(there), x.pattern.to(device));
      EXPECT_EQ(back.bits, x.bits);
      EXPECT_EQ(back.pattern, x.pattern);
      EXPECT_EQ(back.scale.extent, x.scale.extent);
      ASSERT_TRUE(std::ranges::equal(back.levels.span(), x.levels.span()));
      EXPECT_TRUE(std::ranges::equal(back.scale.steps.span(), x.scale.steps.span()));
      EXPECT_TRUE(std::ranges::equal(back.scale.offsets.span(), x.scale.offsets.span()));
    });
  });
}

TEST(SparseLevels, OtherPlacesHaveTheLevelNearestToZero) {
  for_each_case([](const SparseLevels& x) {
    if (x.bits > 9 && x.nrows() > 9) return;  // all levels are looked at
    const QuantizedMatrix all = to_quantized(x);
    // The constructor looks at what is behind the last column.
    const QuantizedMatrix checked(all.nrows(), all.ncols(), all.bits(), all.levels().clone());
    for (std::size_t i = 0; i < x.nrows(); ++i) {
      const std::uint32_t zero = level_of_zero(x, i);
      EdgeOffset at = x.pattern.row_ptr()[i];
      for (NodeId j = 0; j < x.ncols(); ++j) {
        const bool entry = at < x.pattern.row_ptr()[i + 1] && x.pattern.col_ind()[at] == j;
        const std::uint32_t level = entry ? x.levels[at++] : zero;
        // Halfway between two levels the upper one is as near.
        const bool halfway = !entry && all.level(i, j) == level + 1;
        ASSERT_TRUE(all.level(i, j) == level || halfway) << i << ", " << j;
      }
    }
  });
}

TEST(SparseLevels, OtherPlacesHaveTheLevelOfZeroOnTheirRowsScale) {
  SparseLevels x{CsrPattern(3, 4, Buffer<EdgeOffset>{0, 1, 1, 2}, Buffer<NodeId>{2, 0}),
                 Buffer<std::uint16_t>{7, 1},
                 3,
                 {ScaleExtent::row, Buffer<float>{0.5F, 1, 0.25F}, Buffer<float>{-1, 0, -10}}};
  const QuantizedMatrix all = to_quantized(x);
  const std::uint32_t expected[3][4] = {{2, 2, 7, 2}, {0, 0, 0, 0}, {1, 7, 7, 7}};  // at most the greatest level
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 4; ++j) EXPECT_EQ(all.level(i, j), expected[i][j]) << i << ", " << j;
  }
  x.scale.offsets = {};
  EXPECT_EQ(to_quantized(x).level(2, 3), 0U);
}

TEST(SparseLevels, APatternOfAnotherShapeIsRefused) {
  test::expect_usage_error(
      [] { static_cast<void>(to_sparse(QuantizedMatrix(3, 4, 8), test::random_pattern(3, 5, 0.5, 1))); },
      "the pattern has another shape");
}

}  // namespace
}  // namespace bitgraph
