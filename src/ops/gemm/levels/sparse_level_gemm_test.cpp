// SPDX-License-Identifier: Apache-2.0
// Products of sparse levels are those of all levels, bit by bit.
#include <bitgraph/ops/level_gemm.hpp>

#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/out_rows.hpp"
#include "support/random_levels.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

using Floats = DenseMatrix<float>;
using WideSums = DenseMatrix<std::int64_t>;

/// Rows and columns of X, outputs: around blocks of rows, panels and slices of 64 and 256 outputs, and none of each.
constexpr std::array<std::array<std::size_t, 3>, 13> shapes{{{0, 5, 7},
                                                             {5, 0, 7},
                                                             {5, 7, 0},
                                                             {1, 1, 1},
                                                             {6, 63, 16},
                                                             {7, 64, 17},
                                                             {5, 40, 63},
                                                             {9, 33, 64},
                                                             {13, 65, 65},
                                                             {9, 130, 256},
                                                             {6, 40, 257},
                                                             {7, 65, 300},
                                                             {130, 300, 5}}};

constexpr std::array<int, 7> widths{1, 2, 4, 5, 8, 9, 16};

/// Every third row has no entries. Steps and offsets of rows are such that 0 has any level, the first and the last too.
SparseLevels random_entries(std::size_t nrows, std::size_t ncols, int bits, ScaleExtent extent, bool offsets) {
  const CsrPattern any = test::random_pattern(static_cast<NodeId>(nrows), static_cast<NodeId>(ncols), 0.1, ncols);
  std::vector<NodeId> rows, cols;
  for (NodeId i = 0; i < any.nrows(); ++i) {
    for (const NodeId j : any.row(i)) {
      if (i % 3 != 1) rows.push_back(i), cols.push_back(j);
    }
  }
  SparseLevels x{csr_from_edges(any.nrows(), any.ncols(), rows, cols), {}, bits, {}};
  const auto numbers = test::random_numbers(1, x.pattern.nvals(), bits, nrows);
  x.levels = Buffer<std::uint16_t>(x.pattern.nvals());
  for (std::size_t e = 0; e < x.levels.size(); ++e) x.levels[e] = static_cast<std::uint16_t>(numbers(0, e));
  x.scale = test::random_scale(extent, num_scales(extent, nrows, ncols), offsets, 5);
  const auto most = static_cast<float>((1U << bits) - 1);
  for (std::size_t s = 0; s < x.scale.offsets.size(); ++s) {
    const float zero = s % 4 == 0 ? 0.0F : s % 4 == 1 ? most : std::round(most * static_cast<float>(s % 7) / 7);
    x.scale.offsets[s] = -x.scale.steps[s] * zero;
  }
  return x;
}

/// Row i has i entries.
SparseLevels entries_of_any_number(std::size_t nrows, std::size_t ncols, int bits) {
  std::vector<NodeId> rows, cols;
  for (std::size_t i = 0; i < nrows; ++i) {
    for (std::size_t e = 0; e < i; ++e) {
      rows.push_back(static_cast<NodeId>(i));
      cols.push_back(static_cast<NodeId>((7 * e + i) % ncols));
    }
  }
  SparseLevels x = random_entries(nrows, ncols, bits, ScaleExtent::row, true);
  x.pattern = csr_from_edges(static_cast<NodeId>(nrows), static_cast<NodeId>(ncols), rows, cols);
  const auto numbers = test::random_numbers(1, x.pattern.nvals(), bits, nrows);
  x.levels = Buffer<std::uint16_t>(x.pattern.nvals());
  for (std::size_t e = 0; e < x.levels.size(); ++e) x.levels[e] = static_cast<std::uint16_t>(numbers(0, e));
  return x;
}

struct Product {
  SparseLevels x;
  QuantizedMatrix w;
  std::vector<float> bias;
  LevelGemmOptions options;

  Product(const std::array<std::size_t, 3>& shape, int p, int q, std::size_t turn)
      : x(random_entries(shape[0], shape[1], p, turn % 4 == 0 ? ScaleExtent::tensor : ScaleExtent::row, turn % 3 != 0)),
        w(test::random_levels(shape[2], shape[1], q, 2)),
        bias(test::random_floats(shape[2], 3, -1, 1)) {
    w.set_scale(test::random_scale(ScaleExtent::row, shape[2], turn % 2 == 0, 6));
    options = {.bias = bias,
               .activation = turn % 2 == 0 ? Activation::relu : Activation::none,
               .rounding = turn % 5 == 0 ? Rounding::floor : Rounding::nearest};
  }
};

