// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/formats/sell_pattern.hpp>

#include "support/random_matrices.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace bitgraph {
namespace {

TEST(SellPattern, ConvertsToCsrAndBackUnchanged) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    const auto nrows = *rc::gen::inRange<NodeId>(0, 6000);
    const auto ncols = *rc::gen::inRange<NodeId>(0, 3000);
    const double density = *rc::gen::element(0.0, 0.001, 0.01);
    const CsrPattern a = test::random_pattern(nrows, ncols, density, seed);
    for (const int threads : {1, 3}) {
      const Device device = Device::host(threads);
      RC_ASSERT(to_csr(to_sell(a, device), device) == a);
      RC_ASSERT(to_csr(to_sell(a, {1, ncols, false}, device), device) == a);
      const auto columns = *rc::gen::inRange<std::size_t>(500, 4000);
      const SellStrips strips{(ncols + columns - 1) / columns + 1, columns, true};
      RC_ASSERT(to_csr(to_sell(a, strips, device), device) == a);
    }
  }));
}

TEST(SellPattern, LongRowsComeBack) {
  const CsrPattern a = test::random_pattern(9, 3000, 0.6, 1);
  const SellPattern sell = to_sell(a);
  EXPECT_GT(sell.view().num_long_rows, 0U);
  EXPECT_TRUE(to_csr(sell) == a);
  const CsrPattern skewed = test::rmat_pattern(13, 300000, 2);
  const SellPattern both = to_sell(skewed);
  EXPECT_GT(both.view().num_long_rows, 0U);
  EXPECT_GT(both.view().num_chunks, 0U);
  EXPECT_TRUE(to_csr(both) == skewed);
}

TEST(SellPattern, ColumnsAreCutWhereRowsAreLong) {
  EXPECT_EQ(SellStrips::of(1000, 65536, 5000).count, 1U);
  EXPECT_TRUE(SellStrips::of(1000, 65536, 5000).short_indices);
  EXPECT_EQ(SellStrips::of(1000, 65537, 5000).count, 1U);
  EXPECT_FALSE(SellStrips::of(1000, 65537, 5000).short_indices);
  EXPECT_EQ(SellStrips::of(1000, 65537, 32000).count, 2U);
  EXPECT_TRUE(SellStrips::of(1000, 65537, 32000).short_indices);
  const CsrPattern a = test::random_pattern(5, 70000, 0.01, 1);
  EXPECT_THROW(static_cast<void>(to_sell(a, {1, 70000, true})), Error);
  EXPECT_THROW(static_cast<void>(to_sell(a, {2, 30000, true})), Error);
  const SellPattern strips = to_sell(a);
  EXPECT_EQ(strips.strips().count, 2U);
  EXPECT_TRUE(to_csr(strips) == a);
}

TEST(SellPattern, RowsStandByFallingDegree) {
  // Degrees 1, 3, 0, 2: rows 1, 3, 0, 2 side by side, and four lanes without a row.
  const CsrPattern a =
      csr_from_edges(4, 9, std::vector<NodeId>{0, 1, 1, 1, 3, 3}, std::vector<NodeId>{8, 2, 4, 6, 1, 7});
  const SellPattern sell = to_sell(a);
  const SellView view = sell.view();
  ASSERT_EQ(view.num_chunks, 1U);
  EXPECT_EQ(std::vector<NodeId>(view.rows, view.rows + 8), (std::vector<NodeId>{1, 3, 0, 2, 4, 4, 4, 4}));
  EXPECT_EQ(std::vector<NodeId>(view.degrees, view.degrees + 8), (std::vector<NodeId>{3, 2, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(std::vector<std::uint16_t>(view.short_col_ind, view.short_col_ind + view.chunk_ptr[1]),
            (std::vector<std::uint16_t>{2, 1, 8, 0, 0, 0, 0, 0, 4, 7, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(sell.bytes(), 8U * 4 + 8 * 4 + 2 * 8 + 24 * 2 + 8 + 4 * 8);
}

}  // namespace
}  // namespace bitgraph
