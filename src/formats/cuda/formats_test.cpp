// SPDX-License-Identifier: Apache-2.0
// Conversions on a CUDA device against the host's, bit for bit.
#include "support/cuda_device.hpp"
#include "support/entry_sets.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/formats/advisor.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/reorder.hpp>
#include <bitgraph/formats/row_order.hpp>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

const Device& cuda() { return *test::cuda_device(); }

struct Case {
  std::string name;
  CsrPattern a;
};

/// Few rows and many columns, with entries around the bounds of the bitmap's windows (2^18 tile columns) at every side.
CsrPattern windows_pattern(NodeId ncols) {
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  for (NodeId e = 0; e < 30000; ++e) {
    rows.push_back(static_cast<NodeId>(random_below({5, 1, 0}, e, 150)));
    cols.push_back(static_cast<NodeId>(random_below({5, 2, 0}, e, ncols)));
  }
  for (std::uint64_t border = 1U << 20; border < ncols - 7; border += 1U << 20) {
    for (const NodeId row : {0U, 1U, 70U, 149U}) {
      for (const std::uint64_t col : {border - 1, border, border + row % 7}) {
        rows.push_back(row);
        cols.push_back(static_cast<NodeId>(col));
      }
    }
  }
  return csr_from_edges(150, ncols, rows, cols);
}

/// Skewed, with one row that touches all columns.
CsrPattern hub_pattern() {
  const CsrPattern skewed = test::rmat_pattern(14, 60000, 5);
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  for (NodeId i = 0; i < skewed.nrows(); ++i) {
    for (const NodeId j : skewed.row(i)) rows.push_back(i), cols.push_back(j);
  }
  for (NodeId j = 0; j < 200003; ++j) rows.push_back(77), cols.push_back(j);
  return csr_from_edges(16411, 200003, rows, cols);
}

/// Rows of every length around those where kernels change: all entries of a tile row in one row, or shared out.
CsrPattern ladder_pattern() {
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  NodeId i = 0;
  for (const NodeId length : {1U,   31U,  32U,  33U,  64U,  65U,  127U,  128U,  129U,  255U,
                              256U, 257U, 511U, 512U, 513U, 700U, 8191U, 8192U, 8193U, 16385U}) {
    for (const NodeId step : {1U, 3U, 61U}) {
      for (NodeId e = 0; e < length; ++e) rows.push_back(i), cols.push_back(e * step % 1100000);
      i += 64;
      for (NodeId e = 0; e < length; ++e) rows.push_back(i + e % 63), cols.push_back(e * step % 1100000);
      i += 64;
    }
  }
  return csr_from_edges(i, 1100000, rows, cols);
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> made;
    made.push_back({"nothing", csr_from_edges(0, 0, {}, {})});
    made.push_back({"no rows", csr_from_edges(0, 100, {}, {})});
    made.push_back({"no entries", csr_from_edges(130, 70, {}, {})});
    made.push_back({"full", test::random_pattern(131, 257, 5, 1)});
    made.push_back({"grid", test::grid_pattern(97, 83)});
    made.push_back({"skewed", test::rmat_pattern(13, 90000, 2)});
    made.push_back({"hub", hub_pattern()});
    made.push_back({"ladder", ladder_pattern()});
    made.push_back({"windows", windows_pattern(20000003)});
    made.push_back({"widest", windows_pattern(4294967294U)});
    const std::vector<NodeId> rows{0, 1, 4};
    const std::vector<NodeId> cols{4294967294U, 0, 4294967293U};
    made.push_back({"last ids", csr_from_edges(5, 4294967295U, rows, cols)});
    made.push_back({"tall", test::random_pattern(100000, 37, 0.01, 3)});
    return made;
  }();
  return all;
}

TEST(CudaFormats, Pack) {
  BITGRAPH_REQUIRE_CUDA();
  for (const Case& test : cases()) {
    const CsrPattern there = test.a.to(cuda());
    for (const int k : tile_dims) {
      SCOPED_TRACE(test.name + ", side " + std::to_string(k));
      const BitTileMatrix expected = pack(test.a, {.tile_dim = k});
      const BitTileMatrix tiles = pack(there, {.tile_dim = k});
      EXPECT_TRUE(tiles.device() == cuda());
      EXPECT_EQ(tiles.bytes(), expected.bytes());
      EXPECT_TRUE(tiles.to(Device{}) == expected);
      EXPECT_EQ(count_tiles(there, k), expected.num_tiles());
    }
    EXPECT_EQ(count_tiles_all(there), count_tiles_all(test.a)) << test.name;
  }
}

