// SPDX-License-Identifier: Apache-2.0
#include "ops/spmm/levels/level_spmm_cases.hpp"
#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/out_rows.hpp"

#include <bitgraph/ops/level_spmm.hpp>
#include <bitgraph/ops/quantize.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

using namespace level_cases;
using Floats = DenseMatrix<float>;

const std::vector<int> widths = test::sanitized ? std::vector{1, 2, 4, 8, 16} : std::vector{1, 2, 3, 4, 5, 8, 9, 16};
const std::vector<std::size_t> features = test::sanitized ? std::vector<std::size_t>{0, 1, 63, 65, 300}
                                                          : std::vector<std::size_t>{0, 1, 7, 16, 63, 64, 65, 129, 300};

template <class T>
void expect_equal(const DenseMatrix<T>& actual, const DenseMatrix<std::int64_t>& expected) {
  for (std::size_t n = 0; n < expected.values().size(); ++n)
    ASSERT_EQ(actual.values()[n], expected.values()[n]) << "element " << n;
}

TEST(LevelSpmm, SumsAreExactEverywhere) {
  for (const GraphCase& graph : graphs()) {
    for (const int bits : widths) {
      for (const std::size_t width : features) {
        SCOPED_TRACE(testing::Message() << graph.name << ", " << bits << " bits, " << width << " features");
        const CsrPattern& a = graph.a;
        const QuantizedMatrix x = test::random_levels(a.ncols(), width, bits, 3);
        DenseMatrix<std::int64_t> expected(a.nrows(), width);
        for (NodeId i = 0; i < a.nrows(); ++i) {
          for (const NodeId j : a.row(i)) {
            for (std::size_t f = 0; f < width; ++f) expected(i, f) += x.level(j, f);
          }
        }
        test::everywhere([&](const Device& device) {
          const CsrPattern there = a.to(device);
          const QuantizedMatrix x_there = x.to(device);
          DenseMatrix<std::int64_t> wide(a.nrows(), width, device);
          level_spmm_into(wide, there, x_there);
          expect_equal(wide, expected);
          DenseMatrix<std::int32_t> sums(a.nrows(), width, device);
          level_spmm_into(sums, there, x_there);
          expect_equal(sums, expected);
        });
      }
    }
  }
}

TEST(LevelSpmm, SumsPastInt32TakeInt64) {
  constexpr NodeId neighbors = 70000;  // of 65,535 each: 4.6e9
  const CsrPattern a = one_long_row(neighbors);
  DenseMatrix<std::uint32_t> levels(neighbors, 3);
  for (std::uint32_t& level : levels.values()) level = 65535;
  const QuantizedMatrix x = quantized_from_levels(levels, 16);
  test::everywhere([&](const Device& device) {
    DenseMatrix<std::int64_t> sums(5, 3, device);
    level_spmm_into(sums, a.to(device), x.to(device));
    for (std::size_t f = 0; f < 3; ++f) ASSERT_EQ(sums(3, f), std::int64_t{neighbors} * 65535);
  });
  DenseMatrix<std::int32_t> narrow(5, 3);
  test::expect_usage_error([&] { level_spmm_into(narrow, a, x); }, "may pass int32: use int64");
}

