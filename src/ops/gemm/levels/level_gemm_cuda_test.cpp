// SPDX-License-Identifier: Apache-2.0
// Products of levels on a CUDA device are the reference's to the last bit.
#include "ops/gemm/levels/levels.hpp"
#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/level_planes.hpp"
#include "support/out_rows.hpp"
#include "support/random_levels.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/ops/level_gemm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

using Floats = DenseMatrix<float>;
using Shape = std::array<std::size_t, 3>;

/// Rows and columns of X, outputs: around tiles of rows, chunks of columns and blocks of outputs, and none of each.
constexpr std::array<Shape, 14> shapes{{{0, 5, 7},
                                        {5, 0, 7},
                                        {5, 7, 0},
                                        {1, 1, 1},
                                        {63, 31, 16},
                                        {64, 64, 64},
                                        {65, 127, 65},
                                        {129, 128, 128},
                                        {200, 129, 129},
                                        {70, 512, 256},
                                        {40, 513, 257},
                                        {3, 1433, 64},
                                        {33, 3703, 6},
                                        {1000, 300, 40}}};

constexpr std::array<std::pair<int, int>, 11> widths{
    {{1, 1}, {2, 2}, {2, 1}, {1, 2}, {4, 4}, {4, 8}, {8, 2}, {8, 8}, {12, 3}, {3, 11}, {16, 16}}};

struct Case {
  QuantizedMatrix x, w;
  std::vector<float> bias;
  LevelGemmOptions options;
  bool image = false;  ///< W for the device knows the bits of X
  LevelStrategy strategy = LevelStrategy::automatic;

  Case(const Shape& shape, int p, int q, bool by_row, bool offsets)
      : x(test::random_levels(shape[0], shape[1], p, 1)),
        w(test::random_levels(shape[2], shape[1], q, 2)),
        bias(test::random_floats(shape[2], 3, -1, 1)) {
    const auto extent = by_row ? ScaleExtent::row : ScaleExtent::tensor;
    x.set_scale(test::random_scale(extent, by_row ? shape[0] : 1, offsets, 5));
    w.set_scale(test::random_scale(extent, by_row ? shape[2] : 1, offsets, 6));
    options = {.bias = bias,
               .activation = by_row ? Activation::relu : Activation::none,
               .rounding = p == 4 ? Rounding::floor : Rounding::nearest};
  }

  [[nodiscard]] LevelWeights weights(const Device& device) const {
    return prepare_level_weights(w, device, {.x_bits = image ? x.bits() : 0, .strategy = strategy});
  }

  [[nodiscard]] LevelGemmArgs args(const LevelWeights& prepared) const {
    LevelGemmArgs args = level_gemm_args(x, prepared, x.nrows(), prepared.nrows, Device{});
    args.epilogue.bias = bias.data();
    args.epilogue.activation = options.activation;
    args.epilogue.rounding = options.rounding;
    return args;
  }
};

