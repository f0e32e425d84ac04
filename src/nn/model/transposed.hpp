// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>

namespace bitgraph::nn {

/// A small matrix with rows and columns exchanged, on the host. O(nrows * ncols).
inline DenseMatrix<float> transposed(const DenseMatrix<float>& m) {
  DenseMatrix<float> t(m.ncols(), m.nrows(), m.device());
  for (std::size_t i = 0; i < m.nrows(); ++i) {
    for (std::size_t j = 0; j < m.ncols(); ++j) t(j, i) = m(i, j);
  }
  return t;
}

}  // namespace bitgraph::nn
