// SPDX-License-Identifier: Apache-2.0
#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/formats/weight_factors.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace bitgraph {
namespace {

/// The pattern with the weight fn(i, j) at each entry.
template <class Fn>
CsrMatrix<float> weighted(const CsrPattern& pattern, const Fn& fn) {
  Buffer<float> values(pattern.nvals());
  for (NodeId i = 0; i < pattern.nrows(); ++i) {
    for (EdgeOffset e = pattern.row_ptr()[i]; e < pattern.row_ptr()[i + 1]; ++e) {
      values[e] = fn(i, pattern.col_ind()[e]);
    }
  }
  return {pattern.clone(), std::move(values)};
}

float product(const WeightFactors& factors, NodeId i, NodeId j) {
  return (factors.row.empty() ? 1.0F : factors.row[i]) * (factors.col.empty() ? 1.0F : factors.col[j]);
}

template <class Fn>
void expect_weights(const WeightFactors& factors, const CsrPattern& pattern, const Fn& weight, float tolerance) {
  for (NodeId i = 0; i < pattern.nrows(); ++i) {
    for (const NodeId j : pattern.row(i)) {
      ASSERT_NEAR(product(factors, i, j), weight(i, j), tolerance * std::fabs(weight(i, j))) << i << ", " << j;
    }
  }
}

float degree(const CsrPattern& a, NodeId i) { return static_cast<float>(a.row(i).size()); }

TEST(WeightFactors, SymmetricNormalizationHasLikeFactors) {
  const CsrPattern a = test::rmat_pattern(9, 3000, 1);
  const auto weight = [&](NodeId i, NodeId j) { return 1 / std::sqrt(degree(a, i)) * (1 / std::sqrt(degree(a, j))); };
  const CsrMatrix<float> matrix = weighted(a, weight);
  const WeightFactors factors = factor_weights(matrix);
  EXPECT_LE(factors.largest_error, 1e-6);
  expect_weights(factors, a, weight, 1e-6F);
  std::size_t in_largest = 0;
  for (NodeId i = 0; i < a.nrows(); ++i) {
    if (a.row(i).empty()) continue;
    EXPECT_NEAR(factors.row[i], factors.col[i], 1e-5F * factors.row[i]);
    in_largest += std::fabs(factors.row[i] - 1 / std::sqrt(degree(a, i))) < 1e-5F ? 1U : 0U;
  }
  EXPECT_GT(in_largest, 300U);
}

TEST(WeightFactors, MeansNeedRowsAlone) {
  const CsrPattern a = test::random_pattern(200, 300, 0.02, 1);
  const auto weight = [&](NodeId i, NodeId) { return 1 / degree(a, i); };
  const WeightFactors factors = factor_weights(weighted(a, weight));
  EXPECT_TRUE(factors.col.empty());
  expect_weights(factors, a, weight, 1e-6F);
  const auto transposed = [&](NodeId, NodeId j) { return 0.5F + static_cast<float>(j % 7); };
  const WeightFactors columns = factor_weights(weighted(a, transposed));
  EXPECT_TRUE(columns.row.empty());
  expect_weights(columns, a, transposed, 1e-6F);
  const WeightFactors ones = factor_weights(weighted(a, [](NodeId, NodeId) { return 1.0F; }));
  EXPECT_TRUE(ones.row.empty() && ones.col.empty());
  EXPECT_EQ(ones.largest_error, 0);
}

TEST(WeightFactors, SeveralComponentsSignsAndLongChains) {
  const CsrPattern grid = test::grid_pattern(3, 2000);
  const auto factor = [](NodeId n) { return 0.1F + 3 * random_uniform({1, 2, 3}, n); };
  const auto weight = [&](NodeId i, NodeId j) { return (i % 3 == 0 ? -1.0F : 1.0F) * factor(i) * factor(j + 9999); };
  test::with_thread_counts([&](const Device& device) {
    const WeightFactors factors = factor_weights(weighted(grid, weight), {}, device);
    EXPECT_LE(factors.largest_error, 1e-6);
    expect_weights(factors, grid, weight, 1e-6F);
  });
  const CsrPattern loose = test::random_pattern(400, 400, 0.002, 2);  // many components, empty lines
  expect_weights(factor_weights(weighted(loose, weight)), loose, weight, 1e-6F);
  EXPECT_TRUE(factor_weights(CsrMatrix<float>()).row.empty());
  EXPECT_TRUE(factor_weights(weighted(test::random_pattern(4, 5, 0, 1), weight)).col.empty());
}

TEST(WeightFactors, AnErrorSaysByHowMuchTheFactorsAreOff) {
  const CsrPattern a = test::random_pattern(30, 30, 0.3, 1);
  const auto weight = [](NodeId i, NodeId j) { return i == 7 && j % 2 == 0 ? 3.0F : 1.0F; };
  try {
    static_cast<void>(factor_weights(weighted(a, weight)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(std::string(error.what()).find("which is off by"), std::string::npos) << error.what();
  }
  for (const float bad : {0.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_THROW(static_cast<void>(factor_weights(weighted(a, [&](NodeId i, NodeId) { return i == 3 ? bad : 1; }))),
                 Error);
  }
  const auto negative = [](NodeId i, NodeId j) { return i == 7 && j % 2 == 0 ? -3.0F : 1.0F; };
  EXPECT_THROW(static_cast<void>(factor_weights(weighted(a, negative), {.approximate = true})), Error);
}

double squared_error(const CsrMatrix<float>& a, const WeightFactors& factors, NodeId row, double row_times) {
  double sum = 0;
  for (NodeId i = 0; i < a.nrows(); ++i) {
    const auto weights = a.row_values(i);
    for (std::size_t e = 0; e < weights.size(); ++e) {
      const double p = product(factors, i, a.pattern().row(i)[e]) * (i == row ? row_times : 1);
      sum += (weights[e] - p) * (weights[e] - p);
    }
  }
  return sum;
}

TEST(WeightFactors, AnApproximationIsTheNearestAndTellsItsError) {
  const CsrPattern a = test::random_pattern(60, 80, 0.2, 1);
  const auto noise = test::random_floats(60 * 80, 3, 0.9F, 1.1F);
  const auto weight = [&](NodeId i, NodeId j) {
    return static_cast<float>(1 + i % 5) * static_cast<float>(1 + j % 3) * noise[i * 80 + j];
  };
  const CsrMatrix<float> matrix = weighted(a, weight);
  const WeightFactors factors = factor_weights(matrix, {.approximate = true});
  EXPECT_LT(factors.relative_error, 0.1) << "the noise is at most a tenth";
  EXPECT_GT(factors.relative_error, 0.01);
  const double error = squared_error(matrix, factors, 0, 1);
  double squares = 0;
  for (const float w : matrix.values()) squares += double{w} * w;
  EXPECT_NEAR(factors.relative_error, std::sqrt(error / squares), 1e-6);
  for (NodeId i = 0; i < a.nrows(); ++i) {
    EXPECT_GT(factors.row[i], 0);
    EXPECT_GE(squared_error(matrix, factors, i, 1.01), error * (1 - 1e-9));
    EXPECT_GE(squared_error(matrix, factors, i, 0.99), error * (1 - 1e-9));
  }
  const WeightFactors again = factor_weights(matrix, {.approximate = true}, Device::host(5));
  test::expect_identical(again.row.span(), factors.row.span());
  test::expect_identical(again.col.span(), factors.col.span());
}

}  // namespace
}  // namespace bitgraph
