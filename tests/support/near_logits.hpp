// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace bitgraph::test {

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
