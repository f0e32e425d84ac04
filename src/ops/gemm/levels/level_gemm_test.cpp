// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/levels/levels.hpp"
#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/out_rows.hpp"
#include "support/random_levels.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/ops/level_gemm.hpp>
#include <bitgraph/ops/quantize.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

using Floats = DenseMatrix<float>;
using Sums = DenseMatrix<std::int32_t>;
using WideSums = DenseMatrix<std::int64_t>;

/// Rows and columns of X, outputs: around blocks of rows, panels and groups of columns, and none of each.
constexpr std::array<std::array<std::size_t, 3>, 12> shapes{{{0, 5, 7},
                                                             {5, 0, 7},
                                                             {5, 7, 0},
                                                             {1, 1, 1},
                                                             {6, 63, 16},
                                                             {7, 64, 17},
                                                             {13, 65, 65},
                                                             {40, 130, 64},
                                                             {3, 2049, 5},
                                                             {2, 4101, 80},
                                                             {33, 20, 257},
                                                             {200, 9, 3}}};

constexpr std::array<std::pair<int, int>, 9> widths{
    {{1, 1}, {2, 2}, {4, 4}, {7, 5}, {8, 8}, {4, 8}, {8, 1}, {12, 3}, {16, 16}}};

template <class T>
void expect_equal(const DenseMatrix<T>& actual, const WideSums& expected) {
  for (std::size_t n = 0; n < expected.values().size(); ++n)
    ASSERT_EQ(actual.values()[n], expected.values()[n]) << "element " << n;
}

TEST(LevelGemm, SumsAreExactEverywhere) {
  for (const auto& shape : shapes) {
    const std::size_t n = shape[0], k = shape[1], f = shape[2];
    for (const auto& [p, q] : widths) {
      SCOPED_TRACE(testing::Message() << n << " x " << k << " by " << f << ", " << p << " and " << q << " bits");
      const QuantizedMatrix x = test::random_levels(n, k, p, 1), w = test::random_levels(f, k, q, 2);
      WideSums expected(n, f);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < f; ++j) {
          for (std::size_t c = 0; c < k; ++c) expected(i, j) += std::int64_t{x.level(i, c)} * w.level(j, c);
        }
      }
      const LevelWeights prepared = prepare_level_weights(w);
      const bool narrow = sums_fit(p, q, k, 31);
      test::everywhere([&](const Device& device) {
        const QuantizedMatrix there = x.to(device);
        WideSums wide(n, f, device);
        level_gemm_into(wide, there, prepared);
        expect_equal(wide, expected);
        if (!narrow) return;
        Sums sums(n, f, device);
        level_gemm_into(sums, there, prepared);
        expect_equal(sums, expected);
      });
    }
  }
}

/// A product with everything that an epilogue has.
struct Product {
  QuantizedMatrix x, w;
  std::vector<float> bias;
  LevelGemmOptions options;

  Product(std::size_t n, std::size_t k, std::size_t f, int p, int q, bool by_row, bool offsets)
      : x(test::random_levels(n, k, p, 1)), w(test::random_levels(f, k, q, 2)), bias(test::random_floats(f, 3, -1, 1)) {
    const auto extent = by_row ? ScaleExtent::row : ScaleExtent::tensor;
    x.set_scale(test::random_scale(extent, by_row ? n : 1, offsets, 5));
    w.set_scale(test::random_scale(extent, by_row ? f : 1, offsets, 6));
    options.bias = bias;
  }
};

LevelGemmArgs with_epilogue(const Product& product, const LevelWeights& w) {
  LevelGemmArgs args = level_gemm_args(product.x, w, product.x.nrows(), w.nrows, Device{});
  args.epilogue.bias = product.options.bias.data();
  args.epilogue.activation = product.options.activation;
  args.epilogue.rounding = product.options.rounding;
  return args;
}

/// The formula of include/bitgraph/ops/level_gemm.hpp in double.
double value_of(const Product& product, std::size_t i, std::size_t j) {
  double sum = 0;
  for (std::size_t c = 0; c < product.x.ncols(); ++c) {
    sum +=
        (static_cast<double>(product.x.scale().step(i, c)) * product.x.level(i, c) + product.x.scale().offset(i, c)) *
        (static_cast<double>(product.w.scale().step(j, c)) * product.w.level(j, c) + product.w.scale().offset(j, c));
  }
  sum += static_cast<double>(product.bias[j]);
  return product.options.activation == Activation::relu ? std::max(sum, 0.0) : sum;
}

