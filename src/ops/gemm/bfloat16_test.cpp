// SPDX-License-Identifier: Apache-2.0
// gemm of bfloat16: every backend beside sums in double of the same numbers.
#include "support/cuda_device.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/formats/bfloat16.hpp>
#include <bitgraph/ops/gemm.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

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

struct Shape {
  std::size_t rows, depth, outputs;
};

/// Blocks of rows on the host, of a few and of many columns; sizes that no tile divides; nothing at all.
const std::vector<Shape> shapes{{1, 1, 1},       {17, 33, 9}, {64, 64, 64}, {1000, 300, 7},
                                {130, 5000, 12}, {0, 5, 3},   {5, 0, 3}};

class GemmOfBfloat16 : public ::testing::TestWithParam<std::size_t> {
 protected:
  GemmOfBfloat16()
      : shape(shapes[GetParam()]),
        x(random_bfloats(shape.rows, shape.depth, 1)),
        w(random_bfloats(shape.outputs, shape.depth, 2)),
        row_scale(test::random_floats(shape.rows, 3, 0.5F, 2)),
        col_scale(test::random_floats(shape.outputs, 4, 0.5F, 2)),
        bias(test::random_floats(shape.outputs, 5, -1, 1)) {}

  /// Sums and scales within d 2^-23 of their magnitudes; a bfloat16 is rounded to 8 bits besides.
  void expect_near(const Floats& sums, const Bfloats& rounded, bool scaled) const {
    for (std::size_t i = 0; i < shape.rows; ++i) {
      for (std::size_t f = 0; f < shape.outputs; ++f) {
        double sum = 0;
        double magnitude = 0;
        for (std::size_t j = 0; j < shape.depth; ++j) {
          const double term = double{static_cast<float>(x(i, j))} * static_cast<float>(w(f, j));
          sum += term;
          magnitude += std::abs(term);
        }
        if (scaled) {
          sum = sum * col_scale[f] * row_scale[i] + bias[f];
          magnitude = magnitude * col_scale[f] * row_scale[i] + std::abs(bias[f]);
        }
        const double bound = static_cast<double>(shape.depth + 4) * 0x1p-23 * magnitude;
        ASSERT_NEAR(sums(i, f), sum, bound) << i << " " << f;
        ASSERT_NEAR(static_cast<float>(rounded(i, f)), sum, bound + 0x1p-8 * (std::abs(sum) + bound)) << i << " " << f;
      }
    }
  }

  void check(const Device& device) {
    const Bfloats x_there = x.to(device);
    const Bfloats w_there = w.to(device);
    const Device host;
    expect_near(gemm<Floats>(x_there, w_there).to(host), gemm<Bfloats>(x_there, w_there).to(host), false);
    const auto copy = [&](const std::vector<float>& values) { return Buffer<float>::copy_of(values, device); };
    const Buffer<float> rows = copy(row_scale);
    const Buffer<float> cols = copy(col_scale);
    const Buffer<float> shift = copy(bias);
    const GemmOptions options{.row_scale = rows.span(), .col_scale = cols.span(), .bias = shift.span()};
    expect_near(gemm<Floats>(x_there, w_there, options).to(host), gemm<Bfloats>(x_there, w_there, options).to(host),
                true);
  }

  Shape shape;
  Bfloats x, w;
  std::vector<float> row_scale, col_scale, bias;
};

TEST_P(GemmOfBfloat16, IsTheSumInFloat32OnTheHost) {
  for (const int threads : {1, 3}) check(Device::host(threads));
}

TEST_P(GemmOfBfloat16, IsTheSumInFloat32InTheReference) {
  setenv("BITGRAPH_BACKEND", "reference", 1);
  check(Device());
  unsetenv("BITGRAPH_BACKEND");
}

TEST_P(GemmOfBfloat16, IsTheSumInFloat32OnCuda) {
  BITGRAPH_REQUIRE_CUDA();
  check(*test::cuda_device());
}

INSTANTIATE_TEST_SUITE_P(Shapes, GemmOfBfloat16, ::testing::Range(std::size_t{0}, shapes.size()));

TEST(GemmBfloat16, RefusesAMaskAndShapesThatDiffer) {
  const Bfloats x = random_bfloats(4, 5, 1);
  const BitMatrix<ZeroOne> keep(4, 5);
  EXPECT_THROW(static_cast<void>(gemm<Bfloats>(x, x, {.keep = &keep})), Error);
  EXPECT_THROW(static_cast<void>(gemm<Bfloats>(x, random_bfloats(4, 6, 2))), Error);
}

TEST(GemmBfloat16, ExplainNamesTheLibraryAndCountsBytes) {
  const Bfloats x = random_bfloats(4, 5, 1);
  Floats out(4, 4);
  const KernelChoice choice = gemm_explain(out, x, x);
  EXPECT_NE(choice.kernel.find("OpenBLAS"), std::string::npos) << choice.kernel;
  EXPECT_EQ(choice.bytes, 2 * 4 * 5 * 2 + 4 * 4 * 4);
}

}  // namespace
}  // namespace bitgraph
