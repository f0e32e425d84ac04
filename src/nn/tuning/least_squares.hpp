// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include <cstddef>
#include <span>

namespace bitgraph::nn {

struct LeastSquaresOptions {
  std::span<const float> row_weights;  ///< of each row of x and y; empty: ones
  double ridge = 0.01;                 ///< what a change costs, in means of the squares of a column of x
  std::size_t most_rows = 16384;       ///< of more rows so many count, evenly spread
};

/// The matrix w, outputs x inputs, for which x w^T is nearest to y but for a bias, which is found elsewhere: x and y
/// count without the means of their columns. Of rows x_i and y_i the least
/// sum_i weight_i |y_i - w x_i|^2 + ridge (mean of sum_i weight_i x_if^2) |w - start|^2. `start` itself where x has not
/// 8 rows a column, or nothing but zeros. On the host; the same bits whatever the number of threads.
/// O(rows inputs (inputs + outputs) + inputs^3).
[[nodiscard]] DenseMatrix<float> least_squares(const DenseMatrix<float>& x, const DenseMatrix<float>& y,
                                               const DenseMatrix<float>& start, const LeastSquaresOptions& options,
                                               const Device& host);

}  // namespace bitgraph::nn
