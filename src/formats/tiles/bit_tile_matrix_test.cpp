// SPDX-License-Identifier: Apache-2.0
#include "support/entry_sets.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/formats/bit_tile_matrix.hpp>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <string>
#include <vector>

namespace bitgraph {
namespace {

using Bytes = std::vector<unsigned>;

Bytes bytes_of(const BitTileMatrix& a) {
  Bytes bytes;
  for (const std::byte b : a.bit_tiles()) bytes.push_back(std::to_integer<unsigned>(b));
  return bytes;
}

/// `size` zero bytes but for those given by position.
Bytes zeros_but(std::size_t size, const std::map<std::size_t, unsigned>& some) {
  Bytes bytes(size, 0);
  for (const auto& [position, value] : some) bytes[position] = value;
  return bytes;
}

// Entries (0, 1), (1, k - 1), (2, 0), (2, 3), (k - 1, 2), all in the first tile; (1, k + 2) in the second of the first
// tile row; (k, 0) in the second tile row. Bit (r, c) of a tile is bit r * k + c.
CsrPattern corners(NodeId k) {
  const std::vector<NodeId> rows{0, 1, 2, 2, k - 1, 1, k};
  const std::vector<NodeId> cols{1, k - 1, 0, 3, 2, k + 2, 0};
  return csr_from_edges(k + 1, k + 3, rows, cols);
}

void expect_corners(int k, const Bytes& expected) {
  const BitTileMatrix a = pack(corners(static_cast<NodeId>(k)), {.tile_dim = k});
  EXPECT_EQ(a.num_tile_rows(), 2U);
  EXPECT_TRUE(std::ranges::equal(a.tile_row_ptr(), std::vector<EdgeOffset>{0, 2, 3}));
  EXPECT_TRUE(std::ranges::equal(a.tile_col_ind(), std::vector<NodeId>{0, 1, 0}));
  EXPECT_EQ(bytes_of(a), expected) << k;
  EXPECT_EQ(a.nvals(), 7U);
  EXPECT_EQ(a.bytes(), 3 * 8 + 3 * (4 + tile_bytes(k)));
}

TEST(BitTileMatrix, LayoutByteForByte) {
  // k = 4: bits 1, 7, 8, 11, 14; bit 6; bit 0.
  expect_corners(4, {0x82, 0x49, 0x40, 0x00, 0x01, 0x00});
  // k = 8: a byte a row.
  expect_corners(8, {0x02, 0x80, 0x09, 0, 0, 0, 0, 0x04, 0, 0x04, 0, 0, 0, 0, 0, 0, 0x01, 0, 0, 0, 0, 0, 0, 0});
  // k = 16: two bytes a row, low byte first; a tile is 32 bytes.
  expect_corners(16, zeros_but(96, {{0, 0x02}, {3, 0x80}, {4, 0x09}, {30, 0x04}, {32 + 2, 0x04}, {64, 0x01}}));
  // k = 32: four bytes a row, 128 a tile.
  expect_corners(32, zeros_but(384, {{0, 0x02}, {7, 0x80}, {8, 0x09}, {124, 0x04}, {128 + 4, 0x04}, {256, 0x01}}));
  // k = 64: eight bytes a row, 512 a tile.
  expect_corners(64, zeros_but(1536, {{0, 0x02}, {15, 0x80}, {16, 0x09}, {504, 0x04}, {512 + 8, 0x04}, {1024, 0x01}}));
}

/// Tiles straight from the entries.
BitTileMatrix pack_by_definition(const test::EntrySet& a, int side) {
  const auto k = static_cast<NodeId>(side);
  std::map<std::pair<NodeId, NodeId>, std::vector<std::byte>> tiles;
  for (const auto& [i, j] : a.entries) {
    auto& tile = tiles[{i / k, j / k}];
    tile.resize(tile_bytes(side));
    const std::size_t bit = std::size_t{i % k} * k + j % k;
    tile[bit / 8] |= std::byte{1} << (bit % 8);
  }
  Buffer<EdgeOffset> row_ptr((std::size_t{a.nrows} + k - 1) / k + 1, EdgeOffset{0});
  Buffer<NodeId> col_ind(tiles.size());
  Buffer<std::byte> bits(tiles.size() * tile_bytes(side));
  std::size_t t = 0;
  for (const auto& [place, tile] : tiles) {
    ++row_ptr[place.first + 1];
    col_ind[t] = place.second;
    std::copy(tile.begin(), tile.end(), bits.begin() + t++ * tile.size());
  }
  for (std::size_t i = 1; i < row_ptr.size(); ++i) row_ptr[i] += row_ptr[i - 1];
  return {a.nrows, a.ncols, side, std::move(row_ptr), std::move(col_ind), std::move(bits), a.entries.size()};
}

TEST(BitTileMatrix, RoundTripAtEverySide) {
  EXPECT_TRUE(rc::check("pack, unpack, transpose, count", [] {
    const test::EntrySet entries = test::arbitrary_matrix();
    const CsrPattern a = test::csr_of(entries);
    const auto counts = count_tiles_all(a);
    for (std::size_t side = 0; side < tile_dims.size(); ++side) {
      const int k = tile_dims[side];
      const BitTileMatrix tiles = pack(a, {.tile_dim = k});
      tiles.validate();
      RC_ASSERT(counts[side] == tiles.num_tiles());
      RC_ASSERT(tiles == pack_by_definition(entries, k));
      RC_ASSERT(unpack(tiles) == a);
      RC_ASSERT(tiles.nvals() == a.nvals());
      RC_ASSERT(count_tiles(a, k) == tiles.num_tiles());
      RC_ASSERT(tiles.bytes() == b2sr_bytes(a.nrows(), tiles.num_tiles(), k));
      RC_ASSERT(tiles.clone() == tiles);
      const BitTileMatrix turned = transpose(tiles);
      turned.validate();
      RC_ASSERT(turned == pack(transpose(a), {.tile_dim = k}));
      RC_ASSERT(transpose(turned) == tiles);
    }
  }));
}

TEST(BitTileMatrix, NothingDependsOnTheThreads) {
  // Skewed; a tile row holds a good part of all entries; rows and columns are no multiple of a side.
  const auto pattern_of = [](int threads) {
    const Device device = Device::host(threads);
    const CsrPattern skewed = test::rmat_pattern(14, 60000, 5);
    std::vector<NodeId> rows;
    std::vector<NodeId> cols;
    for (NodeId i = 0; i < skewed.nrows(); ++i) {
      for (const NodeId j : skewed.row(i)) rows.push_back(i), cols.push_back(j);
    }
    for (NodeId j = 0; j < 20003; ++j) rows.push_back(77), cols.push_back(j);
    return csr_from_edges(16411, 20003, rows, cols, {}, device);
  };
  const CsrPattern one = pattern_of(1);
  const auto counts = count_tiles_all(one);
  EXPECT_EQ(count_tiles_all(pattern_of(2)), counts);
  EXPECT_EQ(count_tiles_all(pattern_of(5)), counts);
  for (std::size_t side = 0; side < tile_dims.size(); ++side) {
    const int k = tile_dims[side];
    const BitTileMatrix expected = pack(one, {.tile_dim = k}, Device::host(1));
    EXPECT_EQ(counts[side], expected.num_tiles());
    EXPECT_NO_THROW(expected.validate());
    const BitTileMatrix turned = transpose(expected);
    for (const int threads : {2, 5}) {
      const CsrPattern a = pattern_of(threads);
      const BitTileMatrix tiles = pack(a, {.tile_dim = k}, Device::host(threads));
      EXPECT_TRUE(tiles == expected) << k << " " << threads;
      EXPECT_TRUE(unpack(tiles) == one) << k << " " << threads;
      EXPECT_TRUE(transpose(tiles) == turned) << k << " " << threads;
      EXPECT_EQ(count_tiles(a, k), expected.num_tiles()) << k << " " << threads;
      EXPECT_NO_THROW(tiles.validate());
    }
  }
}

TEST(BitTileMatrix, TheLastIdsFit) {
  // The largest sides there are; the row pointers stay small because only the columns are many.
  const std::vector<NodeId> rows{0, 1, 4};
  const std::vector<NodeId> cols{4294967294U, 0, 4294967293U};
  const CsrPattern a = csr_from_edges(5, 4294967295U, rows, cols);
  for (const int k : tile_dims) {
    const BitTileMatrix tiles = pack(a, {.tile_dim = k});
    EXPECT_NO_THROW(tiles.validate());
    EXPECT_EQ(tiles.tile_col_ind().back(), 4294967293U / static_cast<NodeId>(k));
    EXPECT_TRUE(unpack(tiles) == a);
    EXPECT_EQ(count_tiles(a, k), tiles.num_tiles());
  }
}

TEST(BitTileMatrix, WideMatricesAreWalkedInWindows) {
  // Wider than several windows of every side (2^16 tile columns, 2^18 columns), with entries at their borders.
  const NodeId ncols = 20000003;
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  for (NodeId e = 0; e < 3000; ++e) {
    rows.push_back(static_cast<NodeId>(random_below({5, 1, 0}, e, 200)));
    cols.push_back(static_cast<NodeId>(random_below({5, 2, 0}, e, ncols)));
  }
  for (NodeId border = 1U << 18; border < ncols; border += 1U << 18) {
    for (const NodeId row : {0U, 1U, 70U, 199U}) {
      for (const NodeId col : {border - 1, border, border + row % 7}) rows.push_back(row), cols.push_back(col);
    }
  }
  const CsrPattern a = csr_from_edges(200, ncols, rows, cols);
  const test::EntrySet entries = test::entries_of(a);
  const auto counts = count_tiles_all(a);
  for (std::size_t side = 0; side < tile_dims.size(); ++side) {
    const int k = tile_dims[side];
    const BitTileMatrix tiles = pack(a, {.tile_dim = k});
    EXPECT_TRUE(tiles == pack_by_definition(entries, k)) << k;
    EXPECT_TRUE(unpack(tiles) == a) << k;
    EXPECT_EQ(counts[side], tiles.num_tiles()) << k;
    EXPECT_EQ(count_tiles(a, k), tiles.num_tiles()) << k;
  }
}

TEST(BitTileMatrix, OneLongTileRowIsNotQuadratic) {
  // A million entries in each of two rows: a merge that looked at all tiles for each entry would take hours.
  const NodeId n = 1000000;
  std::vector<NodeId> rows(2 * std::size_t{n});
  std::vector<NodeId> cols(2 * std::size_t{n});
  for (NodeId j = 0; j < n; ++j) {
    rows[2 * j] = 3;
    rows[2 * j + 1] = 5;
    cols[2 * j] = cols[2 * j + 1] = j;
  }
  const CsrPattern a = csr_from_edges(7, n, rows, cols);
  for (const int k : tile_dims) {
    const BitTileMatrix tiles = pack(a, {.tile_dim = k});
    EXPECT_EQ(tiles.num_tiles(), (k == 4 ? 2U : 1U) * ((n + static_cast<NodeId>(k) - 1) / static_cast<NodeId>(k)));
    EXPECT_TRUE(unpack(tiles) == a);
  }
}

/// The arrays of a tile matrix, to be spoilt.
struct Arrays {
  NodeId nrows = 10;
  NodeId ncols = 13;
  std::vector<EdgeOffset> row_ptr{0, 2, 3};
  std::vector<NodeId> col_ind{0, 1, 1};
  std::vector<unsigned> bits = Bytes(24, 0);
  EdgeOffset nvals = 4;

