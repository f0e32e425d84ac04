// SPDX-License-Identifier: Apache-2.0
// spmm of bfloat16: every case, instruction set and graph format beside the reference, the reference beside sums that
// are worked out here, and a CUDA device beside the host.
#include "ops/spmm/spmm_cases.hpp"

#include "core/devices/isa.hpp"
#include "support/cuda_device.hpp"

#include <bitgraph/formats/bfloat16.hpp>
#include <bitgraph/ops/spmm.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace bitgraph {
namespace {

using Bfloats = DenseMatrix<Bfloat16>;
using Floats = DenseMatrix<float>;

Bfloats random_bfloats(std::size_t nrows, std::size_t ncols, std::uint64_t seed) {
  const Floats wide = test::random_dense(nrows, ncols, seed);
  Bfloats x(nrows, ncols);
  for (std::size_t n = 0; n < nrows * ncols; ++n) x.values()[n] = wide.values()[n];
  return x;
}

Floats widened(const Bfloats& x) {
  Floats wide(x.nrows(), x.ncols());
  for (std::size_t n = 0; n < x.values().size(); ++n) wide.values()[n] = x.values()[n];
  return wide;
}

struct Scales {
  Scales(const CsrPattern& a, std::size_t width)
      : row(test::random_floats(a.nrows(), 11, 0.25F, 2)),
        col(test::random_floats(a.ncols(), 12, 0.25F, 2)),
        feature(test::random_floats(width, 13, -1, 1)),
        bias(test::random_floats(width, 14, -1, 1)) {}
  /// 0 none; 1 of rows, with a bias; 2 all.
  [[nodiscard]] SpmmOptions options(int kind) const {
    SpmmOptions options;
    if (kind >= 1) options.row_scale = row, options.bias = bias;
    if (kind >= 2) options.col_scale = col, options.feature_scale = feature;
    return options;
  }
  std::vector<float> row, col, feature, bias;
};

class SpmmOfBfloat16 : public ::testing::TestWithParam<std::size_t> {
 protected:
  static const test::SpmmCase& the_case() { return test::spmm_cases()[GetParam()]; }
};

/// A sum of bfloat16 is that of the same numbers in float32, to the last bit.
TEST_P(SpmmOfBfloat16, EqualsTheSumOfTheSameNumbersInFloat32) {
  const CsrPattern& a = the_case().a;
  const Bfloats x = random_bfloats(a.ncols(), the_case().width, 5);
  const Floats wide = widened(x);
  const Scales scales(a, the_case().width);
  for (int kind = 0; kind < 3; ++kind) {
    const auto expected = spmm<Floats>(a, wide, scales.options(kind));
    const auto same = [&](const Floats& sums, const Bfloats& rounded) {
      for (std::size_t n = 0; n < expected.values().size(); ++n) {
        ASSERT_EQ(sums.values()[n], expected.values()[n]) << "scales " << kind << ", element " << n;
        ASSERT_EQ(rounded.values()[n].bits, Bfloat16(expected.values()[n]).bits) << "scales " << kind;
      }
    };
    for (const Isa isa : available_isas()) {
      SCOPED_TRACE(to_string(isa));
      const ScopedIsa scope(isa);
      for (const int threads : {1, 3}) {
        const Bfloats there = x.to(Device::host(threads));
        same(spmm<Floats>(a, there, scales.options(kind)), spmm<Bfloats>(a, there, scales.options(kind)));
      }
      for (const int k : tile_dims) {
        const BitTileMatrix tiles = pack(a, {.tile_dim = k});
        same(spmm<Floats>(tiles, x, scales.options(kind)), spmm<Bfloats>(tiles, x, scales.options(kind)));
      }
    }
  }
}

/// Of n terms within n 2^-23 of their magnitudes, through the scales; a bfloat16 is rounded to 8 bits besides.
void expect_near(float actual, float expected, float magnitude, std::size_t terms, bool rounded) {
  const float bound = static_cast<float>(terms + 4) * 0x1p-23F * magnitude;
  const float rounding = rounded ? 0x1p-8F * (std::abs(expected) + bound) : 0;
  ASSERT_NEAR(actual, expected, bound + rounding);
}

TEST_P(SpmmOfBfloat16, IsWithinTheBoundOfTheHostOnCuda) {
  BITGRAPH_REQUIRE_CUDA();
  const CsrPattern& a = the_case().a;
  const Device& gpu = *test::cuda_device();
  const Bfloats x = random_bfloats(a.ncols(), the_case().width, 6);
  Bfloats magnitudes(x.nrows(), x.ncols());
  for (std::size_t n = 0; n < x.values().size(); ++n) magnitudes.values()[n] = std::abs(x.values()[n]);
  const auto expected = spmm<Floats>(a, x);
  const auto sizes = spmm<Floats>(a, magnitudes);
  const CsrPattern there = a.to(gpu);
  const RowOrder order(there);
  const auto near = [&](const Floats& sums, const Bfloats& rounded) {
    for (std::size_t n = 0; n < expected.values().size(); ++n) {
      const std::size_t row = n / expected.ncols();
      const std::size_t terms = a.row_ptr()[row + 1] - a.row_ptr()[row];
      expect_near(sums.values()[n], expected.values()[n], sizes.values()[n], terms, false);
      expect_near(rounded.values()[n], expected.values()[n], sizes.values()[n], terms, true);
    }
  };
  const Bfloats x_there = x.to(gpu);
  const Device host;
  near(spmm<Floats>(there, x_there).to(host), spmm<Bfloats>(there, x_there).to(host));
  const SpmmOptions ordered{.row_order = &order};
  near(spmm<Floats>(there, x_there, ordered).to(host), spmm<Bfloats>(there, x_there, ordered).to(host));
  for (const int k : tile_dims) {
    const BitTileMatrix tiles = pack(a, {.tile_dim = k}).to(gpu);
    near(spmm<Floats>(tiles, x_there).to(host), spmm<Bfloats>(tiles, x_there).to(host));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SpmmOfBfloat16, ::testing::Range(std::size_t{0}, test::spmm_cases().size()),
                         [](const auto& param) { return test::spmm_cases()[param.param].name; });

TEST(SpmmBfloat16, KeepsNaNAndInfinityThroughRounding) {
  const CsrPattern a = csr_from_edges(3, 3, std::vector<NodeId>{0, 1, 2}, std::vector<NodeId>{0, 1, 2});
  const float largest = 3.4028235e38F;  // beyond the largest bfloat16
  for (const std::size_t width : {1U, 7U, 8U, 16U, 40U}) {
    Floats x(3, width);
    for (std::size_t f = 0; f < width; ++f) x(0, f) = std::nanf(""), x(1, f) = -HUGE_VALF, x(2, f) = 1;
    Bfloats rows(3, width);
    for (std::size_t n = 0; n < 3 * width; ++n) rows.values()[n] = x.values()[n];
    const std::vector<float> row_scale{1, 1, largest};
    const auto y = spmm<Bfloats>(a, rows, {.row_scale = row_scale});
    for (std::size_t f = 0; f < width; ++f) {
      EXPECT_TRUE(std::isnan(static_cast<float>(y(0, f)))) << width;
      EXPECT_EQ(static_cast<float>(y(1, f)), -HUGE_VALF) << width;
      EXPECT_EQ(static_cast<float>(y(2, f)), HUGE_VALF) << width;
    }
  }
}

TEST(SpmmBfloat16, ExplainNamesTheKernelAndCountsItsBytes) {
  const CsrPattern a = test::random_pattern(10, 10, 0.5, 1);
  const Bfloats x = random_bfloats(10, 64, 1);
  Bfloats out(10, 64);
  const KernelChoice choice = spmm_explain(out, a, x);
  EXPECT_EQ(choice.kernel.substr(0, 8), "spmm_sum");
  const auto entries = static_cast<double>(a.nvals());
  EXPECT_EQ(choice.bytes, entries * (64 * 2 + sizeof(NodeId)) + 10.0 * (64 * 2 + sizeof(EdgeOffset)));
}

TEST(SpmmBfloat16, RefusesAStrategyOfVotes) {
  const CsrPattern a = test::random_pattern(10, 10, 0.5, 1);
  const Bfloats x = random_bfloats(10, 64, 1);
  EXPECT_THROW(static_cast<void>(spmm<Bfloats>(a, x, {.strategy = SpmmStrategy::carry_save})), Error);
}

}  // namespace
}  // namespace bitgraph