TEST(LevelSpmm, ValuesAreThoseOfTheLevelsAndTheSameEverywhere) {
  for_each_aggregation([](const CsrPattern& a, const Aggregation& aggregation) {
    const QuantizedMatrix& x = aggregation.x;
    Floats expected(a.nrows(), x.ncols());
    LevelSpmmArgs args = aggregation.args(a);
    args.out.values = expected.view();
    level_spmm(Reference{}, args);
    for (NodeId i = 0; i < a.nrows(); ++i) {
      for (std::size_t f = 0; f < x.ncols(); ++f) {
        double value = 0, magnitude = 0;
        for (const NodeId j : a.row(i)) {
          value += static_cast<double>(x.value(j, f));
          magnitude += std::fabs(x.value(j, f)) + std::fabs(x.scale().offset(j, f));
        }
        value = value * static_cast<double>(aggregation.row_scale[i]) + static_cast<double>(aggregation.bias[f]);
        if (aggregation.options.activation == Activation::relu) value = std::max(value, 0.0);
        ASSERT_NEAR(expected(i, f), value, 1e-6 * (1 + magnitude));
      }
    }
    test::everywhere([&](const Device& device) {
      Floats actual(a.nrows(), x.ncols(), device);
      level_spmm_into(actual, a.to(device), x.to(device), aggregation.options);
      test::expect_identical(actual.values(), expected.values());
      LevelSpmmOptions elsewhere = aggregation.options;
      const std::vector<NodeId> places = test::other_places(a.nrows());
      elsewhere.out_rows = places;
      level_spmm_into(actual, a.to(device), x.to(device), elsewhere);
      test::expect_identical(actual.values(), test::stored_at(expected, places).values());
    });
  });
}

/// Levels out of the reference are those of the values, and everywhere the same; what was in `out` does not matter.
void expect_levels_out(const CsrPattern& a, const Aggregation& aggregation, const Floats& values, LevelScale scale,
                       int bits) {
  QuantizedMatrix expected(a.nrows(), values.ncols(), bits);
  expected.set_scale(std::move(scale));
  LevelSpmmArgs args = aggregation.args(a);
  args.out.levels = expected.view();
  take_out_scale(args.epilogue, expected, "level spmm");
  level_spmm(Reference{}, args);
  const float of_step = aggregation.options.rounding == Rounding::floor ? 1.01F : 0.51F;
  for (std::size_t i = 0; i < values.nrows(); ++i) {
    for (std::size_t f = 0; f < values.ncols(); ++f) {
      ASSERT_NEAR(expected.value(i, f), values(i, f),
                  of_step * expected.scale().step(i, f) + 2e-6F * std::fabs(values(i, f)));
    }
  }
  test::everywhere([&](const Device& device) {
    QuantizedMatrix actual(a.nrows(), values.ncols(), bits, device);
    std::fill(actual.levels().begin(), actual.levels().end(), std::uint8_t{0xFF});
    actual.set_scale(expected.scale().to(device));
    level_spmm_into(actual, a.to(device), aggregation.x.to(device), aggregation.options);
    ASSERT_TRUE(std::equal(actual.levels().begin(), actual.levels().end(), expected.levels().begin()));
  });
}

TEST(LevelSpmm, LevelsOutAreTheSameEverywhere) {
  for_each_aggregation([](const CsrPattern& a, Aggregation& aggregation) {
    Floats values(a.nrows(), aggregation.x.ncols());
    level_spmm_into(values, a, aggregation.x, aggregation.options);
    const int x_bits = aggregation.x.bits();
    // As wide as they come in, and of another width.
    for (const int bits : {x_bits, x_bits == 2 ? 8 : x_bits == 4 ? 12 : 3}) {
      SCOPED_TRACE(testing::Message() << bits << " bits out");
      const auto expect_rounded = [&](ScaleExtent extent, Rounding rounding) {
        SCOPED_TRACE(testing::Message() << "extent " << static_cast<int>(extent) << ", rounding "
                                        << static_cast<int>(rounding));
        aggregation.options.rounding = rounding;
        expect_levels_out(a, aggregation, values,
                          choose_scale(values, {.bits = bits, .extent = extent, .rounding = rounding}), bits);
      };
      expect_rounded(x_bits == 4 ? ScaleExtent::tensor : ScaleExtent::column,
                     x_bits == 8 || bits == 12 ? Rounding::floor : Rounding::nearest);
      expect_rounded(ScaleExtent::row, x_bits == 4 || bits == 3 ? Rounding::floor : Rounding::nearest);
      if (x_bits == bits && aggregation.x.ncols() == 129) expect_rounded(ScaleExtent::row, Rounding::floor);
    }
  });
}

