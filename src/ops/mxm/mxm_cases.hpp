// SPDX-License-Identifier: Apache-2.0
// Operands for tests of products.
#pragma once

#include "support/random_matrices.hpp"

#include <bitgraph/formats/csr_pattern.hpp>

#include <string>
#include <vector>

namespace bitgraph::test {

struct MxmCase {
  std::string name;
  CsrPattern a, b, mask;
};

inline MxmCase random_mxm_case(const std::string& name, NodeId n, NodeId inner, NodeId m, double density,
                               std::uint64_t seed) {
  return {name, random_pattern(n, inner, density, seed), random_pattern(inner, m, density, seed + 1),
          random_pattern(n, m, 0.3, seed + 2)};
}

inline std::vector<MxmCase> mxm_cases() {
  std::vector<MxmCase> all;
  all.push_back(random_mxm_case("oblong", 63, 77, 130, 0.06, 1));
  all.push_back(random_mxm_case("many_rows", 400, 65, 64, 0.02, 2));
  all.push_back(random_mxm_case("dense", 40, 70, 66, 0.8, 3));
  all.push_back(random_mxm_case("one_row", 1, 300, 200, 0.3, 4));
  all.push_back(random_mxm_case("one_column", 200, 100, 1, 0.1, 5));
  all.push_back(random_mxm_case("one_between", 90, 1, 90, 0.5, 6));
  all.push_back(random_mxm_case("nothing_between", 5, 0, 7, 0, 7));
  all.push_back(random_mxm_case("no_rows", 0, 5, 7, 0.5, 8));
  all.push_back(random_mxm_case("no_columns", 7, 5, 0, 0.5, 9));
  all.push_back(random_mxm_case("no_entries", 30, 30, 30, 0, 10));
  const CsrPattern skewed = rmat_pattern(8, 2500, 11);
  all.push_back({"skewed", skewed.clone(), skewed.clone(), skewed.clone()});
  all.push_back({"long_rows_against_short", random_pattern(90, 3000, 0.001, 12),
                 transpose(random_pattern(70, 3000, 0.7, 13)), random_pattern(90, 70, 0.5, 14)});
  return all;
}

}  // namespace bitgraph::test