template <class Fn>
void for_each_product(Fn&& fn) {
  constexpr std::array<std::array<std::size_t, 3>, 5> some_shapes{
      {{0, 5, 7}, {5, 0, 7}, {7, 64, 17}, {13, 65, 65}, {33, 20, 257}}};
  for (const auto& [n, k, f] : some_shapes) {
    for (const auto& [p, q] : {std::pair{2, 2}, {4, 8}, {8, 4}, {12, 9}}) {
      for (const bool by_row : {false, true}) {
        for (const bool offsets : {false, true}) {
          SCOPED_TRACE(testing::Message() << n << " x " << k << " by " << f << ", " << p << " and " << q << " bits"
                                          << (by_row ? ", by row" : "") << (offsets ? ", offsets" : ""));
          Product product(n, k, f, p, q, by_row, offsets);
          if (by_row) product.options.activation = Activation::relu;
          fn(product);
        }
      }
    }
  }
}

TEST(LevelGemm, ValuesAreThoseOfTheLevelsAndTheSameEverywhere) {
  for_each_product([](const Product& product) {
    const std::size_t n = product.x.nrows(), f = product.w.nrows();
    const LevelWeights w = prepare_level_weights(product.w);
    Floats expected(n, f);
    LevelGemmArgs args = with_epilogue(product, w);
    args.out.values = expected.view();
    level_gemm(Reference{}, args);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < f; ++j) {
        const double value = value_of(product, i, j);
        const double largest = std::ldexp(static_cast<double>(product.x.ncols()), product.x.bits() + product.w.bits());
        ASSERT_NEAR(expected(i, j), value, 1e-6 * (1 + largest));
      }
    }
    test::everywhere([&](const Device& device) {
      Floats actual(n, f, device);
      level_gemm_into(actual, product.x.to(device), w, product.options);
      test::expect_identical(actual.values(), expected.values());
      LevelGemmOptions elsewhere = product.options;
      const std::vector<NodeId> places = test::other_places(n);
      elsewhere.out_rows = places;
      level_gemm_into(actual, product.x.to(device), w, elsewhere);
      test::expect_identical(actual.values(), test::stored_at(expected, places).values());
    });
  });
}

TEST(LevelGemm, AddendsAreAddedToTheValuesEverywhere) {
  for_each_product([](const Product& product) {
    const std::size_t n = product.x.nrows(), f = product.w.nrows();
    const LevelWeights w = prepare_level_weights(product.w);
    const Floats addend(n, f, Buffer<float>::copy_of(test::random_floats(n * f, 8, -1, 1)));
    Floats expected(n, f);
    LevelGemmOptions options = product.options;
    options.activation = Activation::none;
    level_gemm_into(expected, product.x, w, options);
    options.activation = product.options.activation;
    options.addend = &addend;
    for (std::size_t k = 0; k < expected.values().size(); ++k) {
      const float value = expected.values()[k] + addend.values()[k];
      expected.values()[k] = options.activation == Activation::relu && !(value > 0) ? 0.0F : value;
    }
    test::everywhere([&](const Device& device) {
      const Floats there = addend.to(device);
      LevelGemmOptions with = options;
      with.addend = &there;
      Floats actual(n, f, device);
      level_gemm_into(actual, product.x.to(device), w, with);
      test::expect_identical(actual.values(), expected.values());
    });
    for (const auto extent : {ScaleExtent::tensor, ScaleExtent::row}) {
      QuantizedMatrix levels(n, f, 4);
      levels.set_scale(choose_scale(expected, {.bits = 4, .extent = extent}));
      LevelGemmArgs args = with_epilogue(product, w);
      args.epilogue.addend = addend.view();
      args.out.levels = levels.view();
      take_out_scale(args.epilogue, levels, "level gemm");
      level_gemm(Reference{}, args);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < f; ++j)
          ASSERT_NEAR(levels.value(i, j), expected(i, j),
                      0.51F * levels.scale().step(i, j) + 1e-6F * std::fabs(expected(i, j)));
      }
      test::everywhere([&](const Device& device) {
        QuantizedMatrix actual(n, f, 4, device);
        actual.levels().fill(0xFF);
        actual.set_scale(levels.scale().to(device));
        level_gemm_into(actual, product.x.to(device), w, options);
        ASSERT_TRUE(std::ranges::equal(actual.levels().span(), levels.levels().span()));
      });
    }
  });
}

