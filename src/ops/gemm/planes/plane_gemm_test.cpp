// SPDX-License-Identifier: Apache-2.0
#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/plane_products.hpp"

#include <bitgraph/ops/plane_gemm.hpp>

#include <gtest/gtest.h>

namespace bitgraph {
namespace {

using Sums = DenseMatrix<std::int32_t>;
using WideSums = DenseMatrix<std::int64_t>;
using test::PlaneProduct;

TEST(PlaneGemm, SumsAreExactEverywhere) {
  for (const auto& shape : test::plane_product_shapes) {
    for (const auto& [s, t] : test::plane_product_widths) {
      const PlaneProduct product(shape, s, t);
      SCOPED_TRACE(product.name());
      test::everywhere([&](const Device& device) {
        const BitPlanes a = product.a.to(device), x = product.x.to(device);
        WideSums wide(product.expected.nrows(), product.expected.ncols(), device);
        plane_gemm_into(wide, a, x);
        test::expect_sums(wide, product.expected);
        if (!product.fits(31)) return;
        Sums sums(product.expected.nrows(), product.expected.ncols(), device);
        plane_gemm_into(sums, a, x);
        test::expect_sums(sums, product.expected);
      });
    }
  }
}

TEST(PlaneGemm, ABitMatrixIsAOfOnePlane) {
  const PlaneProduct product({70, 131, 9}, 1, 3);
  test::everywhere([&](const Device& device) {
    const BitMatrix<ZeroOne> a = product.a.side_by_side().to(device);
    ASSERT_EQ(a.ncols(), 192U);
    BitMatrix<ZeroOne> same(70, 131, product.a.words().to(device));
    Sums sums(70, 9, device);
    plane_gemm_into(sums, same, product.x.to(device));
    test::expect_sums(sums, product.expected);
  });
}

TEST(PlaneGemm, TilesGiveTheSumsOfTheirEntries) {
  for (const auto& each : test::plane_product_graphs()) {
    for (const int bits : {1, 2, 5, 8, 17}) {
      const CsrPattern pattern = each.first();
      const std::size_t columns = each.second;
      const auto levels = test::random_numbers(pattern.ncols(), columns, bits, 3);
      const BitPlanes x = planes_from_levels(levels, bits, PlanePacking::columns);
      const WideSums expected = test::sums_over_entries(pattern, levels);
      test::everywhere([&](const Device& device) {
        const BitTileMatrix tiles = pack(pattern.to(device), {.tile_dim = 64});
        WideSums sums(pattern.nrows(), columns, device);
        plane_gemm_into(sums, tiles, x.to(device));
        test::expect_sums(sums, expected);
      });
    }
  }
}

TEST(PlaneGemm, RefusesWhatDoesNotFitTogether) {
  const BitPlanes a(3, 70, 2), x(70, 5, 3, PlanePacking::columns);
  Sums out(3, 5);
  test::expect_usage_error([&] { plane_gemm_into(out, a, BitPlanes(70, 5, 3)); }, "X is packed by rows");
  test::expect_usage_error([&] { plane_gemm_into(out, BitPlanes(3, 70, 2, PlanePacking::columns), x); },
                           "A is packed by columns");
  test::expect_usage_error([&] { plane_gemm_into(out, BitPlanes(3, 71, 2), x); }, "A is 3 x 71, X is 70 x 5");
  Sums wrong(4, 5);
  test::expect_usage_error([&] { plane_gemm_into(wrong, a, x); }, "the output is 4 x 5, expected 3 x 5");
  test::expect_usage_error(
      [&] { plane_gemm_into(out, BitPlanes(3, 70, 16), BitPlanes(70, 5, 9, PlanePacking::columns)); },
      "16 by 9 bits may pass 31 bits");
  WideSums wide(3, 5);
  test::expect_usage_error(
      [&] { plane_gemm_into(wide, BitPlanes(3, 70, 32), BitPlanes(70, 5, 32, PlanePacking::columns)); },
      "may pass 63 bits");
  test::expect_usage_error([&] { plane_gemm_into(out, BitTileMatrix(), x); }, "tiles of side 8, expected 64");
}

}  // namespace
}  // namespace bitgraph
