// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/sparse_levels.hpp>

#include <bitgraph/ops/quantize.hpp>

#include "support/everywhere.hpp"
#include "support/random_levels.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>

namespace bitgraph {
namespace {

/// Rows of both signs, positive alone, negative alone, and empty ones.
DenseMatrix<float> some_entries(const CsrPattern& pattern) {
  DenseMatrix<float> x(pattern.nrows(), pattern.ncols());
  for (NodeId i = 0; i < pattern.nrows(); ++i) {
    const float low = i % 3 == 0 ? -1.0F : i % 3 == 1 ? 0.1F : -2.0F;
    const float high = i % 3 == 2 ? -0.1F : 1.5F;
    const auto values = test::random_floats(pattern.row(i).size(), i + 1, low, high);
    for (std::size_t e = 0; e < values.size(); ++e) x(i, pattern.row(i)[e]) = values[e];
  }
  return x;
}

constexpr std::array<std::pair<NodeId, NodeId>, 8> shapes{
    {{0, 5}, {5, 0}, {1, 1}, {9, 63}, {9, 64}, {9, 65}, {70, 130}, {300, 33}}};

TEST(SparseLevels, ComeBackAsTheLevelsThatTheyWereMadeOf) {
  for (const auto& [nrows, ncols] : shapes) {
    const CsrPattern pattern = test::random_pattern(nrows, ncols, 0.05, 3);
    const DenseMatrix<float> x = some_entries(pattern);
    for (const int bits : {1, 2, 3, 4, 5, 8, 9, 16}) {
      for (const ScaleExtent extent : {ScaleExtent::row, ScaleExtent::tensor}) {
        SCOPED_TRACE(testing::Message() << nrows << " x " << ncols << ", " << bits << " bits");
        const QuantizedMatrix dense = quantize(x, {.bits = bits, .extent = extent, .keeps_zero = true});
        test::with_thread_counts([&](const Device& device) {
          const SparseLevels sparse = to_sparse(dense.to(device), pattern.to(device));
          EXPECT_EQ(sparse.levels.size(), pattern.nvals());
          EXPECT_EQ(sparse.bits, bits);
          EXPECT_EQ(sparse.bytes(), pattern.bytes() + 2 * pattern.nvals() + dense.scale().bytes());
          const QuantizedMatrix back = to_quantized(sparse);
          ASSERT_TRUE(std::ranges::equal(back.levels().span(), dense.levels().span()));
          EXPECT_TRUE(std::ranges::equal(back.scale().steps.span(), dense.scale().steps.span()));
          EXPECT_TRUE(std::ranges::equal(back.scale().offsets.span(), dense.scale().offsets.span()));
          EXPECT_EQ(back.scale().extent, extent);
        });
      }
    }
  }
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
