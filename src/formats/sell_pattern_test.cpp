// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/sell_pattern.hpp>

#include "support/random_matrices.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace bitgraph {
namespace {

TEST(SellPattern, ComesBackAsItWas) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    const auto nrows = *rc::gen::inRange<NodeId>(0, 6000);
    const auto ncols = *rc::gen::inRange<NodeId>(0, 3000);
    const double density = *rc::gen::element(0.0, 0.001, 0.01);
    const CsrPattern a = test::random_pattern(nrows, ncols, density, seed);
    for (const int threads : {1, 3}) {
      const Device device = Device::host(threads);
      RC_ASSERT(to_csr(to_sell(a, device), device) == a);
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

TEST(SellPattern, RowsStandByFallingDegree) {
  // Degrees 1, 3, 0, 2: rows 1, 3, 0, 2 side by side, and four lanes without a row.
  const CsrPattern a =
      csr_from_edges(4, 9, std::vector<NodeId>{0, 1, 1, 1, 3, 3}, std::vector<NodeId>{8, 2, 4, 6, 1, 7});
  const SellPattern sell = to_sell(a);
  const SellView view = sell.view();
  ASSERT_EQ(view.num_chunks, 1U);
  EXPECT_EQ(std::vector<NodeId>(view.rows, view.rows + 8), (std::vector<NodeId>{1, 3, 0, 2, 4, 4, 4, 4}));
  EXPECT_EQ(std::vector<NodeId>(view.degrees, view.degrees + 8), (std::vector<NodeId>{3, 2, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(std::vector<NodeId>(view.col_ind, view.col_ind + view.chunk_ptr[1]),
            (std::vector<NodeId>{2, 1, 8, 0, 0, 0, 0, 0, 4, 7, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(sell.bytes(), 8U * 4 + 8 * 4 + 2 * 8 + 24 * 4 + 8);
}

}  // namespace
}  // namespace bitgraph