template <class Fn>
void for_each_product(Fn&& fn) {
  std::size_t turn = 0;
  for (const auto& shape : shapes) {
    for (const int p : widths) {
      for (const int q : widths) {
        // All pairs of widths where a product is small.
        if (shape[0] > 100 && p != q) continue;
        SCOPED_TRACE(testing::Message() << shape[0] << " x " << shape[1] << " by " << shape[2] << ", " << p << " and "
                                        << q << " bits");
        fn(Product(shape, p, q, ++turn));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

ScaleExtent extent_of(std::size_t turn) {
  constexpr ScaleExtent extents[] = {ScaleExtent::tensor, ScaleExtent::column, ScaleExtent::row};
  return extents[turn % 3];
}

/// What values become as levels of so many bits: they have all of those.
QuantizedMatrix levels_out(const Floats& values, int bits, ScaleExtent extent) {
  QuantizedMatrix out(values.nrows(), values.ncols(), bits);
  out.set_scale(choose_scale(values, {.bits = bits, .extent = extent}));
  return out;
}

/// Sums, values and levels of a CUDA device are those of the host.
void expect_same_on_device(const Product& product, const Device& device, std::size_t turn) {
  const std::size_t n = product.x.nrows(), f = product.w.nrows();
  const LevelWeights here = prepare_level_weights(product.w, Device{}, {.sparse = true});
  const LevelWeights there = prepare_level_weights(product.w, device, {.sparse = true});
  const SparseLevels x = product.x.to(device);
  const Buffer<float> bias = Buffer<float>::copy_of(product.bias, device);
  LevelGemmOptions options = product.options;
  options.bias = bias.span();
  WideSums sums(n, f), sums_there(n, f, device);
  level_gemm_into(sums, product.x, here);
  level_gemm_into(sums_there, x, there);
  const WideSums sums_back = sums_there.to(Device{});
  ASSERT_TRUE(std::ranges::equal(sums_back.values(), sums.values()));
  Floats values(n, f), values_there(n, f, device);
  level_gemm_into(values, product.x, here, product.options);
  level_gemm_into(values_there, x, there, options);
  test::expect_identical(values_there.to(Device{}).values(), values.values());
  const std::vector<NodeId> places = test::other_places(n);
  const Buffer<NodeId> places_there = Buffer<NodeId>::copy_of(places, device);
  LevelGemmOptions elsewhere = options;
  elsewhere.out_rows = places_there.span();
  level_gemm_into(values_there, x, there, elsewhere);
  test::expect_identical(values_there.to(Device{}).values(), test::stored_at(values, places).values());
  for (const int bits : {1, 4, 8, 13}) {
    SCOPED_TRACE(testing::Message() << bits << " bits out");
    QuantizedMatrix expected = levels_out(values, bits, extent_of(turn));
    level_gemm_into(expected, product.x, here, product.options);
    QuantizedMatrix out(n, f, bits, device);
    out.levels().fill(0xFF);  // what was there does not matter
    out.set_scale(expected.scale().to(device));
    level_gemm_into(out, x, there, options);
    const QuantizedMatrix back = out.to(Device{});
    ASSERT_TRUE(std::ranges::equal(back.levels().span(), expected.levels().span()));
  }
}

TEST(SparseLevelGemm, SumsAndValuesAreThoseOfAllLevelsEverywhere) {
  for_each_product([](const Product& product) {
    const QuantizedMatrix all = to_quantized(product.x);
    const std::size_t n = all.nrows(), f = product.w.nrows();
    WideSums sums(n, f);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < f; ++j) {
        for (std::size_t c = 0; c < all.ncols(); ++c)
          sums(i, j) += std::int64_t{all.level(i, c)} * product.w.level(j, c);
      }
    }
    const LevelWeights w = prepare_level_weights(product.w, Device{}, {.sparse = true});
    Floats values(n, f);
    level_gemm_into(values, all, w, product.options);
    test::everywhere([&](const Device& device) {
      const SparseLevels x = product.x.to(device);
      WideSums actual_sums(n, f, device);
      level_gemm_into(actual_sums, x, w);
      ASSERT_TRUE(std::ranges::equal(actual_sums.values(), sums.values()));
      Floats actual(n, f, device);
      level_gemm_into(actual, x, w, product.options);
      test::expect_identical(actual.values(), values.values());
      LevelGemmOptions elsewhere = product.options;
      const std::vector<NodeId> places = test::other_places(n);
      elsewhere.out_rows = places;
      level_gemm_into(actual, x, w, elsewhere);
      test::expect_identical(actual.values(), test::stored_at(values, places).values());
    });
  });
}

TEST(SparseLevelGemm, LevelsOutAreThoseOfAllLevelsEverywhere) {
  std::size_t turn = 0;
  for_each_product([&](const Product& product) {
    const QuantizedMatrix all = to_quantized(product.x);
    const std::size_t n = all.nrows(), f = product.w.nrows();
    const LevelWeights w = prepare_level_weights(product.w, Device{}, {.sparse = true});
    Floats values(n, f);
    level_gemm_into(values, all, w, product.options);
    const int bits = std::array{1, 4, 5, 8, 13}[++turn % 5];
    QuantizedMatrix expected = levels_out(values, bits, extent_of(turn));
    level_gemm_into(expected, all, w, product.options);
    test::everywhere([&](const Device& device) {
      QuantizedMatrix out(n, f, bits, device);
      out.levels().fill(0xFF);  // what was there does not matter
      out.set_scale(expected.scale().to(device));
      level_gemm_into(out, product.x.to(device), w, product.options);
      ASSERT_TRUE(std::ranges::equal(out.levels().span(), expected.levels().span()));
    });
  });
}

/// A product with an addend, and 4 bits of its values, of all levels on the host.
struct WithAddend {
  const Product& product;
  Floats addend, values;
  QuantizedMatrix levels;

  WithAddend(const Product& of, ScaleExtent extent) : product(of) {
    const std::size_t n = of.x.nrows(), f = of.w.nrows();
    const QuantizedMatrix all = to_quantized(of.x);
    const LevelWeights w = prepare_level_weights(of.w);
    addend = Floats(n, f, Buffer<float>::copy_of(test::random_floats(n * f, 8, -1, 1)));
    values = Floats(n, f);
    LevelGemmOptions options = of.options;
    options.addend = &addend;
    level_gemm_into(values, all, w, options);
    levels = levels_out(values, 4, extent);
    level_gemm_into(levels, all, w, options);
  }

  void expect_of_entries(const Device& device) const {
    const std::size_t n = values.nrows(), f = values.ncols();
    const LevelWeights w = prepare_level_weights(product.w, device, {.sparse = true});
    const SparseLevels x = product.x.to(device);
    const Floats addend_there = addend.to(device);
    const Buffer<float> bias = Buffer<float>::copy_of(product.bias, device);
    LevelGemmOptions options = product.options;
    options.addend = &addend_there;
    options.bias = bias.span();
    Floats actual(n, f, device);
    level_gemm_into(actual, x, w, options);
    test::expect_identical(actual.to(Device{}).values(), values.values());
    QuantizedMatrix out(n, f, 4, device);
    out.levels().fill(0xFF);
    out.set_scale(levels.scale().to(device));
    level_gemm_into(out, x, w, options);
    ASSERT_TRUE(std::ranges::equal(out.to(Device{}).levels().span(), levels.levels().span()));
  }
};

/// Each fifth product: a product has one end, whatever its bits are.
template <class Fn>
void for_some_with_addend(Fn&& fn) {
  std::size_t turn = 0;
  for_each_product([&](const Product& product) {
    if (++turn % 5 == 0) fn(WithAddend(product, turn % 2 == 0 ? ScaleExtent::tensor : ScaleExtent::row));
  });
}

TEST(SparseLevelGemm, AddendsAreThoseOfAllLevelsEverywhere) {
  for_some_with_addend([](const WithAddend& product) {
    test::everywhere([&](const Device& device) { product.expect_of_entries(device); });
  });
}

TEST(SparseLevelGemm, AddendsOfADeviceAreThoseOfTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  for_some_with_addend([](const WithAddend& product) { product.expect_of_entries(*test::cuda_device()); });
}

TEST(SparseLevelGemm, ProductsOfTheReferenceAreTheSame) {
  const Product product({7, 65, 300}, 5, 9, 1);
  const QuantizedMatrix all = to_quantized(product.x);
  const LevelWeights w = prepare_level_weights(product.w, Device{}, {.sparse = true});
  Floats expected(7, 300), actual(7, 300);
  level_gemm_into(expected, all, w, product.options);
  ::setenv("BITGRAPH_BACKEND", "reference", 1);
  level_gemm_into(actual, product.x, w, product.options);
  ::unsetenv("BITGRAPH_BACKEND");
  test::expect_identical(actual.values(), expected.values());
}

TEST(SparseLevelGemm, RowsHaveAnyNumberOfEntries) {
  Product product({131, 131, 40}, 8, 8, 2);
  product.x = entries_of_any_number(131, 131, 8);
  const LevelWeights w = prepare_level_weights(product.w, Device{}, {.sparse = true});
  Floats expected(131, 40), actual(131, 40);
  level_gemm_into(expected, to_quantized(product.x), w, product.options);
  level_gemm_into(actual, product.x, w, product.options);
  test::expect_identical(actual.values(), expected.values());
}

TEST(SparseLevelGemm, ADeviceGivesTheBitsOfTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  std::size_t turn = 0;
  for_each_product([&](const Product& product) { expect_same_on_device(product, *test::cuda_device(), ++turn); });
}

TEST(SparseLevelGemm, RowsOfADeviceHaveAnyNumberOfEntries) {
  BITGRAPH_REQUIRE_CUDA();
  std::size_t turn = 0;
  for (const std::size_t outputs : {1, 8, 9, 16, 17, 32, 33, 64, 130}) {
    for (const auto& [p, q] : {std::pair{4, 4}, {8, 8}, {15, 8}, {16, 8}, {12, 12}}) {
      SCOPED_TRACE(testing::Message() << outputs << " outputs, " << p << " and " << q << " bits");
      Product product({131, 131, outputs}, p, q, ++turn);
      product.x = entries_of_any_number(131, 131, p);
      expect_same_on_device(product, *test::cuda_device(), turn);
    }
  }
}

/// More rows than a device takes at a time.
TEST(SparseLevelGemm, ADeviceTakesManyRows) {
  BITGRAPH_REQUIRE_CUDA();
  const Product product({20001, 90, 70}, 4, 8, 1);
  expect_same_on_device(product, *test::cuda_device(), 1);
}

TEST(SparseLevelGemm, ExplainNamesTheKernel) {
  const Product product({4, 9, 6}, 4, 8, 1);
  const LevelWeights w = prepare_level_weights(product.w, Device{}, {.sparse = true});
  const std::string name = level_gemm_explain(product.x, w).kernel;
  EXPECT_EQ(name.find("level_gemm of entries, 4 by 8 bits"), 0U) << name;
}

TEST(SparseLevelGemm, ExplainNamesTheKernelOfADevice) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const Product product({4, 9, 6}, 4, 8, 1);
  const LevelWeights there = prepare_level_weights(product.w, device, {.sparse = true});
  EXPECT_EQ(level_gemm_explain(product.x.to(device), there).kernel, "level_gemm_entries");
  const SparseLevels wide = random_entries(4, 9, 16, ScaleExtent::row, true);
  EXPECT_EQ(level_gemm_explain(wide.to(device), there).kernel, "level_gemm_entries_wide");
}

TEST(SparseLevelGemm, WhatIsNotOnTheDeviceIsRefused) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const Product product({4, 9, 6}, 8, 8, 1);
  Floats out(4, 6, device);
  const auto refused = [&](const SparseLevels& x, const LevelWeights& w, const char* text) {
    test::expect_usage_error([&] { level_gemm_into(out, x, w); }, text);
  };
  const SparseLevels x = product.x.to(device);
  refused(x, prepare_level_weights(product.w, device), "W was not made ready for sparse levels");
  refused(x, prepare_level_weights(product.w, Device{}, {.sparse = true}), "W");
  refused(product.x, prepare_level_weights(product.w, device, {.sparse = true}), "X");
  test::expect_error_with([&] { static_cast<void>(to_quantized(x)); }, ErrorCode::not_possible, "to_quantized");
}

