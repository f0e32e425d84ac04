// SPDX-License-Identifier: Apache-2.0
// Products of levels on a matrix unit beside the reference, whatever the number of rows: the bits have to be the same.
#include "ops/gemm/levels/levels.hpp"
#include "support/everywhere.hpp"
#include "support/out_rows.hpp"
#include "support/random_levels.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/ops/level_gemm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

/// Skips the test, by name, where there is no matrix unit. Chooses it where there is one.
class LevelTilesTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<Isa> isas = available_isas();
    if (std::find(isas.begin(), isas.end(), Isa::amx) == isas.end())
      GTEST_SKIP() << "NOT TESTED: level_gemm_by_tiles, as this processor, system or build has no AMX";
    scope_.emplace(Isa::amx);
    ASSERT_EQ(active_isa(), Isa::amx);
  }

 private:
  std::optional<ScopedIsa> scope_;
};

/// A product with an epilogue; `turn` chooses its kind.
struct Product {
  QuantizedMatrix x, w_levels;
  LevelWeights w;
  std::vector<float> bias;
  std::size_t turn;

  Product(std::size_t n, std::size_t k, std::size_t f, int p, int q, std::size_t number)
      : x(test::random_levels(n, k, p, 1)),
        w_levels(test::random_levels(f, k, q, 2)),
        bias(test::random_floats(f, 3, -1, 1)),
        turn(number) {
    const bool by_row = turn % 2 == 0;
    const auto extent = by_row ? ScaleExtent::row : ScaleExtent::tensor;
    x.set_scale(test::random_scale(extent, by_row ? n : 1, turn % 3 != 0, 5));
    w_levels.set_scale(test::random_scale(extent, by_row ? f : 1, turn % 5 < 2, 6));
    w = prepare_level_weights(w_levels);
  }

  [[nodiscard]] LevelGemmArgs args(bool epilogue) const {
    LevelGemmArgs made = level_gemm_args(x, w, x.nrows(), w.nrows, Device{});
    if (!epilogue) return made;
    made.epilogue.bias = bias.data();
    made.epilogue.activation = turn % 4 == 1 ? Activation::relu : turn % 4 == 2 ? Activation::tanh : Activation::none;
    made.epilogue.rounding = turn % 7 == 3 ? Rounding::floor : Rounding::nearest;
    return made;
  }
};

void expect_same_sums(const Product& product) {
  DenseMatrix<std::int32_t> expected(product.x.nrows(), product.w.nrows);
  DenseMatrix<std::int64_t> wide(product.x.nrows(), product.w.nrows);
  LevelGemmArgs args = product.args(false);
  args.out.sums = expected.view();
  level_gemm(Reference{}, args);
  test::with_thread_counts([&](const Device& device) {
    DenseMatrix<std::int32_t> actual(product.x.nrows(), product.w.nrows);
    args.out.sums = actual.view();
    level_gemm_by_tiles(Cpu{device}, args);
    ASSERT_TRUE(std::ranges::equal(actual.values(), expected.values()));
  });
  args.out.sums = {};
  args.out.wide_sums = wide.view();
  level_gemm_by_tiles(Cpu{Device::host(1)}, args);
  ASSERT_TRUE(std::ranges::equal(wide.values(), expected.values()));
}

void expect_same_values(const Product& product) {
  const std::size_t n = product.x.nrows();
  DenseMatrix<float> expected(n, product.w.nrows), actual(n, product.w.nrows);
  LevelGemmArgs args = product.args(true);
  args.out.values = expected.view();
  level_gemm(Reference{}, args);
  const std::vector<NodeId> places = test::other_places(n);
  test::with_thread_counts([&](const Device& device) {
    args.out = {};
    args.out.values = actual.view();
    level_gemm_by_tiles(Cpu{device}, args);
    test::expect_identical(actual.values(), expected.values());
    args.out.value_rows = places.data();
    level_gemm_by_tiles(Cpu{device}, args);
    test::expect_identical(actual.values(), test::stored_at(expected, places).values());
  });
}

void expect_same_levels(const Product& product, int bits) {
  const bool tensor = product.turn % 2 == 0;
  QuantizedMatrix expected(product.x.nrows(), product.w.nrows, bits);
  // Sums that differ by 1 are other levels here and there.
  LevelScale scale =
      test::random_scale(tensor ? ScaleExtent::tensor : ScaleExtent::column, tensor ? 1 : product.w.nrows, true, 9);
  for (float& step : scale.steps.span())
    step *= static_cast<float>(product.x.ncols()) * std::ldexp(1.0F, product.x.bits() + product.w.bits - bits - 2);
  expected.set_scale(std::move(scale));
  LevelGemmArgs args = product.args(true);
  args.out.levels = expected.view();
  take_out_scale(args.epilogue, expected, "level gemm");
  level_gemm(Reference{}, args);
  test::with_thread_counts([&](const Device& device) {
    QuantizedMatrix actual(product.x.nrows(), product.w.nrows, bits);
    std::fill(actual.levels().begin(), actual.levels().end(), std::uint8_t{0xFF});
    args.out.levels = actual.view();
    level_gemm_by_tiles(Cpu{device}, args);
    ASSERT_TRUE(std::ranges::equal(actual.levels().span(), expected.levels().span())) << bits << " bits out";
  });
}