  Arrays() { bits[0] = 1, bits[7] = 0x10, bits[8 + 3] = 0x10, bits[16 + 1] = 0x01; }

  [[nodiscard]] BitTileMatrix make(int k = 8) const {
    Buffer<std::byte> bytes(bits.size());
    for (std::size_t n = 0; n < bits.size(); ++n) bytes[n] = static_cast<std::byte>(bits[n]);
    return {nrows, ncols, k, Buffer<EdgeOffset>::copy_of(row_ptr), Buffer<NodeId>::copy_of(col_ind), std::move(bytes),
            nvals};
  }
};

void expect_bad(const Arrays& arrays, const std::string& part) {
  try {
    arrays.make().validate();
    FAIL() << "no error; expected one with: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(BitTileMatrix, ValidateNamesTheTileRow) {
  EXPECT_NO_THROW(Arrays().make().validate());
  Arrays a;
  a.row_ptr = {1, 2, 3};
  expect_bad(a, "does not start at 0");
  a.row_ptr = {0, EdgeOffset{1} << 61, 3};
  expect_bad(a, "falls");
  a.row_ptr = {0, 4, 3};
  expect_bad(a, "falls");
  a.row_ptr = {0, 2, 4};
  expect_bad(a, "does not end at the number of tiles");
  a.row_ptr = {0, 2, EdgeOffset{1} << 61};
  expect_bad(a, "does not end at the number of tiles");
  a = {};
  a.col_ind = {1, 1, 1};
  expect_bad(a, "tile row 0: tile columns");
  a.col_ind = {0, 1, 2};
  expect_bad(a, "tile row 1: tile columns");
  a.col_ind = {0, 4294967295U, 1};
  expect_bad(a, "tile row 0: tile columns");
  a = {};
  a.bits[17] = 0;
  expect_bad(a, "tile row 1: a tile is empty");
  a = {};
  a.bits[8 + 3] = 0x20;  // column 13
  expect_bad(a, "tile row 0: a bit outside");
  a = {};
  a.bits[16 + 2] = 0x01;  // row 10
  expect_bad(a, "tile row 1: a bit outside");
  a = {};
  a.nvals = 5;
  expect_bad(a, "4 bits are set, expected 5");
  a = {};
  a.nrows = 0;
  a.row_ptr = {0};
  expect_bad(a, "does not end at the number of tiles");
}

TEST(BitTileMatrix, ConstructorChecksSizes) {
  Arrays a;
  EXPECT_THROW((void)a.make(7), Error);
  EXPECT_THROW((void)a.make(4), Error);
  a.bits.pop_back();
  EXPECT_THROW((void)a.make(), Error);
  a = {};
  a.row_ptr.push_back(3);
  EXPECT_THROW((void)a.make(), Error);
  a = {};
  a.row_ptr.clear();
  a.nrows = 0;
  EXPECT_THROW((void)a.make(), Error);
}

TEST(BitTileMatrix, RefusesOtherSides) {
  const CsrPattern a = corners(4);
  for (const int k : {-4, 0, 1, 5, 12, 128}) {
    EXPECT_THROW((void)pack(a, {.tile_dim = k}), Error) << k;
    EXPECT_THROW((void)count_tiles(a, k), Error) << k;
  }
  EXPECT_THROW((void)pack(a, {.tile_dim = 8}).view<16>(), Error);
}

TEST(BitTileMatrix, EmptyOnes) {
  EXPECT_NO_THROW(BitTileMatrix().validate());
  EXPECT_EQ(BitTileMatrix().bytes(), 8U);
  for (const int k : tile_dims) {
    EXPECT_EQ(pack(CsrPattern(), {.tile_dim = k}).num_tiles(), 0U);
    const CsrPattern wide = csr_from_edges(0, 100, {}, {});
    EXPECT_TRUE(transpose(pack(wide, {.tile_dim = k})) == pack(transpose(wide), {.tile_dim = k}));
    EXPECT_EQ(b2sr_bytes(100, 0, k), 8 * ((100 + static_cast<std::size_t>(k) - 1) / static_cast<std::size_t>(k) + 1));
  }
}

}  // namespace
}  // namespace bitgraph
