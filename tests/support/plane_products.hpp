// SPDX-License-Identifier: Apache-2.0
// Products of bit planes with their sums.
#pragma once

#include "support/random_levels.hpp"
#include "support/random_matrices.hpp"
#include "support/sanitized.hpp"

#include <bitgraph/formats/bit_planes.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::test {

/// Rows and columns of A, columns of X: around words, slabs, blocks of rows and vectors of columns, and none of each.
inline constexpr std::array<std::array<std::size_t, 3>, 12> plane_product_shapes{{{0, 5, 7},
                                                                                  {5, 0, 7},
                                                                                  {5, 7, 0},
                                                                                  {1, 1, 1},
                                                                                  {6, 63, 16},
                                                                                  {7, 64, 17},
                                                                                  {67, 65, 3},
                                                                                  {64, 128, 8},
                                                                                  {13, 129, 65},
                                                                                  {130, 192, 33},
                                                                                  {66, 256, 70},
                                                                                  {3, 1100, 257}}};

inline constexpr std::array<std::pair<int, int>, 11> plane_product_widths{
    {{1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 8}, {2, 2}, {3, 5}, {4, 7}, {8, 8}, {1, 17}, {16, 32}}};

struct PlaneProduct {
  BitPlanes a, x;
  DenseMatrix<std::int64_t> expected;

  PlaneProduct(const std::array<std::size_t, 3>& shape, int s, int t) : expected(shape[0], shape[2]) {
    const auto left = random_numbers(shape[0], shape[1], s, 1), right = random_numbers(shape[1], shape[2], t, 2);
    a = planes_from_levels(left, s, PlanePacking::rows);
    x = planes_from_levels(right, t, PlanePacking::columns);
    for (std::size_t i = 0; i < shape[0]; ++i) {
      for (std::size_t c = 0; c < shape[1]; ++c) {
        for (std::size_t j = 0; j < shape[2]; ++j)
          expected(i, j) += static_cast<std::int64_t>(std::uint64_t{left(i, c)} * right(c, j));
      }
    }
  }

  [[nodiscard]] bool fits(int bits) const {
    return a.bits() + x.bits() + static_cast<int>(std::bit_width(a.ncols())) <= bits;
  }
  [[nodiscard]] std::string name() const {
    std::ostringstream text;
    text << a.nrows() << " x " << a.ncols() << " of " << a.bits() << " bits by " << x.ncols() << " columns of "
         << x.bits() << " bits";
    return text.str();
  }
};

/// Patterns with rows of tiles that have none, one, and more than a step of tiles, and columns of X. A product by dense
/// bits takes the square of their nodes: they are smaller where a sanitizer watches.
inline std::vector<std::pair<std::function<CsrPattern()>, std::size_t>> plane_product_graphs() {
  return {{[] { return CsrPattern(); }, 3},
          {[] { return random_pattern(5, 300, 0.1, 1); }, 9},
          {[] { return random_pattern(300, 70, 0.001, 2); }, 33},
          {[] { return sanitized ? rmat_pattern(9, 1500, 3) : rmat_pattern(10, 3000, 3); }, 20},
          {[] { return sanitized ? grid_pattern(20, 16) : grid_pattern(40, 30); }, 129}};
}

/// The product of a 0/1 matrix with levels.
inline DenseMatrix<std::int64_t> sums_over_entries(const CsrPattern& pattern,
                                                   const DenseMatrix<std::uint32_t>& levels) {
  DenseMatrix<std::int64_t> sums(pattern.nrows(), levels.ncols());
  for (NodeId i = 0; i < pattern.nrows(); ++i) {
    for (const NodeId c : pattern.row(i)) {
      for (std::size_t j = 0; j < levels.ncols(); ++j) sums(i, j) += levels(c, j);
    }
  }
  return sums;
}

template <class Sum>
void expect_sums(const DenseMatrix<Sum>& actual, const DenseMatrix<std::int64_t>& expected) {
  ASSERT_EQ(actual.values().size(), expected.values().size());
  for (std::size_t n = 0; n < expected.values().size(); ++n)
    ASSERT_EQ(actual.values()[n], expected.values()[n]) << "element " << n;
}

}  // namespace bitgraph::test