TEST(CudaFormats, UnpackAndTransposeOfTiles) {
  BITGRAPH_REQUIRE_CUDA();
  for (const Case& test : cases()) {
    for (const int k : tile_dims) {
      SCOPED_TRACE(test.name + ", side " + std::to_string(k));
      const BitTileMatrix tiles = pack(test.a, {.tile_dim = k});
      const BitTileMatrix there = tiles.to(cuda());
      EXPECT_TRUE(unpack(there).to(Device{}) == test.a);
      if (test.a.ncols() > 100000000) continue;  // the host's row pointers would take long
      EXPECT_TRUE(transpose(there).to(Device{}) == transpose(tiles));
    }
  }
}

TEST(CudaFormats, TransposeOfAPattern) {
  BITGRAPH_REQUIRE_CUDA();
  for (const Case& test : cases()) {
    if (test.a.ncols() > 100000000) continue;
    SCOPED_TRACE(test.name);
    const CsrPattern there = test.a.to(cuda());
    const CsrPattern turned = transpose(there);
    EXPECT_TRUE(turned.to(Device{}) == transpose(test.a));
    EXPECT_TRUE(transpose(turned).to(Device{}) == test.a);
  }
}

/// Reversed, and shuffled: a permutation of every kind of place.
std::vector<NodeId> some_permutation(NodeId n, std::uint64_t seed) {
  std::vector<NodeId> ids(n);
  for (NodeId i = 0; i < n; ++i) ids[i] = n - 1 - i;
  for (NodeId i = n; i > 1; --i) std::swap(ids[i - 1], ids[random_below({seed, 6, 0}, i, i)]);
  return ids;
}

/// Rows by falling length: exactly below 64 entries, above but for an eighth of their length.
TEST(CudaFormats, RowsByLength) {
  BITGRAPH_REQUIRE_CUDA();
  std::vector<CsrPattern> patterns;
  patterns.push_back(hub_pattern());
  patterns.push_back(test::rmat_pattern(13, 300000, 7));
  patterns.push_back(test::random_pattern(1, 900, 0.9, 1));
  patterns.push_back(test::random_pattern(1025, 70000, 0.002, 2));
  patterns.push_back(test::grid_pattern(30, 40));
  for (const CsrPattern& a : patterns) {
    const RowOrder order(a.to(cuda()));
    ASSERT_EQ(order.nrows(), a.nrows());
    Buffer<NodeId> rows(a.nrows());
    Device::copy(rows.data(), Device{}, order.view().row, cuda(), rows.bytes());
    std::vector<bool> met(a.nrows(), false);
    std::size_t before = ~std::size_t{0} / 2;
    for (const NodeId row : rows) {
      ASSERT_LT(row, a.nrows());
      EXPECT_FALSE(met[row]) << row;
      met[row] = true;
      const std::size_t length = a.row(row).size();
      EXPECT_LE(length, length < 64 ? before : before + before / 8) << "row " << row;
      before = length;
    }
    for (std::size_t p = 0; p < order.view().at_least.size(); ++p) {
      NodeId at_least = 0;
      for (NodeId i = 0; i < a.nrows(); ++i) at_least += a.row(i).size() >= std::size_t{1} << p ? 1 : 0;
      EXPECT_EQ(order.view().at_least[p], at_least) << p;
    }
    for (std::size_t d = 0; d < order.at_least_of_few().size(); ++d) {
      NodeId at_least = 0;
      for (NodeId i = 0; i < a.nrows(); ++i) at_least += a.row(i).size() >= d ? 1 : 0;
      EXPECT_EQ(order.at_least_of_few()[d], at_least) << d;
    }
  }
}

TEST(CudaFormats, SymmetryAndOrders) {
  BITGRAPH_REQUIRE_CUDA();
  std::vector<Case> square;
  square.push_back({"nothing", csr_from_edges(0, 0, {}, {})});
  square.push_back({"one node", csr_from_edges(1, 1, {}, {})});
  const std::vector<NodeId> zero{0};
  square.push_back({"one loop", csr_from_edges(1, 1, zero, zero)});
  square.push_back({"no entries", csr_from_edges(70, 70, {}, {})});
  square.push_back({"grid", test::grid_pattern(97, 83)});
  square.push_back({"skewed", test::rmat_pattern(13, 90000, 2)});
  square.push_back({"directed", test::random_pattern(3000, 3000, 0.002, 4)});
  for (const Case& test : square) {
    SCOPED_TRACE(test.name);
    const CsrPattern there = test.a.to(cuda());
    EXPECT_EQ(is_symmetric(there), is_symmetric(test.a));
    EXPECT_TRUE(symmetrized(there).to(Device{}) == symmetrized(test.a));
    const std::vector<NodeId> ids = some_permutation(test.a.nrows(), 3);
    EXPECT_TRUE(permuted(there, ids).to(Device{}) == permuted(test.a, ids));
    for (const Order order : {Order::original, Order::degree, Order::reverse_cuthill_mckee, Order::community}) {
      const Buffer<NodeId> new_id = reorder(there, order);
      ASSERT_TRUE(new_id.device().is_host());
      EXPECT_TRUE(std::ranges::equal(new_id.span(), reorder(test.a, order).span())) << to_string(order);
    }
  }
  EXPECT_FALSE(is_symmetric(test::random_pattern(30, 40, 0.1, 1).to(cuda())));
  EXPECT_THROW((void)permuted(square.back().a.to(cuda()), std::vector<NodeId>(3000, 0)), Error);
}

