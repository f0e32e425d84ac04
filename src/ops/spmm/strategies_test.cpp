// SPDX-License-Identifier: Apache-2.0
// The ways to multiply 0/1 by -1/+1 give one result: every case, tile side, instruction set, number of threads, output
// type and set of scales; and on a CUDA device.
#include "ops/spmm/spmm_cases.hpp"
#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"

#include <bitgraph/ops/spmm.hpp>

#include <gtest/gtest.h>

#include <array>

namespace bitgraph {
namespace {

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;

constexpr std::array all_strategies{SpmmStrategy::automatic, SpmmStrategy::carry_save, SpmmStrategy::each_bit,
                                    SpmmStrategy::difference, SpmmStrategy::twice_ones};

/// What stands around a vote, on a device; or nothing.
struct Scales {
  Scales(bool wanted, NodeId nrows, std::size_t width, const Device& device) {
    if (!wanted) return;
    const auto random = [&](std::size_t size, std::uint64_t seed, float low, float high) {
      return Buffer<float>::copy_of(test::random_floats(size, seed, low, high), device);
    };
    row = random(nrows, 11, 0.25F, 2);
    feature = random(width, 12, -1, 1);
    offset = random(width, 13, -3, 3);
    bias = random(width, 14, -1, 1);
  }
  [[nodiscard]] SpmmOptions options(SpmmStrategy strategy) const {
    return {.row_scale = row.span(),
            .feature_scale = feature.span(),
            .feature_offset = offset.span(),
            .bias = bias.span(),
            .strategy = strategy};
  }
  Buffer<float> row, feature, offset, bias;
};

void expect_same(const Bits& actual, const Bits& expected) {
  EXPECT_TRUE(actual == expected);
  EXPECT_TRUE(test::padding_is_zero(actual));
}
void expect_same(const Floats& actual, const Floats& expected) {
  test::expect_identical(actual.values(), expected.values());
}

Bits dirty(const Bits&, std::size_t nrows, std::size_t ncols) { return test::random_bits(nrows, ncols, 99); }
Floats dirty(const Floats&, std::size_t nrows, std::size_t ncols) { return test::random_dense(nrows, ncols, 99); }

/// Every strategy over the tiles of `a` on a device, where the vote over pattern CSR on the host is right.
template <class Out>
void check(const CsrPattern& a, const Bits& x, const Device& device) {
  const Bits x_there = x.to(device);
  for (const bool scaled : {false, true}) {
    const Scales scales(scaled, a.nrows(), x.ncols(), Device{});
    const Scales scales_there(scaled, a.nrows(), x.ncols(), device);
    const Out expected = spmm<Out>(a, x, scales.options(SpmmStrategy::automatic));
    for (const int k : tile_dims) {
      const BitTileMatrix tiles = pack(a, {.tile_dim = k}).to(device);
      for (const SpmmStrategy strategy : all_strategies) {
        SCOPED_TRACE(testing::Message() << "tiles of " << k << ", strategy " << static_cast<int>(strategy)
                                        << (scaled ? ", scaled" : ""));
        Out out = dirty(Out(), a.nrows(), x.ncols()).to(device);
        spmm_into(out, tiles, x_there, scales_there.options(strategy));
        expect_same(out.to(Device{}), expected);
      }
    }
  }
}

class SpmmStrategiesTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  static const test::SpmmCase& the_case() { return test::spmm_cases()[GetParam()]; }
  static Bits operand() { return test::random_bits(the_case().a->ncols(), the_case().width, 1); }
};

TEST_P(SpmmStrategiesTest, GiveTheSame) {
  const Bits x = operand();
  for (const Isa isa : available_isas()) {
    const ScopedIsa scope(isa);
    SCOPED_TRACE(std::string(to_string(isa)));
    check<Bits>(the_case().a, x, Device::host(1));
    check<Floats>(the_case().a, x, Device::host(3));
  }
}

TEST_P(SpmmStrategiesTest, GiveTheSameOnCuda) {
  BITGRAPH_REQUIRE_CUDA();
  check<Bits>(the_case().a, operand(), *test::cuda_device());
  check<Floats>(the_case().a, operand(), *test::cuda_device());
}

INSTANTIATE_TEST_SUITE_P(Cases, SpmmStrategiesTest, ::testing::Range(std::size_t{0}, test::spmm_cases().size()),
                         [](const auto& param) { return test::spmm_cases()[param.param].name; });

/// Hubs of hundreds of thousands of entries beside short rows: long tile rows are cut, and their parts added up.
CsrPattern hubs(NodeId n, NodeId num_hubs) {
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  for (NodeId h = 0; h < num_hubs; ++h) {
    for (NodeId j = 0; j < n; j += 1 + h % 3) rows.push_back(h * (n / num_hubs)), cols.push_back(j);
  }
  for (NodeId i = 0; i < n; ++i) {
    if (i % 5 < 3) rows.push_back(i), cols.push_back((i * 7 + 1) % n);
  }
  return csr_from_edges(n, n, rows, cols);
}

TEST(SpmmStrategies, LongTileRowsAreCut) {
  const CsrPattern a = hubs(20000, 4);
  const Bits x = test::random_bits(a.ncols(), 100, 2);
  check<Bits>(a, x, Device::host(2));
}

TEST(SpmmStrategiesCuda, LongTileRowsAreCut) {
  BITGRAPH_REQUIRE_CUDA();
  const CsrPattern a = hubs(100000, 7);
  check<Bits>(a, test::random_bits(a.ncols(), 64, 2), *test::cuda_device());
  check<Bits>(a, test::random_bits(a.ncols(), 300, 2), *test::cuda_device());
  const CsrPattern smaller = hubs(30000, 5);
  check<Floats>(smaller, test::random_bits(smaller.ncols(), 70, 2), *test::cuda_device());
  const CsrPattern skewed = test::rmat_pattern(14, 600000, 3);
  check<Bits>(skewed, test::random_bits(skewed.ncols(), 128, 2), *test::cuda_device());
  const CsrPattern large = test::rmat_pattern(16, 450000, 3);  // rows of a tenth of a warp's share are long
  check<Bits>(large, test::random_bits(large.ncols(), 64, 2), *test::cuda_device());
}

TEST(SpmmStrategiesCuda, ARepeatedCallAllocatesNothing) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const BitTileMatrix a = pack(test::rmat_pattern(10, 20000, 1), {.tile_dim = 4}).to(device);
  const Bits x = test::random_bits(a.ncols(), 128, 1).to(device);
  Bits out(a.nrows(), 128, device);
  spmm_into(out, a, x, {.strategy = SpmmStrategy::twice_ones});
  const std::size_t before = device.memory().allocations;
  for (int n = 0; n < 3; ++n) spmm_into(out, a, x, {.strategy = SpmmStrategy::twice_ones});
  EXPECT_EQ(device.memory().allocations, before);
}

TEST(SpmmStrategies, WhatHasNoChoiceSaysSo) {
  const CsrPattern a = test::random_pattern(5, 5, 0.5, 1);
  const BitTileMatrix tiles = pack(a, {.tile_dim = 4});
  const Bits x = test::random_bits(5, 64, 1);
  Bits out(5, 64);
  spmm_into(out, a, x, {.strategy = SpmmStrategy::carry_save});
  test::expect_usage_error([&] { spmm_into(out, a, x, {.strategy = SpmmStrategy::difference}); }, "for BitTileMatrix");
  test::expect_usage_error([&] { spmm_into(out, to_sell(a), x, {.strategy = SpmmStrategy::each_bit}); },
                           "for BitTileMatrix");
  test::expect_usage_error(
      [&] { spmm_into(out, tiles, test::random_dense(5, 64, 1), {.strategy = SpmmStrategy::twice_ones}); },
      "X of bits");
  const std::vector<float> scale(5, 1.0F);
  test::expect_usage_error(
      [&] { spmm_into(out, tiles, x, {.col_scale = scale, .strategy = SpmmStrategy::twice_ones}); },
      "without col_scale");
}

}  // namespace
}  // namespace bitgraph
