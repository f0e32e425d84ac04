// SPDX-License-Identifier: Apache-2.0
// The cases of spmm, for its test and its benchmark.
#pragma once

#include "support/late_pattern.hpp"
#include "support/random_matrices.hpp"
#include "support/sanitized.hpp"

#include <string>
#include <vector>

namespace bitgraph::test {

struct SpmmCase {
  std::string name;
  LatePattern a;
  std::size_t width;
};

inline std::vector<SpmmCase> make_spmm_cases() {
  std::vector<SpmmCase> cases;
  const auto add = [&](std::string name, std::size_t width, LatePattern a) {
    cases.push_back({std::move(name), std::move(a), width});
  };
  for (const std::size_t width : {1U, 7U, 63U, 64U, 65U, 128U, 200U, 256U, 600U}) {
    add("random_width_" + std::to_string(width), width, [=] { return random_pattern(61, 77, 0.12, width); });
  }
  add("no_entries", 70, [] { return random_pattern(10, 9, 0, 1); });
  add("no_rows", 64, [] { return random_pattern(0, 5, 0, 1); });
  add("no_columns", 64, [] { return random_pattern(5, 0, 0, 1); });
  add("no_features", 0, [] { return random_pattern(5, 5, 0.3, 1); });
  add("one_column", 64, [] { return random_pattern(130, 1, 0.5, 2); });
  add("one_row", 130, [] { return random_pattern(1, 3000, 0.6, 3); });
  add("dense_rows", 96, [] { return random_pattern(40, 300, 1.5, 4); });
  add("skewed", 64, [] { return rmat_pattern(9, 6000, 5); });
  add("grid", 128, [] { return address_sanitized ? grid_pattern(17, 15) : grid_pattern(33, 31); });
  add("long_rows", 65, [] { return random_pattern(3, 9000, 1.2, 6); });
  add("longer_than_any_buffer", 66, [] { return random_pattern(2, 40000, 1.5, 7); });
  return cases;
}

/// Shapes nobody would choose by hand, small enough for the reference. Made once: every test's name asks for them.
inline const std::vector<SpmmCase>& spmm_cases() {
  static const std::vector<SpmmCase> cases = make_spmm_cases();
  return cases;
}

}  // namespace bitgraph::test