TEST(LevelSpmm, NumbersThatAreNoneAreTheSameEverywhere) {
  const CsrPattern a = test::rmat_pattern(7, 1000, 2);
  for (const int bits : {4, 8, 12}) {
    for (const bool relu : {false, true}) {
      Aggregation aggregation(a, 65, bits, ScaleExtent::column, true);
      aggregation.options.activation = relu ? Activation::relu : Activation::none;
      std::fill_n(aggregation.row_scale.begin() + 20, 20, -1.0F);
      test::spoil(aggregation.row_scale, aggregation.bias);
      Floats expected(a.nrows(), 65);
      LevelSpmmArgs args = aggregation.args(a);
      args.out.values = expected.view();
      level_spmm(Reference{}, args);
      EXPECT_EQ(std::isnan(expected(3, 0)), !relu);
      const QuantizedMatrix by_column =
          levels_of_reference(a, aggregation, bits, test::random_scale(ScaleExtent::column, 65, true, 9));
      EXPECT_EQ(by_column.level(0, 9), (1U << bits) - 1);
      EXPECT_EQ(by_column.level(0, 8), by_column.level(1, 8));
      const QuantizedMatrix by_row =
          levels_of_reference(a, aggregation, bits, test::random_scale(ScaleExtent::row, a.nrows(), true, 9));
      test::everywhere([&](const Device& device) {
        Floats actual(a.nrows(), 65, device);
        level_spmm_into(actual, a.to(device), aggregation.x.to(device), aggregation.options);
        test::expect_identical(actual.values(), expected.values());
        for (const QuantizedMatrix* const levels : {&by_column, &by_row}) {
          QuantizedMatrix out(a.nrows(), 65, bits, device);
          out.set_scale(levels->scale().to(device));
          level_spmm_into(out, a.to(device), aggregation.x.to(device), aggregation.options);
          ASSERT_TRUE(std::equal(out.levels().begin(), out.levels().end(), levels->levels().begin()));
        }
      });
    }
  }
}

