// SPDX-License-Identifier: Apache-2.0
// Sums in the order of memory, which the trainers of a GCN of two layers take. ops/dense.hpp and ops/gradient.hpp add
// up in parts, for many threads: other last bits, and after hundreds of epochs another model than the one that is known
// by its accuracy.
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace bitgraph::nn {

/// out[f] = sum of x(:, f).
inline void column_sums_in_order(std::span<float> out, const DenseMatrix<float>& x) {
  std::fill(out.begin(), out.end(), 0.0F);
  for (std::size_t i = 0; i < x.nrows(); ++i) {
    for (std::size_t f = 0; f < x.ncols(); ++f) out[f] += x(i, f);
  }
}

/// binary_weight_backward of ops/gradient.hpp.
inline void binary_weight_backward_in_order(DenseMatrix<float>& gradient, const DenseMatrix<float>& weight,
                                            std::span<const float> m) {
  for (std::size_t f = 0; f < weight.nrows(); ++f) {
    const auto sign = [&](std::size_t j) { return weight(f, j) >= 0 ? 1.0F : -1.0F; };
    double sum = 0;
    for (std::size_t j = 0; j < weight.ncols(); ++j) sum += sign(j) * gradient(f, j);
    const auto mean = static_cast<float>(sum / static_cast<double>(weight.ncols()));
    for (std::size_t j = 0; j < weight.ncols(); ++j) {
      const float through = std::fabs(weight(f, j)) <= 1 ? m[f] * gradient(f, j) : 0.0F;
      gradient(f, j) = through + sign(j) * mean;
    }
  }
}

}  // namespace bitgraph::nn
