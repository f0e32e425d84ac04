// SPDX-License-Identifier: Apache-2.0
// Small operators on dense matrices against obvious loops, and the same bits on a CUDA device.
#include "ops/dense/dense.hpp"

#include "ops/row_sums.hpp"
#include "support/every_device.hpp"
#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"
#include "support/shapes.hpp"

#include <bitgraph/ops/dense.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace bitgraph {
namespace {

using Floats = DenseMatrix<float>;
using Bits = BitMatrix<PlusMinusOne>;

TEST(Dense, AccumulateAddsColumnsOfWiderMatrices) {
  test::on_all_devices([](const Device& device, const test::Shape& shape) {
    if (shape.nrows == 0) return;  // columns of nothing have no place
    const Floats x = test::random_dense(shape.nrows, shape.ncols, 1);
    const Floats start = test::random_dense(shape.nrows, 2 * shape.ncols + 1, 2);
    Floats expected = start.clone();
    for (std::size_t i = 0; i < shape.nrows; ++i) {
      for (std::size_t f = 0; f < shape.ncols; ++f) {
        expected(i, f + 1) = 2.0F * x(i, f) + 0.5F * start(i, f + 1);
        expected(i, shape.ncols + 1 + f) = -1.0F * x(i, f);
      }
    }
    Floats out = start.to(device);
    const Floats there = x.to(device);
    const DenseSlice<float> whole(out);
    accumulate(whole.cols(1, shape.ncols), there, 2.0F, 0.5F);
    accumulate(whole.cols(1 + shape.ncols, shape.ncols), there, -1.0F, 0.0F);
    test::expect_identical(out.to(Device{}).values(), expected.values());
  });
}

TEST(Dense, WithBetaZeroWhatIsThereDoesNotCount) {
  const Floats zeros(2, 3);
  Floats out(2, 3);
  out(1, 2) = std::numeric_limits<float>::quiet_NaN();
  accumulate(out, zeros, 1, 1);
  EXPECT_TRUE(std::isnan(out(1, 2)));
  accumulate(out, zeros, 1, 0);
  EXPECT_EQ(out(1, 2), 0);
}

TEST(Dense, MaximumIsOrOfSigns) {
  test::on_all_devices([](const Device& device, const test::Shape& shape) {
    const Floats x = test::random_dense(shape.nrows, shape.ncols, 1);
    const Floats y = test::random_dense(shape.nrows, shape.ncols, 2);
    Floats out = y.to(device);
    maximum_into(out, x.to(device));
    const Floats here = out.to(Device{});
    for (std::size_t n = 0; n < x.values().size(); ++n) {
      ASSERT_EQ(here.values()[n] >= 0, x.values()[n] >= 0 || y.values()[n] >= 0);
      ASSERT_EQ(here.values()[n], std::max(x.values()[n], y.values()[n]));
    }
  });
}

TEST(Dense, RowsAreScaledAndGathered) {
  test::on_all_devices([](const Device& device, const test::Shape& shape) {
    const Floats x = test::random_dense(shape.nrows, shape.ncols, 1);
    const Bits bits = test::random_bits(shape.nrows, shape.ncols, 2);
    const auto scale = Buffer<float>::copy_of(test::random_floats(shape.nrows, 3, -2, 2));
    std::vector<NodeId> rows;
    for (std::size_t n = 0; n < 2 * shape.nrows; ++n) rows.push_back(static_cast<NodeId>(n * 7 % shape.nrows));
    Floats scaled = x.to(device);
    const Buffer<float> scale_there = scale.to(device);
    scale_rows(scaled, scale_there.span());
    Floats gathered(rows.size(), shape.ncols, device);
    const Buffer<NodeId> rows_there = Buffer<NodeId>::copy_of(rows, device);
    gather_rows_into(gathered, scaled, rows);
    Floats again(rows.size(), shape.ncols, device);
    gather_rows_into(again, scaled, rows_there);
    test::expect_identical(again.to(Device{}).values(), gathered.to(Device{}).values());
    Bits gathered_bits(rows.size(), shape.ncols, device);
    gather_rows_into(gathered_bits, bits.to(device), rows_there);
    const Floats here = gathered.to(Device{});
    const Bits bits_here = gathered_bits.to(Device{});
    EXPECT_TRUE(test::padding_is_zero(bits_here));
    for (std::size_t n = 0; n < rows.size(); ++n) {
      for (std::size_t f = 0; f < shape.ncols; ++f) {
        ASSERT_EQ(here(n, f), x(rows[n], f) * scale[rows[n]]);
        ASSERT_EQ(bits_here.bit(n, f), bits.bit(rows[n], f));
      }
    }
  });
}

TEST(Dense, ColumnSumsDoNotDependOnTheDevice) {
  test::on_all_devices([](const Device& device, const test::Shape& shape) {
    const Floats x = test::random_dense(shape.nrows, shape.ncols, 1);
    Buffer<float> one(shape.ncols);
    column_sums_into(one.span(), x.to(Device::host(1)));
    Buffer<float> out(shape.ncols, device);
    column_sums_into(out.span(), x.to(device));
    const Buffer<float> here = out.to(Device{});
    test::expect_identical(here.span(), one.span());
    for (std::size_t f = 0; f < shape.ncols; ++f) {
      double sum = 0;
      for (std::size_t i = 0; i < shape.nrows; ++i) sum += x(i, f);
      ASSERT_NEAR(here[f], sum, 1e-6 * (1 + std::fabs(sum)));
    }
  });
}

TEST(Dense, BitsExpandToScaledSigns) {
  test::on_all_devices([](const Device& device, const test::Shape& shape) {
    const Bits bits = test::random_bits(shape.nrows, shape.ncols, 2);
    const auto keep = test::random_bits<ZeroOne>(shape.nrows, shape.ncols, 3);
    const auto scale = Buffer<float>::copy_of(test::random_floats(shape.nrows, 3, 0.5F, 2));
    Floats whole(shape.nrows, shape.ncols, device);
    Floats part(shape.nrows, shape.ncols, device);
    const Bits bits_there = bits.to(device);
    const auto keep_there = keep.to(device);
    const Buffer<float> scale_there = scale.to(device);
    expand_into(whole, bits_there, {}, nullptr);
    expand_into(part, bits_there, scale_there.span(), &keep_there);
    const Floats all = whole.to(Device{});
    const Floats some = part.to(Device{});
    for (std::size_t i = 0; i < shape.nrows; ++i) {
      for (std::size_t f = 0; f < shape.ncols; ++f) {
        ASSERT_EQ(all(i, f), bits.value(i, f));
        ASSERT_EQ(some(i, f), keep.bit(i, f) ? scale[i] * bits.value(i, f) : 0.0F);
      }
    }
  });
}

TEST(Dense, ShapesThatDoNotFitAreNamed) {
  Floats a(3, 4);
  const Floats b(3, 5);
  const Bits bits(3, 4);
  const BitMatrix<ZeroOne> keep(2, 4);
  Buffer<float> two(2);
  test::expect_usage_error([&] { accumulate(a, b); }, "3 x 4 and 3 x 5");
  test::expect_usage_error([&] { maximum_into(a, b); }, "3 x 4 and 3 x 5");
  test::expect_usage_error([&] { scale_rows(a, two.span()); }, "2 scales for 3 rows");
  test::expect_usage_error([&] { column_sums_into(two.span(), a); }, "2 places for 4 columns");
  test::expect_usage_error([&] { gather_rows_into(a, a, std::vector<NodeId>{0, 3, 1}); }, "row 3 of a matrix of 3");
  test::expect_usage_error([&] { expand_into(a, bits, two.span()); }, "2 scales for 3 rows");
  test::expect_usage_error([&] { expand_into(a, bits, {}, &keep); }, "2 x 4 and 3 x 4");
}

TEST(Dense, TransposesAndSignedSumsAreTheReferenceLoops) {
  for (const test::Shape& shape : test::odd_shapes()) {
    const Floats x = test::random_dense(shape.nrows, shape.ncols, 1);
    const Bits bits = test::random_bits<PlusMinusOne>(shape.nrows, shape.ncols, 2);
    const auto scale = test::random_floats(shape.nrows, 3, -1, 1);
    const auto values = test::random_floats(shape.ncols, 4, -1, 1);
    Floats turned(shape.ncols, shape.nrows);
    Floats expanded(shape.ncols, shape.nrows);
    std::vector<double> sums(shape.nrows);
    transpose(Reference{}, TransposeArgs{turned.view(), x.view()});
    expand_transposed(Reference{}, ExpandTransposedArgs{expanded.view(), bits.view(), scale.data()});
    signed_sums(Reference{}, SignedSumsArgs{sums.data(), bits.view(), values.data()});
    test::everywhere([&](const Device& device) {
      SCOPED_TRACE(testing::Message() << shape);
      Floats out = test::random_dense(shape.ncols, shape.nrows, 5).to(device);
      transpose_into(out, x.share(device));
      test::expect_identical(out.values(), turned.values());
      expand_transposed_into(out, bits.to(device), scale);
      test::expect_identical(out.values(), expanded.values());
      std::vector<double> of_rows(shape.nrows, 1);
      signed_sums_into(of_rows, bits.to(device), values);
      EXPECT_EQ(of_rows, sums);
    });
  }
}

TEST(Dense, TransposesOnCudaAreTheReferences) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const test::Shape& shape : test::odd_shapes()) {
    const Floats x = test::random_dense(shape.nrows, shape.ncols, 1);
    Floats turned(shape.ncols, shape.nrows);
    transpose(Reference{}, TransposeArgs{turned.view(), x.view()});
    Floats out(shape.ncols, shape.nrows, device);
    transpose_into(out, x.to(device));
    test::expect_identical(out.to(Device()).values(), turned.values());
  }
}