/// X lies in a core's cache, in few of them, and in none, as the columns grow: the order of the rows follows from that.
TEST(LevelSpmm, LevelsInPlanesAreThoseOfTheReference) {
  constexpr ScaleExtent extents[] = {ScaleExtent::tensor, ScaleExtent::column, ScaleExtent::row};
  constexpr RowScales kinds[] = {RowScales::by_length, RowScales::each, RowScales::by_length, RowScales::negative};
  std::size_t turn = 0;
  std::vector<GraphCase> all = graphs();
  all.push_back({"rows of all lengths", rows_of_all_lengths()});
  all.push_back({"wide", test::random_pattern(700, 30'000, 0.001, 1)});
  for (const GraphCase& graph : all) {
    for (const std::size_t width : {64U, 128U, 192U, 256U, 576U}) {
      if (test::sanitized && (width == 128 || width == 256)) continue;
      const ScaleExtent extent = extents[turn % 3];
      const RowScales kind = kinds[turn++ % 4];
      SCOPED_TRACE(testing::Message() << graph.name << ", " << width << " features, extent " << static_cast<int>(extent)
                                      << ", row scales " << static_cast<int>(kind));
      Aggregation aggregation(graph.a, width, 2, turn % 2 == 0 ? ScaleExtent::tensor : ScaleExtent::column,
                              turn % 5 < 3);
      set_row_scales(aggregation, graph.a, kind);
      aggregation.options.rounding = turn % 7 == 0 ? Rounding::floor : Rounding::nearest;
      const LevelScale scale = test::random_scale(extent, num_scales(extent, graph.a.nrows(), width), true, turn);
      test::everywhere([&](const Device& device) {
        expect_levels_by_planes(graph.a, aggregation, 2, scale.to(Device{}), device, LevelPacking::planes);
      });
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(LevelSpmm, NumbersThatAreNoneInPlanesAreThoseOfTheReference) {
  const CsrPattern a = test::rmat_pattern(7, 1000, 2);
  for (const bool relu : {false, true}) {
    for (const ScaleExtent extent : {ScaleExtent::column, ScaleExtent::row}) {
      Aggregation aggregation(a, 128, 2, ScaleExtent::column, true);
      aggregation.options.activation = relu ? Activation::relu : Activation::none;
      test::spoil(aggregation.row_scale, aggregation.bias);
      const LevelScale scale = test::random_scale(extent, num_scales(extent, a.nrows(), 128), true, 9);
      test::everywhere([&](const Device& device) {
        expect_levels_by_planes(a, aggregation, 2, scale.to(Device{}), device, LevelPacking::planes);
      });
    }
  }
}

TEST(LevelSpmm, LevelsInPlanesAreRefusedWhereNoKernelTakesThem) {
  const CsrPattern a = one_long_row(300);
  const RowOrder order(a);
  const QuantizedMatrix x = to_packing(test::random_levels(300, 64, 2, 1), LevelPacking::planes);
  Buffer<std::uint64_t> planes(level_spmm_prepared_words(64, true));
  const auto refused = [](const auto& call) {
    test::expect_usage_error(call, "levels in planes go to levels in planes, with a row order");
  };
  Floats values(5, 64);
  refused([&] { level_spmm_into(values, a, x, {.row_order = &order}); });
  QuantizedMatrix out(5, 64, 2), out_in_planes(5, 64, 2, Device{}, LevelPacking::planes);
  for (QuantizedMatrix* const to : {&out, &out_in_planes})
    to->set_scale(test::random_scale(ScaleExtent::tensor, 1, true, 9));
  refused([&] { level_spmm_into(out, a, x, {.row_order = &order, .planes = planes.span()}); });
  refused([&] { level_spmm_into(out_in_planes, a, x, {.planes = planes.span()}); });
  refused([&] { level_spmm_into(out_in_planes, a, x, {.row_order = &order}); });
  level_spmm_into(out_in_planes, a, x, {.row_order = &order, .planes = planes.span()});
}

TEST(LevelSpmm, RefusesWhatDoesNotGoTogether) {
  const CsrPattern a = test::random_pattern(4, 6, 0.5, 1);
  QuantizedMatrix x = test::random_levels(6, 3, 4, 1);
  Floats out(4, 3);
  const auto refused = [](auto&& call, const char* text) { test::expect_usage_error(call, text); };
  refused([&] { level_spmm_into(out, a, test::random_levels(5, 3, 4, 1)); }, "A is 4 x 6, X is 5 x 3");
  Floats narrow(4, 2);
  refused([&] { level_spmm_into(narrow, a, x); }, "the output is 4 x 2");
  const std::vector<float> three(3), four(4);
  refused([&] { level_spmm_into(out, a, x, {.row_scale = three}); }, "row_scale has 3 values, expected 4");
  refused([&] { level_spmm_into(out, a, x, {.bias = four}); }, "bias has 4 values, expected 3");
  QuantizedMatrix levels(4, 3, 4);
  refused([&] { level_spmm_into(levels, a, x); }, "the output has no scale");
  levels.set_scale(test::random_scale(ScaleExtent::tensor, 1, false, 1));
  const std::vector<NodeId> places = test::other_places(4), few(3), outside{0, 1, 2, 4};
  refused([&] { level_spmm_into(levels, a, x, {.out_rows = places}); }, "out_rows is of floats out, not of levels");
  refused([&] { level_spmm_into(out, a, x, {.out_rows = few}); }, "out_rows has 3 rows, the output 4");
  refused([&] { level_spmm_into(out, a, x, {.out_rows = outside}); }, "out_rows names row 4 of 4");
  x.set_scale(test::random_scale(ScaleExtent::row, 6, false, 1));
  refused([&] { level_spmm_into(out, a, x); }, "X has a scale by rows");
}

}  // namespace
}  // namespace bitgraph
