// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace bitgraph::test {

/// How far the logits are apart, as a share of the largest.
inline float distance(const DenseMatrix<float>& actual, const DenseMatrix<float>& expected) {
  EXPECT_EQ(actual.nrows(), expected.nrows());
  EXPECT_EQ(actual.ncols(), expected.ncols());
  if (actual.values().size() != expected.values().size()) return INFINITY;
  float largest = 0, most = 0;
  for (std::size_t n = 0; n < expected.values().size(); ++n) {
    const float difference = std::fabs(actual.values()[n] - expected.values()[n]);
    if (std::isnan(difference)) return INFINITY;
    most = std::max(most, difference);
    largest = std::max(largest, std::fabs(expected.values()[n]));
  }
  return most == 0 ? 0 : most / largest;
}

/// Rounding may turn the sign of a sum that is nearly 0, and with it a bit of a later layer: a few rows may differ.
inline void expect_near(const DenseMatrix<float>& actual, const DenseMatrix<float>& expected) {
  ASSERT_EQ(actual.nrows(), expected.nrows());
  ASSERT_EQ(actual.ncols(), expected.ncols());
  float largest = 0;
  for (const float v : expected.values()) largest = std::max(largest, std::fabs(v));
  std::size_t rows_off = 0;
  for (std::size_t i = 0; i < expected.nrows(); ++i) {
    bool off = false;
    for (std::size_t c = 0; c < expected.ncols(); ++c)
      off = off || std::fabs(actual(i, c) - expected(i, c)) > 1e-4F * largest;
    rows_off += off ? 1 : 0;
  }
  EXPECT_LE(rows_off, expected.nrows() / 50);
}

}  // namespace bitgraph::test