TEST(LevelGemm, LevelsOutAreThoseOfTheValuesAndTheSameEverywhere) {
  for_each_product([](Product& product) {
    const std::size_t n = product.x.nrows(), f = product.w.nrows();
    const LevelWeights w = prepare_level_weights(product.w);
    Floats values(n, f);
    level_gemm_into(values, product.x, w, product.options);
    const std::pair<int, ScaleExtent> formats[] = {{1, ScaleExtent::tensor}, {4, ScaleExtent::column},
                                                   {8, ScaleExtent::column}, {13, ScaleExtent::tensor},
                                                   {4, ScaleExtent::row},    {8, ScaleExtent::row}};
    for (const auto& format : formats) {
      const int bits = format.first;
      const ScaleExtent extent = format.second;
      product.options.rounding = bits == 4 ? Rounding::floor : Rounding::nearest;
      QuantizedMatrix expected(n, f, bits);
      expected.set_scale(choose_scale(values, {.bits = bits, .extent = extent, .rounding = product.options.rounding}));
      LevelGemmArgs args = with_epilogue(product, w);
      args.out.levels = expected.view();
      take_out_scale(args.epilogue, expected, "level gemm");
      level_gemm(Reference{}, args);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < f; ++j) {
          const float step = expected.scale().step(i, j);
          ASSERT_NEAR(expected.value(i, j), values(i, j),
                      (bits == 4 ? 1.01F : 0.51F) * step + 1e-6F * std::fabs(values(i, j)));
        }
      }
      test::everywhere([&](const Device& device) {
        QuantizedMatrix actual(n, f, bits, device);
        std::fill(actual.levels().begin(), actual.levels().end(), std::uint8_t{0xFF});
        actual.set_scale(expected.scale().to(device));
        level_gemm_into(actual, product.x.to(device), w, product.options);
        ASSERT_TRUE(std::equal(actual.levels().begin(), actual.levels().end(), expected.levels().begin()));
      });
    }
  });
}

TEST(LevelGemm, LevelsInPlanesAreThoseOfPlacesEverywhere) {
  std::size_t turn = 0;
  for (const auto& shape : shapes) {
    const std::size_t n = shape[0], f = shape[2];
    for (const int q : {1, 2, 8}) {
      SCOPED_TRACE(testing::Message() << n << " x " << shape[1] << " by " << f << ", 2 and " << q << " bits");
      EXPECT_TRUE(level_gemm_takes_planes(Device{}, q, shape[1]));
      Product product(n, shape[1], f, 2, q, turn % 2 == 0, turn % 3 == 0);
      const LevelWeights w = prepare_level_weights(product.w);
      for (const auto extent : {ScaleExtent::column, ScaleExtent::row}) {
        QuantizedMatrix expected(n, f, 2);
        expected.set_scale(test::random_scale(extent, num_scales(extent, n, f), true, ++turn));
        LevelGemmArgs args = with_epilogue(product, w);
        args.out.levels = expected.view();
        take_out_scale(args.epilogue, expected, "level gemm");
        level_gemm(Reference{}, args);
        const QuantizedMatrix x = to_packing(product.x, LevelPacking::planes);
        for (const LevelPacking packing : {LevelPacking::planes, LevelPacking::places}) {
          const QuantizedMatrix packed = to_packing(expected, packing);
          test::everywhere([&](const Device& device) {
            QuantizedMatrix actual(n, f, 2, device, packing);
            actual.levels().fill(0xFF);
            actual.set_scale(expected.scale().to(device));
            level_gemm_into(actual, x.to(device), w, product.options);
            ASSERT_TRUE(std::ranges::equal(actual.levels().span(), packed.levels().span())) << to_string(packing);
          });
        }
      }
    }
  }
}

