// SPDX-License-Identifier: Apache-2.0
// Products of bit planes on a CUDA device have the same sums as on the host.
#include "support/cuda_device.hpp"
#include "support/plane_aggregations.hpp"
#include "support/plane_products.hpp"

#include <bitgraph/ops/plane_gemm.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace bitgraph {
namespace {

using Sums = DenseMatrix<std::int32_t>;
using WideSums = DenseMatrix<std::int64_t>;
using test::PlaneProduct;

void expect_product(const PlaneProduct& product, const Device& device) {
  SCOPED_TRACE(product.name());
  const BitPlanes a = product.a.to(device), x = product.x.to(device);
  WideSums wide(product.expected.nrows(), product.expected.ncols(), device);
  plane_gemm_into(wide, a, x);
  test::expect_sums(wide.to(Device{}), product.expected);
  if (!product.fits(31)) return;
  Sums sums(product.expected.nrows(), product.expected.ncols(), device);
  plane_gemm_into(sums, a, x);
  test::expect_sums(sums.to(Device{}), product.expected);
}

TEST(PlaneGemmCuda, SumsAreExact) {
  BITGRAPH_REQUIRE_CUDA();
  for (const auto& shape : test::plane_product_shapes) {
    for (const auto& [s, t] : test::plane_product_widths)
      expect_product(PlaneProduct(shape, s, t), *test::cuda_device());
  }
}

/// Blocks of every width, with the bits of a row split between two groups and not; rows that fill more than one stage,
/// and more tiles than multiprocessors.
TEST(PlaneGemmCuda, SumsOfManyTilesAreExact) {
  BITGRAPH_REQUIRE_CUDA();
  for (const int t : {1, 2, 3, 4, 6, 8}) {
    expect_product(PlaneProduct({1000, 1152, 30}, 1, t), *test::cuda_device());
    expect_product(PlaneProduct({300, 4300, 200}, 1, t), *test::cuda_device());
    expect_product(PlaneProduct({9000, 128, 7}, 1, t), *test::cuda_device());
  }
  expect_product(PlaneProduct({9000, 1152, 100}, 2, 4), *test::cuda_device());
  expect_product(PlaneProduct({9000, 256, 100}, 3, 8), *test::cuda_device());
  for (const int t : {9, 16, 19}) expect_product(PlaneProduct({200, 640, 41}, 1, t), *test::cuda_device());
}

void expect_sums_of_tiles(const CsrPattern& pattern, std::size_t columns, int bits, const Device& device) {
  SCOPED_TRACE(testing::Message() << pattern.nrows() << " x " << pattern.ncols() << " by " << columns << " columns of "
                                  << bits << " bits");
  const auto levels = test::random_numbers(pattern.ncols(), columns, bits, 3);
  const BitPlanes x = planes_from_levels(levels, bits, PlanePacking::columns).to(device);
  const WideSums expected = test::sums_over_entries(pattern, levels);
  const BitTileMatrix tiles = pack(pattern, {.tile_dim = 64}).to(device);
  WideSums wide(pattern.nrows(), columns, device);
  plane_gemm_into(wide, tiles, x);
  test::expect_sums(wide.to(Device{}), expected);
  if (bits > 8) return;
  Sums sums(pattern.nrows(), columns, device);
  plane_gemm_into(sums, tiles, x);
  test::expect_sums(sums.to(Device{}), expected);
  // Straight behind the kernel that packs the tiles.
  const CsrPattern there = pattern.to(device);
  plane_gemm_into(sums, pack(there, {.tile_dim = 64}), x);
  test::expect_sums(sums.to(Device{}), expected);
}

TEST(PlaneGemmCuda, TilesGiveTheSumsOfTheirEntries) {
  BITGRAPH_REQUIRE_CUDA();
  for (const auto& [graph, columns] : test::plane_product_graphs()) {
    for (const int bits : {1, 2, 4, 5, 8, 17}) expect_sums_of_tiles(graph(), columns, bits, *test::cuda_device());
  }
}

/// Rows of more tiles than a warp looks at together, in an odd number of rows; more pairs of rows than
/// multiprocessors, and none of their tiles beside the other's.
TEST(PlaneGemmCuda, LongRowsOfTilesAndManyPairsOfThemGiveTheSumsOfTheirEntries) {
  BITGRAPH_REQUIRE_CUDA();
  for (const int bits : {1, 2, 4, 8}) {
    for (const std::size_t columns : {7U, 64U, 200U}) {
      for (const double density : {0.0003, 0.01})
        expect_sums_of_tiles(test::random_pattern(300, 20'000, density, 4), columns, bits, *test::cuda_device());
      expect_sums_of_tiles(test::random_pattern(20'000, 300, 0.005, 5), columns, bits, *test::cuda_device());
    }
  }
}

TEST(PlaneGemmCuda, ValuesAreThoseOfThePattern) {
  BITGRAPH_REQUIRE_CUDA();
  test::for_each_plane_aggregation([](const test::PlaneAggregation& aggregation, std::size_t) {
    test::expect_plane_values(aggregation, *test::cuda_device());
  });
  test::expect_plane_values(test::long_plane_aggregation(), *test::cuda_device());
}

TEST(PlaneGemmCuda, LevelsOutAreThoseOfThePattern) {
  BITGRAPH_REQUIRE_CUDA();
  test::for_each_plane_aggregation([](const test::PlaneAggregation& aggregation, std::size_t turn) {
    const ScaleExtent extent = turn % 3 == 0 ? ScaleExtent::tensor : ScaleExtent::column;
    for (const int bits : {2, 4, 8, 12, 16}) {
      test::expect_plane_levels(aggregation, bits, extent, *test::cuda_device());
      test::expect_plane_levels(aggregation, bits, ScaleExtent::row, *test::cuda_device());
    }
  });
  for (const ScaleExtent extent : {ScaleExtent::column, ScaleExtent::row})
    test::expect_plane_levels(test::long_plane_aggregation(), 8, extent, *test::cuda_device());
}

TEST(PlaneGemmCuda, NumbersThatAreNoneEndAsThoseOfThePattern) {
  BITGRAPH_REQUIRE_CUDA();
  test::for_each_spoilt_aggregation([](const test::PlaneAggregation& aggregation) {
    test::expect_plane_values(aggregation, *test::cuda_device());
    for (const int bits : {4, 8, 12})
      test::expect_plane_levels(aggregation, bits, ScaleExtent::column, *test::cuda_device());
  });
}

TEST(PlaneGemmCuda, LevelsArePackedAsPlanesOfColumns) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const std::size_t rows : {0U, 1U, 64U, 65U, 128U, 129U, 3000U}) {
    for (const std::size_t columns : {0U, 1U, 7U, 8U, 9U, 63U, 64U, 65U}) {
      for (const int bits : {1, 3, 4, 5, 8, 9, 12, 16}) {
        SCOPED_TRACE(testing::Message() << rows << " x " << columns << " of " << bits << " bits");
        const QuantizedMatrix x = test::random_levels(rows, columns, bits, 5);
        BitPlanes packed(rows, columns, bits, PlanePacking::columns, device);
        packed.words().fill(~std::uint64_t{0});
        pack_planes_into(packed, x.to(device));
        const BitPlanes here = packed.to(Device{}), expected = to_planes(x, PlanePacking::columns);
        ASSERT_TRUE(std::ranges::equal(here.words(), expected.words()));
      }
    }
  }
}

/// Floats and levels out have the kernel that counts neighbours; nothing is allocated.
TEST(PlaneGemmCuda, ValuesAllocateNothing) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const test::PlaneAggregation aggregation(test::rmat_pattern(10, 3000, 3), 64, 4, 0);
  const test::PlaneAggregationThere there(aggregation, device);
  DenseMatrix<float> out(aggregation.graph.nrows(), 64, device);
  const std::size_t before = device.memory().allocations;
  plane_gemm_into(out, there.tiles, there.planes, there.options);
  plane_gemm_into(out, there.dense, there.planes, there.options);
  EXPECT_EQ(device.memory().allocations, before);
}

}  // namespace
}  // namespace bitgraph
