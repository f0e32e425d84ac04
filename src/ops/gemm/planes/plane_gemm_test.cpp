// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/planes/planes.hpp"
#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/plane_aggregations.hpp"
#include "support/plane_products.hpp"

#include <bitgraph/ops/plane_gemm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

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

TEST(PlaneGemm, ValuesAreThoseOfThePattern) {
  test::for_each_plane_aggregation([](const test::PlaneAggregation& aggregation, std::size_t) {
    test::everywhere([&](const Device& device) { test::expect_plane_values(aggregation, device); });
  });
}

TEST(PlaneGemm, LevelsOutAreThoseOfThePattern) {
  test::for_each_plane_aggregation([](const test::PlaneAggregation& aggregation, std::size_t turn) {
    const int bits = std::array{2, 4, 8, 12}[turn % 4];
    const ScaleExtent extent = std::array{ScaleExtent::tensor, ScaleExtent::column, ScaleExtent::row}[turn % 3];
    test::everywhere([&](const Device& device) { test::expect_plane_levels(aggregation, bits, extent, device); });
  });
}

TEST(PlaneGemm, SumsPast32BitsEndAsThoseOfThePattern) {
  const test::PlaneAggregation aggregation = test::long_plane_aggregation();
  test::everywhere([&](const Device& device) {
    test::expect_plane_values(aggregation, device);
    test::expect_plane_levels(aggregation, 8, ScaleExtent::column, device);
  });
}

TEST(PlaneGemm, NumbersThatAreNoneEndAsThoseOfThePattern) {
  test::for_each_spoilt_aggregation([](const test::PlaneAggregation& aggregation) {
    test::everywhere([&](const Device& device) {
      test::expect_plane_values(aggregation, device);
      for (const int bits : {4, 8, 12}) test::expect_plane_levels(aggregation, bits, ScaleExtent::column, device);
    });
  });
}

TEST(PlaneGemm, TheReferenceIsThatOfThePattern) {
  ::setenv("BITGRAPH_BACKEND", "reference", 1);
  test::for_each_plane_aggregation([](const test::PlaneAggregation& aggregation, std::size_t turn) {
    if (aggregation.graph.nrows() * aggregation.graph.ncols() > 100000) return;
    test::expect_plane_values(aggregation, Device{});
    test::expect_plane_levels(aggregation, turn % 2 == 0 ? 4 : 8, ScaleExtent::column, Device{});
  });
  ::unsetenv("BITGRAPH_BACKEND");
}

TEST(PlaneGemm, LevelsArePackedAsPlanesOfColumns) {
  for (const std::size_t rows : {0U, 1U, 63U, 64U, 65U, 127U, 128U, 129U, 300U}) {
    for (const std::size_t columns : {0U, 1U, 7U, 8U, 9U, 63U, 64U, 65U}) {
      for (const int bits : {1, 3, 4, 5, 8, 9, 12, 16}) {
        SCOPED_TRACE(testing::Message() << rows << " x " << columns << " of " << bits << " bits");
        const QuantizedMatrix x = test::random_levels(rows, columns, bits, 5);
        const BitPlanes expected = to_planes(x, PlanePacking::columns);
        const auto expect_words = [&](const auto& backend) {
          BitPlanes packed(rows, columns, bits, PlanePacking::columns);
          packed.words().fill(~std::uint64_t{0});
          pack_planes(backend, {.x = x.view(), .out = packed.view()});
          ASSERT_TRUE(std::ranges::equal(packed.words(), expected.words()));
        };
        expect_words(Reference{});
        expect_words(Cpu{Device::host(1)});
        expect_words(Cpu{Device::host(3)});
      }
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
  DenseMatrix<float> values(3, 5);
  const BitMatrix<ZeroOne> graph(3, 70);
  const std::vector<float> four(4);
  test::expect_usage_error([&] { plane_gemm_into(values, graph, x, {.row_scale = four}); },
                           "row_scale has 4 values, expected 3");
  test::expect_usage_error([&] { plane_gemm_into(values, graph, x, {.bias = four}); }, "bias has 4 values, expected 5");
  QuantizedMatrix levels(3, 5, 4);
  test::expect_usage_error([&] { plane_gemm_into(levels, graph, x); }, "the output has no scale");
  BitPlanes by_rows(70, 5, 3, PlanePacking::columns);
  by_rows.set_scale(test::random_scale(ScaleExtent::row, 70, false, 1));
  test::expect_usage_error([&] { plane_gemm_into(values, graph, by_rows); }, "X has a scale by rows");
  BitPlanes to(70, 5, 3, PlanePacking::columns);
  test::expect_usage_error([&] { pack_planes_into(to, QuantizedMatrix(70, 5, 4)); }, "X is 70 x 5 of 4 bits");
  test::expect_usage_error([&] { pack_planes_into(to, QuantizedMatrix(70, 6, 3)); }, "X is 70 x 6 of 3 bits");
}

}  // namespace
}  // namespace bitgraph
