// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>

namespace bitgraph::nn {

/// t = m with rows and columns exchanged, a small matrix, on the host. O(nrows * ncols).
inline void transpose_into(DenseMatrix<float>& t, const DenseMatrix<float>& m) {
  for (std::size_t i = 0; i < m.nrows(); ++i) {
    const auto row = m.row(i);
    for (std::size_t j = 0; j < row.size(); ++j) t(j, i) = row[j];
  }
}
[[nodiscard]] inline DenseMatrix<float> transposed(const DenseMatrix<float>& m) {
  DenseMatrix<float> t(m.ncols(), m.nrows(), m.device());
  transpose_into(t, m);
  return t;
}

}  // namespace bitgraph::nn
