// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/advisor.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>

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
    const double error = std::abs(side.predicted_bytes / truth - 1);
    EXPECT_TRUE(std::isfinite(error)) << "tile side " << side.tile_dim;  // std::max passes over what is no number
    largest = std::max(largest, error);
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
  const Advice of_nothing = advise(profile(CsrPattern()));
  EXPECT_FALSE(of_nothing.use_tiles);
  EXPECT_EQ(of_nothing.predicted_bytes, sizeof(EdgeOffset));
  // Without entries there are row pointers alone, and a tile row has one for many rows.
  const Advice of_no_entries = advise(profile(test::random_pattern(5000, 5000, 0, 1)));
  EXPECT_EQ(of_no_entries.tile_dim, 64);
  EXPECT_EQ(of_no_entries.predicted_bytes, static_cast<double>(b2sr_bytes(5000, 0, 64)));
  EXPECT_THROW(static_cast<void>(profile(CsrPattern(), {.sampled_rows = 0})), Error);
}

TEST(Advisor, KeepsTheSimplerFormatWhereBytesAreEqual) {
  Profile profile;
  profile.csr_pattern_bytes = 1000;
  for (std::size_t n = 0; n < tile_dims.size(); ++n) {
    profile.tiles[n] = {.tile_dim = tile_dims[n], .predicted_bytes = 1000};
  }
  EXPECT_FALSE(advise(profile).use_tiles);
  profile.tiles[1].predicted_bytes = profile.tiles[3].predicted_bytes = 999;
  EXPECT_EQ(advise(profile).tile_dim, tile_dims[1]);
}

/// Tile rows of more entries than the sample looks at one by one: what is predicted comes from a few of them.
TEST(Advisor, PredictsLongTileRows) {
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    EXPECT_LE(largest_error(test::random_pattern(4000, 30000, 0.02, 8), seed), 0.1);
    // Half of the columns densely filled, half sparsely: an entry of a full tile stands for few tiles.
    std::vector<NodeId> rows, cols;
    for (NodeId i = 0; i < 3000; ++i) {
      for (NodeId j = 0; j < 640; ++j) rows.push_back(i), cols.push_back(j);
      for (NodeId j = 0; j < 320; ++j) {
        rows.push_back(i);
        cols.push_back(640 + static_cast<NodeId>(random_below({9, 1, 0}, i * 320 + j, 60000)));
      }
    }
    EXPECT_LE(largest_error(csr_from_edges(3000, 60640, rows, cols), seed), 0.1);
  }
}

}  // namespace
}  // namespace bitgraph