TEST(SparseLevelGemm, WhatDoesNotFitIsRefused) {
  const Product product({4, 9, 6}, 8, 8, 1);
  const LevelWeights w = prepare_level_weights(product.w, Device{}, {.sparse = true});
  const auto refused = [&](const SparseLevels& x, const LevelWeights& weights, std::size_t ncols, const char* text) {
    Floats out(4, ncols);
    test::expect_usage_error([&] { level_gemm_into(out, x, weights); }, text);
    WideSums sums(4, ncols);
    test::expect_usage_error([&] { level_gemm_into(sums, x, weights); }, text);
  };
  refused(product.x, prepare_level_weights(product.w), 6, "W was not made ready for sparse levels");
  refused(product.x, w, 5, "X is 4 x 9, W is 6 x 9, the output is 4 x 5");
  refused(random_entries(4, 10, 8, ScaleExtent::row, true), w, 6, "X is 4 x 10, W is 6 x 9, the output is 4 x 6");
  SparseLevels wrong = product.x.to(Device{});
  wrong.levels = Buffer<std::uint16_t>(2);
  refused(wrong, w, 6, "2 levels for");
  wrong = product.x.to(Device{});
  wrong.scale = test::random_scale(ScaleExtent::column, 9, true, 1);
  refused(wrong, w, 6, "X has a scale by columns");
  QuantizedMatrix out(4, 6, 8);
  test::expect_usage_error([&] { level_gemm_into(out, product.x, w); }, "scale");
}

}  // namespace
}  // namespace bitgraph