template <class Fn>
void for_each_case(Fn&& fn) {
  std::size_t turn = 0;
  for (const Shape& shape : shapes) {
    for (const auto& [p, q] : widths) {
      const bool by_row = turn % 2 == 0, offsets = turn / 2 % 2 == 0;
      ++turn;
      SCOPED_TRACE(testing::Message() << shape[0] << " x " << shape[1] << " by " << shape[2] << ", " << p << " and "
                                      << q << " bits" << (by_row ? ", by row" : "") << (offsets ? ", offsets" : ""));
      Case product(shape, p, q, by_row, offsets);
      product.image = turn % 3 != 0;
      fn(product);
      if (testing::Test::HasFatalFailure()) return;
      if (!level_gemm_has_planes(p, q, shape[1])) continue;
      product.image = true;
      for (const LevelStrategy strategy : {LevelStrategy::planes, LevelStrategy::bytes}) {
        product.strategy = strategy;
        fn(product);
      }
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(LevelGemmCuda, SumsAndValuesAreThoseOfTheReference) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for_each_case([&](const Case& product) {
    const std::size_t n = product.x.nrows(), f = product.w.nrows();
    const LevelWeights w = prepare_level_weights(product.w), there = product.weights(device);
    DenseMatrix<std::int64_t> sums(n, f);
    Floats values(n, f);
    LevelGemmArgs args = product.args(w);
    args.out.wide_sums = sums.view();
    level_gemm(Reference{}, args);
    args = product.args(w);
    args.out.values = values.view();
    level_gemm(Reference{}, args);
    const QuantizedMatrix x = product.x.to(device);
    const Buffer<float> bias = Buffer<float>::copy_of(product.bias, device);
    LevelGemmOptions options = product.options;
    options.bias = bias.span();
    Floats of_device(n, f, device);
    level_gemm_into(of_device, x, there, options);
    test::expect_identical(of_device.to(Device{}).values(), values.values());
    const std::vector<NodeId> places = test::other_places(n);
    const Buffer<NodeId> places_there = Buffer<NodeId>::copy_of(places, device);
    options.out_rows = places_there.span();
    level_gemm_into(of_device, x, there, options);
    test::expect_identical(of_device.to(Device{}).values(), test::stored_at(values, places).values());
    DenseMatrix<std::int64_t> wide(n, f, device);
    level_gemm_into(wide, x, there);
    const auto wide_here = wide.to(Device{});
    ASSERT_TRUE(std::ranges::equal(wide_here.values(), sums.values()));
    if (!sums_fit(product.x.bits(), product.w.bits(), product.x.ncols(), 31)) return;
    DenseMatrix<std::int32_t> narrow(n, f, device);
    level_gemm_into(narrow, x, there);
    const auto narrow_here = narrow.to(Device{});
    ASSERT_TRUE(std::ranges::equal(narrow_here.values(), sums.values()));
  });
}

/// The operands of a product on the device.
struct There {
  LevelWeights w;
  QuantizedMatrix x;
  Buffer<float> bias;
  LevelGemmOptions options;

  There(const Case& product, const Device& device)
      : w(product.weights(device)),
        x(product.x.to(device)),
        bias(Buffer<float>::copy_of(product.bias, device)),
        options(product.options) {
    options.bias = bias.span();
  }
};

/// Levels out of `bits` bits are those of the reference, which has `args`.
void expect_levels_out(const Case& product, const There& there, LevelGemmArgs args, int bits, ScaleExtent extent,
                       std::uint64_t seed) {
  SCOPED_TRACE(testing::Message() << bits << " bits out, extent " << static_cast<int>(extent));
  const std::size_t n = product.x.nrows(), f = product.w.nrows();
  QuantizedMatrix expected(n, f, bits), out(n, f, bits, there.x.device());
  LevelScale scale = test::random_scale(extent, num_scales(extent, n, f), true, seed);
  const float range = std::ldexp(static_cast<float>(product.x.ncols()), product.x.bits() + product.w.bits());
  for (float& step : scale.steps.span()) step *= (1 + 0.1F * range) / static_cast<float>(1U << bits);
  expected.set_scale(std::move(scale));
  args.out = {};
  args.out.levels = expected.view();
  take_out_scale(args.epilogue, expected, "level gemm");
  level_gemm(Reference{}, args);
  out.levels().fill(0xFF);  // what was there does not matter
  out.set_scale(expected.scale().to(out.device()));
  level_gemm_into(out, there.x, there.w, there.options);
  const QuantizedMatrix here = out.to(Device{});
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < f; ++j) ASSERT_EQ(here.level(i, j), expected.level(i, j)) << i << ", " << j;
  }
  ASSERT_TRUE(std::ranges::equal(here.levels().span(), expected.levels().span())) << "behind the last output";
}

