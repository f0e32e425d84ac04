// SPDX-License-Identifier: Apache-2.0
// The cases of mxv, for its test.
#pragma once

#include "support/late_pattern.hpp"
#include "support/random_matrices.hpp"
#include "support/sanitized.hpp"

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/bit_vector.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace bitgraph::test {

struct MxvCase {
  std::string name;
  LatePattern a;
};

inline std::vector<MxvCase> make_mxv_cases() {
  std::vector<MxvCase> cases;
  const auto add = [&](std::string name, LatePattern a) { cases.push_back({std::move(name), std::move(a)}); };
  for (const NodeId side : {1U, 3U, 15U, 16U, 17U, 63U, 64U, 65U, 130U}) {
    add("square_" + std::to_string(side), [=] { return random_pattern(side, side, 0.1, side); });
  }
  add("wide", [] { return random_pattern(61, 277, 0.12, 1); });
  add("tall", [] { return random_pattern(277, 61, 0.12, 2); });
  add("no_entries", [] { return random_pattern(70, 90, 0, 1); });
  add("no_rows", [] { return random_pattern(0, 5, 0, 1); });
  add("no_columns", [] { return random_pattern(5, 0, 0, 1); });
  add("one_column", [] { return random_pattern(130, 1, 0.5, 2); });
  add("one_row", [] { return random_pattern(1, 3000, 0.6, 3); });
  add("full_rows", [] { return random_pattern(80, 300, 3, 4); });
  add("skewed", [] { return rmat_pattern(10, 12000, 5); });  // shared among threads
  add("grid", [] { return address_sanitized ? grid_pattern(37, 29) : grid_pattern(73, 71); });
  add("long_rows", [] { return random_pattern(3, 9000, 1.2, 6); });
  add("long_columns", [] { return random_pattern(9000, 3, 1.2, 7); });
  return cases;
}

/// Shapes nobody would choose by hand, small enough for the reference.
inline const std::vector<MxvCase>& mxv_cases() {
  static const std::vector<MxvCase> cases = make_mxv_cases();
  return cases;
}

/// About `share` of the bits set.
inline BitVector random_vector_bits(std::size_t size, double share, std::uint64_t seed) {
  BitVector x(size);
  for (std::size_t i = 0; i < size; ++i) x.set_bit(i, random_uniform_double({seed, 6, 0}, i) < share);
  return x;
}

/// Values not below zero, `absent` among them.
template <class T>
Buffer<T> random_values(std::size_t size, T absent, std::uint64_t seed) {
  Buffer<T> x(size);
  for (std::size_t i = 0; i < size; ++i) {
    const double u = random_uniform_double({seed, 7, 0}, i);
    x[i] = u < 0.2 ? absent : static_cast<T>(std::is_integral_v<T> ? u * 1000000 : u * 3);
  }
  return x;
}

}  // namespace bitgraph::test
