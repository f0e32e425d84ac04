// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace bitgraph::nn {

/// out[f] = sum of x(:, f), in single precision, row after row: as the trainers of a GCN of two layers take it.
/// column_sums_into of ops/dense.hpp adds up parts in double, for many threads: other last bits, and after hundreds of
/// epochs another model than the one that is known by its accuracy.
inline void column_sums_in_order(std::span<float> out, const DenseMatrix<float>& x) {
  std::fill(out.begin(), out.end(), 0.0F);
  for (std::size_t i = 0; i < x.nrows(); ++i) {
    for (std::size_t f = 0; f < x.ncols(); ++f) out[f] += x(i, f);
  }
}

}  // namespace bitgraph::nn