TEST(LevelGemmCuda, LevelsOutAreThoseOfTheReference) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  std::size_t turn = 0;
  for_each_case([&](const Case& product) {
    const LevelWeights w = prepare_level_weights(product.w);
    const There there(product, device);
    for (const int bits : {1, 4, 8, 13}) {
      ++turn;
      constexpr ScaleExtent extents[] = {ScaleExtent::tensor, ScaleExtent::column, ScaleExtent::row};
      expect_levels_out(product, there, product.args(w), bits, extents[(turn + turn / 12) % 3], turn);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(LevelGemmCuda, ProductsWithAnAddendAreThoseOfTheReference) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  std::size_t turn = 0;
  for_each_case([&](const Case& product) {
    const std::size_t n = product.x.nrows(), f = product.w.nrows();
    const LevelWeights w = prepare_level_weights(product.w);
    const Floats addend(n, f, Buffer<float>::copy_of(test::random_floats(n * f, 8, -1, 1)));
    const Floats addend_there = addend.to(device);
    There there(product, device);
    there.options.addend = &addend_there;
    LevelGemmArgs args = product.args(w);
    args.epilogue.addend = addend.view();
    Floats values(n, f), values_there(n, f, device);
    args.out.values = values.view();
    level_gemm(Reference{}, args);
    level_gemm_into(values_there, there.x, there.w, there.options);
    test::expect_identical(values_there.to(Device{}).values(), values.values());
    const int bits = std::array{1, 4, 8, 13}[turn % 4];
    ++turn;
    expect_levels_out(product, there, args, bits, turn % 3 == 0 ? ScaleExtent::row : ScaleExtent::tensor, turn);
  });
}

/// X in planes, and all that may come out: as of the same levels in places.
void expect_products_of_planes(const Case& product, const Device& device) {
  const std::size_t n = product.x.nrows(), f = product.w.nrows();
  const LevelWeights w = prepare_level_weights(product.w);
  const LevelWeightsUse use{.x_bits = 2, .x_packing = LevelPacking::planes};
  LevelWeightsUse to_planes = use;
  to_planes.out_packing = LevelPacking::planes;
  const LevelWeights there = prepare_level_weights(product.w, device, use);
  const LevelWeights there_to_planes = prepare_level_weights(product.w, device, to_planes);
  EXPECT_EQ(there.bytes(), level_weights_bytes(product.w, device, use));
  const QuantizedMatrix x = to_packing(product.x, LevelPacking::planes).to(device);
  const Buffer<float> bias = Buffer<float>::copy_of(product.bias, device);
  LevelGemmOptions options = product.options;
  options.bias = bias.span();
  DenseMatrix<std::int64_t> sums(n, f), sums_there(n, f, device);
  Floats values(n, f), values_there(n, f, device);
  LevelGemmArgs args = product.args(w);
  args.out.wide_sums = sums.view();
  level_gemm(Reference{}, args);
  level_gemm_into(sums_there, x, there);
  ASSERT_TRUE(std::ranges::equal(sums_there.to(Device{}).values(), sums.values()));
  args = product.args(w);
  args.out.values = values.view();
  level_gemm(Reference{}, args);
  level_gemm_into(values_there, x, there, options);
  test::expect_identical(values_there.to(Device{}).values(), values.values());
  for (const auto& [bits, packing] :
       {std::pair(2, LevelPacking::planes), {2, LevelPacking::places}, {8, LevelPacking::places}}) {
    const bool planes = packing == LevelPacking::planes;
    for (const auto extent : {ScaleExtent::tensor, ScaleExtent::column, ScaleExtent::row}) {
      if (planes && extent == ScaleExtent::row) continue;
      SCOPED_TRACE(testing::Message() << bits << " bits out" << (planes ? " in planes" : "") << ", extent "
                                      << static_cast<int>(extent));
      QuantizedMatrix expected(n, f, bits), out(n, f, bits, device, packing);
      LevelScale scale = test::random_scale(extent, num_scales(extent, n, f), true, 3);
      const float range = 9.0F * static_cast<float>(product.x.ncols());
      for (float& step : scale.steps.span()) step *= (1 + 0.1F * range) / static_cast<float>(1U << bits);
      expected.set_scale(std::move(scale));
      args = product.args(w);
      args.out.levels = expected.view();
      take_out_scale(args.epilogue, expected, "level gemm");
      level_gemm(Reference{}, args);
      out.levels().fill(0xFF);
      out.set_scale(expected.scale().to(device));
      level_gemm_into(out, x, planes ? there_to_planes : there, options);
      const QuantizedMatrix here = out.to(Device{});
      const QuantizedMatrix packed = to_packing(expected, packing);
      ASSERT_TRUE(std::ranges::equal(here.levels().span(), packed.levels().span()));
    }
  }
}

TEST(LevelGemmCuda, ProductsOfLevelsInPlanesAreThoseOfTheReference) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  BITGRAPH_REQUIRE_LEVELS_IN_PLANES(device);
  std::vector<Shape> all(shapes.begin(), shapes.end());
  all.push_back({17'000, 65, 64});  // blocks have several tiles
  all.push_back({17'000, 600, 40});
  all.push_back({70, 3'072, 300});  // the longest rows
  all.push_back({5, 3'072, 3});
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (all[n][1] == 0 || all[n][1] > 3072) continue;  // no kernel
    for (const int w_bits : {1, 2}) {
      SCOPED_TRACE(testing::Message() << all[n][0] << " x " << all[n][1] << " by " << all[n][2] << ", W of " << w_bits
                                      << " bits");
      expect_products_of_planes(Case(all[n], 2, w_bits, n % 2 == 0, n / 2 % 2 == 0), device);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

/// By the same instructions.
TEST(LevelGemmCuda, LevelsInPlanesAreTakenWhereLevelsAreMultipliedByWgmma) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const Case product({5, 64, 64}, 4, 4, false, false);
  const bool by_wgmma = level_gemm_explain(product.x.to(device), product.weights(device)).kernel == "level_gemm_wgmma";
  EXPECT_EQ(level_gemm_takes_planes(device, 2, 64), by_wgmma);
  EXPECT_EQ(level_gemm_takes_planes(device, 1, 3'072), by_wgmma);
  EXPECT_FALSE(level_gemm_takes_planes(device, 2, 3'073)) << "rows that do not fit";
  EXPECT_FALSE(level_gemm_takes_planes(device, 3, 64));
}

TEST(LevelGemmCuda, LevelsInPlanesNeedAWThatIsReadyForThem) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  BITGRAPH_REQUIRE_LEVELS_IN_PLANES(device);
  const Case product({5, 64, 64}, 2, 2, false, false);
  const QuantizedMatrix x = to_packing(product.x, LevelPacking::planes).to(device);
  QuantizedMatrix out(5, 64, 2, device, LevelPacking::planes);
  Floats values(5, 64, device);
  const auto refused = [&](const auto& call) { test::expect_usage_error(call, "levels in planes, expected places"); };
  const LevelWeights plain = prepare_level_weights(product.w, device, {.x_bits = 2});
  const LevelWeights packed =
      prepare_level_weights(product.w, device, {.x_bits = 2, .x_packing = LevelPacking::planes});
  refused([&] { level_gemm_into(values, x, plain); });
  out.set_scale(test::random_scale(ScaleExtent::tensor, 1, true, 3).to(device));
  refused([&] { level_gemm_into(out, x, packed); });
  refused([&] { level_gemm_into(out, product.x.to(device), plain); });
  refused([&] { level_gemm_into(values, x, packed, {.activation = Activation::tanh}); });
}

/// run(multiply) calls multiply(args), which is false where a kernel cannot, and gives the bytes of its output: those
/// of every kernel that can are the same.
template <class Run>
void expect_same_of_all_kernels(const Device& device, const Run& run) {
  std::vector<std::uint8_t> first;
  for (const auto kernel : {LevelGemmKernel::plain, LevelGemmKernel::halves, LevelGemmKernel::tiles,
                            LevelGemmKernel::wgmma, LevelGemmKernel::planes}) {
    bool can = false;
    const std::vector<std::uint8_t> bytes =
        run([&](const LevelGemmArgs& args) { can = level_gemm_by(device, kernel, args); });
    if (kernel == LevelGemmKernel::plain) {
      ASSERT_TRUE(can);
      first = bytes;
    } else if (can) {
      ASSERT_TRUE(bytes == first) << "kernel " << static_cast<int>(kernel);
    }
  }
}

/// Levels that are as large as they can be, in the longest rows whose halves have sums of 32 bits, and one column more.
/// Of two bits in the longest rows that planes take, and around a block of W's columns.
TEST(LevelGemmCuda, LargestSums) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const std::size_t columns : {512U, 513U, 3'072U, 3'073U, 16'384U, 16'385U}) {
    for (const auto& [p, q] : {std::pair(16, 16), {16, 8}, {4, 16}, {2, 2}}) {
      const auto all = [&](std::size_t nrows, int bits) {
        QuantizedMatrix levels(nrows, columns, bits);
        for (std::size_t i = 0; i < nrows; ++i) {
          for (std::size_t c = 0; c < columns; ++c) levels.set_level(i, c, (1U << bits) - 1);
        }
        return levels;
      };
      DenseMatrix<std::int64_t> sums(3, 5, device);
      level_gemm_into(sums, all(3, p).to(device), prepare_level_weights(all(5, q), device, {.x_bits = p}));
      const DenseMatrix<std::int64_t> here = sums.to(Device{});
      const auto expected = static_cast<std::int64_t>(columns) * ((1 << p) - 1) * ((1 << q) - 1);
      for (const std::int64_t sum : here.values()) ASSERT_EQ(sum, expected) << p << " and " << q << " bits";
    }
  }
}

/// Blocks have tiles in turns, and more chunks of X than stages.
TEST(LevelGemmCuda, ManyTilesOfLongRows) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  struct Long {
    std::size_t rows, columns, outputs;
    int bits;
  };
  for (const Long& s : {Long{70000, 602, 100, 8}, Long{70000, 602, 200, 8}, Long{40000, 1300, 200, 4},
                        Long{60000, 1433, 40, 8}, Long{50000, 512, 128, 8}, Long{70000, 602, 200, 2},
                        Long{40000, 1300, 100, 2}, Long{30000, 3000, 40, 2}, Long{30000, 3100, 40, 2}}) {
    SCOPED_TRACE(testing::Message() << s.rows << " x " << s.columns << " by " << s.outputs << ", " << s.bits);
    const QuantizedMatrix x = test::random_levels(s.rows, s.columns, s.bits, 1).to(device);
    const LevelWeights w =
        prepare_level_weights(test::random_levels(s.outputs, s.columns, s.bits, 2), device, {.x_bits = s.bits});
    const LevelGemmArgs args = level_gemm_args(x, w, s.rows, s.outputs, device);
    for (int repeat = 0; repeat < 3; ++repeat) {
      expect_same_of_all_kernels(device, [&](const auto& multiply) {
        DenseMatrix<std::int32_t> sums(s.rows, s.outputs, device);
        LevelGemmArgs with_output = args;
        with_output.out.sums = sums.view();
        multiply(with_output);
        const auto here = sums.to(Device{});
        const auto* const data = reinterpret_cast<const std::uint8_t*>(here.values().data());
        return std::vector<std::uint8_t>(data, data + here.bytes());
      });
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(LevelGemmCuda, EveryKernelThatCanGivesTheSame) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for_each_case([&](const Case& product) {
    const std::size_t n = product.x.nrows(), f = product.w.nrows();
    if (n == 0 || f == 0) return;
    const LevelWeights w = product.weights(device);
    const QuantizedMatrix x = product.x.to(device);
    const Buffer<float> bias = Buffer<float>::copy_of(product.bias, device);
    LevelGemmArgs args = level_gemm_args(x, w, n, f, device);
    args.epilogue.bias = bias.data();
    args.epilogue.activation = product.options.activation;
    args.epilogue.rounding = product.options.rounding;
    const auto bytes_of = [](const auto& values) {
      const auto here = values.to(Device{});
      const auto* const data = reinterpret_cast<const std::uint8_t*>(here.data());
      return std::vector<std::uint8_t>(data, data + here.bytes());
    };
    expect_same_of_all_kernels(device, [&](const auto& multiply) {
      Buffer<float> values(n * f, device);
      LevelGemmArgs with_output = args;
      with_output.out.values = {n, f, f, values.data()};
      multiply(with_output);
      return bytes_of(values);
    });
    const Buffer<NodeId> places = Buffer<NodeId>::copy_of(test::other_places(n), device);
    expect_same_of_all_kernels(device, [&](const auto& multiply) {
      Buffer<float> values(n * f, device);
      LevelGemmArgs with_output = args;
      with_output.out.values = {n, f, f, values.data()};
      with_output.out.value_rows = places.data();
      multiply(with_output);
      return bytes_of(values);
    });
    const std::pair<int, ScaleExtent> formats[] = {{3, ScaleExtent::column},  {8, ScaleExtent::column},
                                                   {12, ScaleExtent::column}, {3, ScaleExtent::row},
                                                   {8, ScaleExtent::row},     {12, ScaleExtent::row}};
    for (const auto& format : formats) {
      const int bits = format.first;
      const ScaleExtent extent = format.second;
      SCOPED_TRACE(testing::Message() << bits << " bits out, extent " << static_cast<int>(extent));
      expect_same_of_all_kernels(device, [&](const auto& multiply) {
        QuantizedMatrix levels(n, f, bits, device);
        LevelScale scale = test::random_scale(extent, num_scales(extent, n, f), true, 7);
        for (float& step : scale.steps.span()) step *= static_cast<float>(product.x.ncols() + 1);
        levels.set_scale(scale.to(device));
        LevelGemmArgs with_output = args;
        take_out_scale(with_output.epilogue, levels, "level gemm");
        with_output.out.levels = levels.view();
        multiply(with_output);
        return bytes_of(levels.levels());
      });
    }
  });
}

TEST(LevelGemmCuda, ExplainNamesTheKernelAndPredictsItsTime) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const LevelWeights w = prepare_level_weights(test::random_levels(3, 5, 8, 1), device);
  const std::string fast = level_gemm_explain(test::random_levels(2, 5, 8, 1).to(device), w).kernel;
  EXPECT_TRUE(fast == "level_gemm_wgmma" || fast == "level_gemm_tiles") << fast;
  const LevelWeights two_bits = prepare_level_weights(test::random_levels(3, 300, 2, 1), device, {.x_bits = 1});
  const std::string planes = level_gemm_explain(test::random_levels(2, 300, 1, 1).to(device), two_bits).kernel;
  EXPECT_EQ(planes, fast == "level_gemm_wgmma" ? "level_gemm_planes" : fast);
  EXPECT_GT(level_gemm_explain(test::random_levels(2, 5, 8, 1).to(device), w).seconds, 1e-6);
  EXPECT_EQ(level_gemm_explain(test::random_levels(2, 5, 9, 1).to(device), w).kernel, "level_gemm_halves");
  const LevelWeights long_rows = prepare_level_weights(test::random_levels(3, 30000, 8, 1), device);
  EXPECT_EQ(level_gemm_explain(test::random_levels(2, 30000, 8, 1).to(device), long_rows).kernel, "level_gemm_plain");
}

TEST(LevelGemmCuda, BytesOfWeightsAreKnownBeforehand) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const int bits : {2, 4, 8, 12}) {
    for (const int x_bits : {0, 2, 4, 8, 16}) {
      const QuantizedMatrix w = test::random_levels(70, 300, bits, 1);
      const LevelWeightsUse use{.x_bits = x_bits, .sparse = x_bits == 4};
      EXPECT_EQ(level_weights_bytes(w, device, use), prepare_level_weights(w, device, use).bytes()) << bits << x_bits;
    }
  }
}

TEST(LevelGemmCuda, WeightsOfTheHostAreRefused) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const LevelWeights w = prepare_level_weights(test::random_levels(3, 5, 8, 1));
  Floats out(2, 3, device);
  const QuantizedMatrix x = test::random_levels(2, 5, 8, 1).to(device);
  test::expect_usage_error([&] { level_gemm_into(out, x, w); }, "W");
}

}  // namespace
}  // namespace bitgraph