/// X of 2 bits in planes, and levels out in planes.
void expect_same_in_planes(const Product& product) {
  constexpr int bits = 2;
  QuantizedMatrix expected(product.x.nrows(), product.w.nrows, bits);
  expected.set_scale(test::random_scale(ScaleExtent::column, product.w.nrows, true, 9));
  LevelGemmArgs args = product.args(true);
  args.out.levels = expected.view();
  take_out_scale(args.epilogue, expected, "level gemm");
  level_gemm(Reference{}, args);
  const QuantizedMatrix x = to_packing(product.x, LevelPacking::planes);
  const QuantizedMatrix packed = to_packing(expected, LevelPacking::planes);
  args.x = x.view();
  test::with_thread_counts([&](const Device& device) {
    QuantizedMatrix actual(product.x.nrows(), product.w.nrows, bits, device, LevelPacking::planes);
    actual.levels().fill(0xFF);
    args.out.levels = actual.view();
    level_gemm_by_tiles(Cpu{device}, args);
    ASSERT_TRUE(std::ranges::equal(actual.levels().span(), packed.levels().span()));
  });
}

void expect_same(const Product& product) {
  SCOPED_TRACE(testing::Message() << product.x.nrows() << " x " << product.x.ncols() << " by " << product.w.nrows
                                  << ", " << product.x.bits() << " and " << product.w.bits << " bits, turn "
                                  << product.turn);
  expect_same_sums(product);
  expect_same_values(product);
  expect_same_levels(product, std::array{1, 4, 5, 8, 13}[product.turn % 5]);
  if (product.x.bits() == 2) expect_same_in_planes(product);
}

/// Around tiles and blocks of rows, tiles and chunks of columns, panels and slices of outputs.
TEST_F(LevelTilesTest, ShapesOfAnyRestHaveTheBitsOfTheReference) {
  std::size_t turn = 0;
  for (const std::size_t n : {1, 15, 16, 17, 33}) {
    for (const std::size_t k : {1, 63, 64, 65, 512, 602}) {
      for (const std::size_t f : {1, 15, 16, 17, 63, 64, 65, 256}) {
        ++turn;
        expect_same(Product(n, k, f, static_cast<int>(1 + turn % 8), static_cast<int>(1 + turn / 8 % 8), turn));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(LevelTilesTest, ManyRowsColumnsAndOutputsHaveTheBitsOfTheReference) {
  std::size_t turn = 0;
  for (const auto& shape : {std::array<std::size_t, 3>{1000, 65, 65},
                            {1000, 512, 17},
                            {70, 1433, 64},
                            {40, 2049, 7},
                            {65, 130, 600},
                            {33, 20, 257},
                            {200, 769, 3}}) {
    for (const auto& [p, q] : {std::pair{4, 4}, {8, 8}, {2, 8}}) {
      expect_same(Product(shape[0], shape[1], shape[2], p, q, ++turn));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(LevelTilesTest, AllPairsOfBitsHaveTheBitsOfTheReference) {
  std::size_t turn = 0;
  for (int p = 1; p <= 8; ++p) {
    for (int q = 1; q <= 8; ++q) {
      expect_same(Product(33, 130, 37, p, q, ++turn));
      if (HasFatalFailure()) return;
    }
  }
}

/// The largest levels: sums that come close to 2^31.
TEST_F(LevelTilesTest, TheLargestSumsAreExact) {
  const std::size_t k = 32768;
  DenseMatrix<std::uint32_t> most(3, k);
  std::fill(most.values().begin(), most.values().end(), 255U);
  const QuantizedMatrix levels = quantized_from_levels(most, 8);
  const LevelWeights w = prepare_level_weights(levels);
  LevelGemmArgs args = level_gemm_args(levels, w, 3, 3, Device{});
  DenseMatrix<std::int32_t> sums(3, 3);
  args.out.sums = sums.view();
  level_gemm_by_tiles(Cpu{Device{}}, args);
  for (const std::int32_t sum : sums.values()) EXPECT_EQ(sum, 255 * 255 * 32768);
}

/// What users call: the kernel is chosen where there are rows enough, and changes no bit.
TEST_F(LevelTilesTest, ItIsChosenForManyRowsAndChangesNoBit) {
  const Product product(300, 100, 70, 4, 4, 1);
  DenseMatrix<float> by_tiles(300, 70), by_vectors(300, 70);
  EXPECT_EQ(level_gemm_explain(product.x, product.w).kernel, "level_gemm_by_tiles, 4 by 4 bits in bytes (amx)");
  level_gemm_into(by_tiles, product.x, product.w);
  const ScopedIsa scope(Isa::avx512_popcnt);
  EXPECT_EQ(level_gemm_explain(product.x, product.w).kernel, "level_gemm, 4 by 4 bits in bytes (avx512_popcnt)");
  level_gemm_into(by_vectors, product.x, product.w);
  test::expect_identical(by_tiles.values(), by_vectors.values());
}

}  // namespace
}  // namespace bitgraph
