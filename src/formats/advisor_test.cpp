// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/advisor.hpp>

#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace bitgraph {
namespace {

/// Largest relative error of the predicted bytes, over the tile sides.
double largest_error(const CsrPattern& a, std::uint64_t seed) {
  double largest = 0;
  for (const TileProfile& side : profile(a, {.seed = seed}).tiles) {
    const auto truth = static_cast<double>(b2sr_bytes(a.nrows(), count_tiles(a, side.tile_dim), side.tile_dim));
    largest = std::max(largest, std::abs(side.predicted_bytes / truth - 1));
  }
  return largest;
}

TEST(Advisor, IsExactWhereEveryRowIsSampled) {
  const CsrPattern a = test::random_pattern(900, 1200, 0.01, 1);
  EXPECT_NEAR(largest_error(a, 3), 0, 1e-12);
  const Profile all = profile(a);
  EXPECT_EQ(all.sampled_rows, 900U);
  EXPECT_EQ(all.csr_pattern_bytes, a.bytes());
}

TEST(Advisor, PredictsWithinTenPercentFromAThousandRows) {
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    EXPECT_LE(largest_error(test::grid_pattern(200, 150), seed), 0.1);
    EXPECT_LE(largest_error(test::rmat_pattern(14, 150000, 5), seed), 0.1);
    EXPECT_LE(largest_error(test::random_pattern(20000, 5000, 0.001, 6), seed), 0.1);
  }
}

TEST(Advisor, RowCompressionIsEntriesPerBitRow) {
  // Row 0 has 3 entries in 2 bit rows of side 4, row 1 one in one: (1.5 + 1) / 2. At side 8 row 0 has one bit row.
  const CsrPattern a = csr_from_edges(3, 8, std::vector<NodeId>{0, 0, 0, 1}, std::vector<NodeId>{0, 1, 5, 7});
  const Profile found = profile(a);
  EXPECT_DOUBLE_EQ(found.tiles[0].row_compression, 1.25);
  EXPECT_DOUBLE_EQ(found.tiles[1].row_compression, 2);
}

TEST(Advisor, ChoosesTheSmallestFormat) {
  const Advice dense = advise(profile(test::random_pattern(512, 512, 2, 1)));
  EXPECT_TRUE(dense.use_tiles);
  EXPECT_GE(dense.tile_dim, 32);
  const Advice scattered = advise(profile(test::random_pattern(5000, 5000, 0.002, 1)));
  EXPECT_FALSE(scattered.use_tiles);
  EXPECT_EQ(scattered.tile_dim, 0);
  EXPECT_NE(scattered.reason.find("pattern CSR"), std::string::npos);
}

TEST(Advisor, TakesEmptyGraphsAndRefusesAnEmptySample) {
  EXPECT_NO_THROW(static_cast<void>(advise(profile(CsrPattern()))));
  EXPECT_NO_THROW(static_cast<void>(advise(profile(test::random_pattern(5000, 5000, 0, 1)))));
  EXPECT_THROW(static_cast<void>(profile(CsrPattern(), {.sampled_rows = 0})), Error);
}

}  // namespace
}  // namespace bitgraph