TEST(LevelGemm, NumbersThatAreNoneAreTheSameEverywhere) {
  for (const bool relu : {false, true}) {
    Product product(13, 20, 65, 4, 4, true, true);
    if (relu) product.options.activation = Activation::relu;
    product.bias[0] = NAN;
    product.bias[1] = INFINITY;
    product.bias[64] = -INFINITY;
    const LevelWeights w = prepare_level_weights(product.w);
    Floats expected(13, 65);
    LevelGemmArgs args = with_epilogue(product, w);
    args.out.values = expected.view();
    level_gemm(Reference{}, args);
    EXPECT_EQ(std::isnan(expected(2, 0)), !relu);
    for (const int bits : {4, 8, 12}) {
      QuantizedMatrix levels(13, 65, bits);
      levels.set_scale(test::random_scale(ScaleExtent::column, 65, true, 9));
      args = with_epilogue(product, w);
      args.out.levels = levels.view();
      take_out_scale(args.epilogue, levels, "level gemm");
      level_gemm(Reference{}, args);
      EXPECT_EQ(levels.level(2, 1), (1U << bits) - 1);
      test::everywhere([&](const Device& device) {
        Floats actual(13, 65, device);
        level_gemm_into(actual, product.x.to(device), w, product.options);
        test::expect_identical(actual.values(), expected.values());
        QuantizedMatrix out(13, 65, bits, device);
        out.set_scale(levels.scale().to(device));
        level_gemm_into(out, product.x.to(device), w, product.options);
        ASSERT_TRUE(std::equal(out.levels().begin(), out.levels().end(), levels.levels().begin()));
      });
    }
  }
}

TEST(LevelGemm, SumsPast63BitsAreRefused) {
  // 16 + 16 bits and 2^32 products would pass; such operands need not be there to be refused.
  EXPECT_TRUE(sums_fit(16, 16, std::size_t{1} << 31, 63));
  EXPECT_FALSE(sums_fit(16, 16, (std::size_t{1} << 31) + 1, 63));
  EXPECT_TRUE(sums_fit(32, 31, 1, 63));
  EXPECT_TRUE(sums_fit(8, 8, 32768, 31));
  EXPECT_FALSE(sums_fit(8, 8, 32769, 31));
}

TEST(LevelGemm, RefusesWhatDoesNotGoTogether) {
  const QuantizedMatrix x = test::random_levels(3, 5, 4, 1), w = test::random_levels(2, 5, 4, 2);
  const LevelWeights prepared = prepare_level_weights(w);
  Floats out(3, 2);
  const auto refused = [](auto&& call, const char* text) { test::expect_usage_error(call, text); };
  refused([&] { level_gemm_into(out, test::random_levels(3, 6, 4, 1), prepared); }, "X is 3 x 6, W is 2 x 5");
  Floats narrow(3, 1);
  refused([&] { level_gemm_into(narrow, x, prepared); }, "the output is 3 x 1");
  const std::vector<float> bias(3);
  refused([&] { level_gemm_into(out, x, prepared, {.bias = bias}); }, "bias has 3 values, expected 2");
  QuantizedMatrix by_column = x.clone();
  by_column.set_scale(test::random_scale(ScaleExtent::column, 5, false, 1));
  refused([&] { level_gemm_into(out, by_column, prepared); }, "X has a scale by columns");
  refused([&] { static_cast<void>(prepare_level_weights(by_column)); }, "W has a scale by columns");
  QuantizedMatrix levels(3, 2, 4);
  refused([&] { level_gemm_into(levels, x, prepared); }, "the output has no scale");
  levels.set_scale(test::random_scale(ScaleExtent::tensor, 1, false, 1));
  const std::vector<NodeId> places = test::other_places(3), few(2), outside{0, 3, 2};
  refused([&] { level_gemm_into(levels, x, prepared, {.out_rows = places}); }, "out_rows is of floats out");
  refused([&] { level_gemm_into(out, x, prepared, {.out_rows = few}); }, "out_rows has 2 rows, the output 3");
  refused([&] { level_gemm_into(out, x, prepared, {.out_rows = outside}); }, "out_rows names row 3 of 3");
  const Floats addend(3, 2), wide_addend(3, 3);
  refused([&] { level_gemm_into(out, x, prepared, {.addend = &wide_addend}); }, "addend is 3 x 3, the output 3 x 2");
  levels.set_scale(test::random_scale(ScaleExtent::column, 2, false, 1));
  refused([&] { level_gemm_into(levels, x, prepared, {.addend = &addend}); }, "with an addend one by rows");
  const QuantizedMatrix wide = test::random_levels(1, 70000, 16, 1);
  Sums sums(1, 1);
  refused([&] { level_gemm_into(sums, wide, prepare_level_weights(wide)); }, "may pass int32: use int64");
}

}  // namespace
}  // namespace bitgraph
