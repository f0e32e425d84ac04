// SPDX-License-Identifier: Apache-2.0
// binarize, batch norm, loss and dropout.
#include "core/isa.hpp"
#include "ops/binarize/binarize.hpp"
#include "ops/dropout/dropout.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/ops/batch_norm.hpp>
#include <bitgraph/ops/binarize.hpp>
#include <bitgraph/ops/dropout.hpp>
#include <bitgraph/ops/log_softmax.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace bitgraph {
namespace {

using Floats = DenseMatrix<float>;

TEST(Binarize, IsTheSameToTheLastBitEverywhere) {
  for (const std::size_t ncols : {0U, 1U, 15U, 16U, 63U, 64U, 65U, 1433U}) {
    const Floats x = test::random_dense(37, ncols, ncols);
    const auto shift = test::random_floats(ncols, 1, -0.5F, 0.5F);
    const auto scale = test::random_floats(ncols, 2, 0.5F, 2);
    Binarized expected{BitMatrix<>(37, ncols), Buffer<float>(37)};
    binarize(Reference{},
             BinarizeArgs{x.view(), shift.data(), scale.data(), expected.bits.view(), expected.alpha.data()});
    for (const Isa isa : available_isas()) {
      const ScopedIsa scope(isa);
      const Binarized actual = binarize(x, {shift, scale}, Device::host(3));
      EXPECT_TRUE(actual.bits == expected.bits) << ncols << " " << to_string(isa);
      for (std::size_t i = 0; i < 37; ++i) EXPECT_EQ(actual.alpha[i], expected.alpha[i]) << to_string(isa);
    }
  }
}

TEST(Binarize, ZeroIsPlusOneAndAlphaIsTheMeanMagnitude) {
  const Binarized y = binarize(Floats(1, 4, Buffer<float>{0, -3, 2, -1}));
  EXPECT_TRUE(y.bits.bit(0, 0));
  EXPECT_FALSE(y.bits.bit(0, 1));
  EXPECT_FLOAT_EQ(y.alpha[0], 1.5F);
}

TEST(Binarize, SparseAgreesWithDense) {
  const CsrPattern pattern = test::random_pattern(60, 200, 0.03, 5);
  const auto values = test::random_floats(pattern.nvals(), 6, -2, 2);
  Floats dense(60, 200);
  for (NodeId i = 0; i < 60; ++i) {
    for (EdgeOffset e = pattern.row_ptr()[i]; e < pattern.row_ptr()[i + 1]; ++e)
      dense(i, pattern.col_ind()[e]) = values[e];
  }
  auto shift = test::random_floats(200, 7, -0.1F, 0.1F);
  shift[3] = 0;
  const auto scale = test::random_floats(200, 8, 0.5F, 2);
  const SparseBinarized sparse = binarize(pattern, values, {shift, scale}, Device::host(2));
  const Binarized expected = binarize(dense, {shift, scale});
  EXPECT_TRUE(to_bit_matrix(sparse.bits) == expected.bits);
  for (std::size_t i = 0; i < 60; ++i) EXPECT_NEAR(sparse.alpha[i], expected.alpha[i], 1e-6F);
  EXPECT_LE(sparse.bits.flips.nvals(), pattern.nvals());
}

TEST(BatchNorm, NormalizesAndSparseStatisticsAgree) {
  const Floats x = test::random_dense(300, 33, 3);
  const auto statistics = column_statistics(x, Device::host(2));
  Floats y(300, 33);
  batch_norm_into(y, x, statistics.mean.span(), inverse_deviation(statistics.variance.span()).span());
  const auto after = column_statistics(y);
  for (std::size_t j = 0; j < 33; ++j) {
    EXPECT_NEAR(after.mean[j], 0, 1e-5);
    EXPECT_NEAR(after.variance[j], 1, 1e-3);
  }
  const CsrPattern pattern = test::random_pattern(100, 20, 0.1, 5);
  const auto values = test::random_floats(pattern.nvals(), 6, -2, 2);
  Floats dense(100, 20);
  for (NodeId i = 0; i < 100; ++i) {
    for (EdgeOffset e = pattern.row_ptr()[i]; e < pattern.row_ptr()[i + 1]; ++e)
      dense(i, pattern.col_ind()[e]) = values[e];
  }
  const auto a = column_statistics(pattern, values);
  const auto b = column_statistics(dense);
  for (std::size_t j = 0; j < 20; ++j) {
    EXPECT_NEAR(a.mean[j], b.mean[j], 1e-6);
    EXPECT_NEAR(a.variance[j], b.variance[j], 1e-6);
  }
}

/// sum of weight * batch_norm(x)
double objective(const Floats& x, const Floats& weight) {
  const auto s = column_statistics(x);
  Floats y(x.nrows(), x.ncols());
  batch_norm_into(y, x, s.mean.span(), inverse_deviation(s.variance.span()).span());
  double sum = 0;
  for (std::size_t n = 0; n < y.values().size(); ++n) sum += static_cast<double>(y.values()[n]) * weight.values()[n];
  return sum;
}

TEST(BatchNorm, BackwardMatchesFiniteDifferences) {
  Floats x = test::random_dense(7, 3, 3);
  const Floats g = test::random_dense(7, 3, 4);
  const auto s = column_statistics(x);
  const auto inverse = inverse_deviation(s.variance.span());
  Floats y(7, 3);
  batch_norm_into(y, x, s.mean.span(), inverse.span());
  Floats gradient(7, 3);
  batch_norm_backward_into(gradient, y, g, inverse.span());
  for (std::size_t n = 0; n < 21; ++n) {
    const float kept = x.values()[n];
    x.values()[n] = kept + 1e-2F;
    const double up = objective(x, g);
    x.values()[n] = kept - 1e-2F;
    const double down = objective(x, g);
    x.values()[n] = kept;
    EXPECT_NEAR(gradient.values()[n], (up - down) / 2e-2, 2e-2) << n;
  }
}

TEST(LogSoftmax, LossGradientMatchesFiniteDifferences) {
  Floats logits = test::random_dense(5, 4, 1);
  const std::vector<std::int32_t> labels{1, 3, -1, 0, 2};
  const std::vector<NodeId> nodes{0, 1, 2, 4};
  Floats gradient(5, 4);
  const Score first = cross_entropy_backward_into(gradient, logits, labels, nodes);
  EXPECT_EQ(first.total, 3U) << "a node without a label does not count";
  for (std::size_t n = 0; n < 20; ++n) {
    const float kept = logits.values()[n];
    logits.values()[n] = kept + 1e-2F;
    const double up = score(logits, labels, nodes).loss;
    logits.values()[n] = kept - 1e-2F;
    const double down = score(logits, labels, nodes).loss;
    logits.values()[n] = kept;
    EXPECT_NEAR(gradient.values()[n], (up - down) / 2e-2, 1e-4) << n;
  }
}

TEST(LogSoftmax, ExtremeLogitsStayFinite) {
  Floats x(2, 3, Buffer<float>{1e30F, -1e30F, 0, 7, 7, 7});
  log_softmax_into(x, x);
  EXPECT_FLOAT_EQ(x(0, 0), 0);
  EXPECT_NEAR(x(1, 0), -std::log(3.0), 1e-6);
  EXPECT_THROW((void)score(x, std::vector<std::int32_t>{0, 5}, std::vector<NodeId>{1}), Error);
  EXPECT_THROW((void)score(x, std::vector<std::int32_t>{0, 0}, std::vector<NodeId>{2}), Error);
}

TEST(Dropout, IsTheSameEverywhereAndHasItsRate) {
  for (const std::size_t ncols : {1U, 63U, 64U, 65U, 1433U}) {
    BitMatrix<ZeroOne> expected(50, ncols);
    dropout_mask(Reference{}, DropoutArgs{expected.view(), 39322, {9, 1, 2}});
    for (const Isa isa : available_isas()) {
      const ScopedIsa scope(isa);
      BitMatrix<ZeroOne> keep(50, ncols);
      dropout_mask_into(keep, 0.4F, {9, 1, 2}, Device::host(3));
      EXPECT_TRUE(keep == expected) << ncols << " " << to_string(isa);
    }
  }
  BitMatrix<ZeroOne> keep(1000, 640);
  BitMatrix<ZeroOne> other(1000, 640);
  dropout_mask_into(keep, 0.4F, {1, 2, 3});
  dropout_mask_into(other, 0.4F, {1, 2, 4});
  std::size_t kept = 0;
  for (const std::uint64_t word : keep.words()) kept += static_cast<std::size_t>(std::popcount(word));
  EXPECT_NEAR(static_cast<double>(kept) / 640000, 0.6, 0.004);
  EXPECT_FALSE(keep == other);
  dropout_mask_into(keep, 0, {1, 2, 3});
  for (const std::uint64_t word : keep.words()) EXPECT_EQ(word, ~std::uint64_t{0});
  EXPECT_THROW(dropout_mask_into(keep, 1, {}), Error);
}

}  // namespace
}  // namespace bitgraph
