// SPDX-License-Identifier: Apache-2.0
// How the tests of mxv let a product be written, and compare what was.
#pragma once

#include "ops/mxv/mxv_cases.hpp"

#include <bitgraph/ops/mxv.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>
#include <vector>

namespace bitgraph::test {

/// What an output may hold and how it is written.
struct Writing {
  bool masked = false, complement = false, replace = false, accumulate = false;
  double share = 0.5;  ///< of the mask's bits that are set
};

inline const std::vector<Writing> writings{{},
                                           {.accumulate = true},
                                           {.masked = true},
                                           {.masked = true, .complement = true, .replace = true, .share = 0.97},
                                           {.masked = true, .accumulate = true, .share = 0.1},
                                           {.masked = true, .replace = true, .accumulate = true}};

/// What an output holds before.
inline BitVector initial(std::type_identity<BitVector>, std::size_t size) { return random_vector_bits(size, 0.3, 99); }
template <class T>
Buffer<T> initial(std::type_identity<Buffer<T>>, std::size_t size) {
  return random_values<T>(size, T{7}, 99);
}

inline void expect_same(const BitVector& expected, const BitVector& actual, double) { EXPECT_TRUE(expected == actual); }
template <class T>
void expect_same(const Buffer<T>& expected, const Buffer<T>& actual, double tolerance) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == actual[i]) continue;
    ASSERT_NEAR(static_cast<double>(expected[i]), static_cast<double>(actual[i]),
                tolerance * (1 + std::abs(static_cast<double>(expected[i]))))
        << "element " << i;
  }
}

}  // namespace bitgraph::test