TEST(CudaFormats, ProfilesAreTheSame) {
  BITGRAPH_REQUIRE_CUDA();
  for (const Case& test : cases()) {
    if (test.name == "nothing") continue;
    SCOPED_TRACE(test.name);
    const CsrPattern there = test.a.to(cuda());
    for (const std::uint64_t seed : {0U, 7U}) {
      const Profile expected = profile(test.a, {.sampled_rows = 700, .seed = seed});
      const Profile actual = profile(there, {.sampled_rows = 700, .seed = seed});
      EXPECT_EQ(actual.sampled_rows, expected.sampled_rows);
      EXPECT_EQ(actual.csr_pattern_bytes, expected.csr_pattern_bytes);
      for (std::size_t side = 0; side < tile_dims.size(); ++side) {
        EXPECT_EQ(actual.tiles[side].row_compression, expected.tiles[side].row_compression) << tile_dims[side];
        EXPECT_EQ(actual.tiles[side].predicted_num_tiles, expected.tiles[side].predicted_num_tiles) << tile_dims[side];
        EXPECT_EQ(actual.tiles[side].predicted_bytes, expected.tiles[side].predicted_bytes) << tile_dims[side];
      }
      EXPECT_EQ(advise(actual).reason, advise(expected).reason);
    }
  }
}

TEST(CudaFormats, WhatHasNoKernelSaysSo) {
  BITGRAPH_REQUIRE_CUDA();
  const CsrPattern there = test::grid_pattern(5, 4).to(cuda());
  const auto code_of = [](auto&& call) -> std::optional<ErrorCode> {
    try {
      call();
    } catch (const Error& error) {
      return error.code();
    }
    return std::nullopt;
  };
  EXPECT_EQ(code_of([&] { there.validate(); }), ErrorCode::usage);
  EXPECT_EQ(code_of([&] { pack(there).validate(); }), ErrorCode::usage);
  EXPECT_EQ(code_of([&] { (void)with_self_loops(there); }), ErrorCode::not_possible);
  EXPECT_EQ(code_of([&] { (void)without_self_loops(there); }), ErrorCode::not_possible);
  EXPECT_EQ(code_of([&] { (void)num_self_loops(there); }), ErrorCode::not_possible);
}

TEST(CudaFormats, AnyMatrix) {
  BITGRAPH_REQUIRE_CUDA();
  EXPECT_TRUE(rc::check("pack, unpack, transpose", [] {
    const CsrPattern a = test::csr_of(test::arbitrary_matrix());
    const CsrPattern there = a.to(cuda());
    for (const int k : tile_dims) {
      const BitTileMatrix tiles = pack(there, {.tile_dim = k});
      RC_ASSERT(tiles.to(Device{}) == pack(a, {.tile_dim = k}));
      RC_ASSERT(unpack(tiles).to(Device{}) == a);
      RC_ASSERT(transpose(tiles).to(Device{}) == pack(transpose(a), {.tile_dim = k}));
    }
    RC_ASSERT(transpose(there).to(Device{}) == transpose(a));
  }));
}

TEST(CudaFormats, PackFromTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  const CsrPattern a = test::rmat_pattern(10, 9000, 2);
  const BitTileMatrix there = pack(a, {.tile_dim = 16}, cuda());
  EXPECT_TRUE(there.device() == cuda());
  EXPECT_TRUE(there.to(Device{}) == pack(a, {.tile_dim = 16}));
  EXPECT_THROW((void)pack(a.to(cuda()), {.tile_dim = 12}), Error);
}

/// Input, output, and a thirtieth of the input: nothing is allocated for more.
TEST(CudaFormats, MemoryOfPack) {
  BITGRAPH_REQUIRE_CUDA();
  const CsrPattern a = test::rmat_pattern(15, 600000, 3).to(cuda());
  for (const int k : tile_dims) {
    const std::size_t before = cuda().memory().live;
    cuda().reset_peak();
    const BitTileMatrix tiles = pack(a, {.tile_dim = k});
    EXPECT_LE(cuda().memory().peak - before, tiles.bytes() + a.bytes() / 30 + 4096) << k;
    EXPECT_EQ(cuda().memory().live - before, tiles.bytes()) << k;
  }
}

}  // namespace
}  // namespace bitgraph
