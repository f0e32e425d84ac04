// SPDX-License-Identifier: Apache-2.0
// Products of bit planes on a CUDA device have the same sums as on the host.
#include "support/cuda_device.hpp"
#include "support/plane_products.hpp"

#include <bitgraph/ops/plane_gemm.hpp>

#include <gtest/gtest.h>

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

TEST(PlaneGemmCuda, TilesGiveTheSumsOfTheirEntries) {
  BITGRAPH_REQUIRE_CUDA();
  for (const auto& [graph, columns] : test::plane_product_graphs()) {
    for (const int bits : {1, 2, 5, 8, 17}) {
      const CsrPattern pattern = graph();
      const auto levels = test::random_numbers(pattern.ncols(), columns, bits, 3);
      const BitPlanes x = planes_from_levels(levels, bits, PlanePacking::columns).to(*test::cuda_device());
      const WideSums expected = test::sums_over_entries(pattern, levels);
      const BitTileMatrix tiles = pack(pattern, {.tile_dim = 64}).to(*test::cuda_device());
      WideSums wide(pattern.nrows(), columns, *test::cuda_device());
      plane_gemm_into(wide, tiles, x);
      test::expect_sums(wide.to(Device{}), expected);
      if (bits > 8) continue;
      Sums sums(pattern.nrows(), columns, *test::cuda_device());
      plane_gemm_into(sums, tiles, x);
      test::expect_sums(sums.to(Device{}), expected);
    }
  }
}

}  // namespace
}  // namespace bitgraph
