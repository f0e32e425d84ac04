// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace bitgraph::nn {

/// Columns of dense features by some of the rows, 2,048 at most, evenly chosen: what is typical, whatever a few large
/// values are. O(rows * columns).
class TypicalColumns {
 public:
  TypicalColumns(const DenseMatrix<float>& x, std::span<const NodeId> nodes);

  struct Column {
    float median = 0, deviation = 0;  ///< 0: nearly all values are one
    double root_mean_square = 0;      ///< from the mean: what large values make of the deviation
  };
  [[nodiscard]] const Column& operator[](std::size_t column) const { return columns_[column]; }

  /// Whether large values make the deviations of a quarter of the columns three times as large, or those of a tenth
  /// ten times. Of normal values it is once, of a singular vector of words twice, seldom three times. Few rows do not
  /// tell.
  [[nodiscard]] bool have_long_tails() const;

 private:
  std::vector<Column> columns_;
  std::size_t rows_ = 0;  ///< that were looked at
};

}  // namespace bitgraph::nn