TEST(Dense, ColumnSumsAreTheSameEverywhere) {
  for (const test::Shape& shape : test::odd_shapes()) {
    const Floats x = test::random_dense(shape.nrows, shape.ncols, 1);
    std::vector<double> wanted(shape.ncols, 0.5);
    add_rows(Reference{}, wanted.data(), x.view(), 0, shape.nrows);
    test::everywhere([&](const Device& device) {
      std::vector<double> sums(shape.ncols, 0.5);
      add_rows(Cpu{device}, sums.data(), x.view(), 0, shape.nrows);
      EXPECT_EQ(sums, wanted) << shape;
    });
  }
}

/// The same parts whoever adds them up, joined in their order: numbers that lose each other's last bits say so.
TEST(RowSums, AreOfFixedPartsInTheirOrderForAnyNumberOfThreads) {
  for (const std::size_t nrows : {0U, 1U, 127U, 128U, 129U, 1000U, 65536U, 70001U}) {
    SCOPED_TRACE(nrows);
    const auto values = test::random_floats(nrows, 1, -1, 1);
    const auto add = [&](double* sums, std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i) sums[0] += std::exp(static_cast<double>(20 * values[i])), ++sums[1];
    };
    const RowParts parts(nrows);
    EXPECT_LE(parts.count, RowParts::most_parts);
    std::vector<double> wanted(2, 0);
    for (std::size_t part = 0; part < parts.count; ++part) {
      std::vector<double> some(2, 0);
      add(some.data(), part * parts.rows, std::min(nrows, (part + 1) * parts.rows));
      for (std::size_t n = 0; n < 2; ++n) wanted[n] += some[n];
    }
    EXPECT_EQ(wanted[1], static_cast<double>(nrows));
    test::with_thread_counts([&](const Device& device) { EXPECT_EQ(sum_over_rows(device, nrows, 2, add), wanted); });
  }
}

}  // namespace
}  // namespace bitgraph
