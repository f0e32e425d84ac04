// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/ops/dense.hpp>

namespace bitgraph::nn {

/// A small matrix with rows and columns exchanged, on the host.
[[nodiscard]] inline DenseMatrix<float> transposed(const DenseMatrix<float>& m) {
  DenseMatrix<float> t(m.ncols(), m.nrows(), m.device());
  transpose_into(t, m);
  return t;
}

}  // namespace bitgraph::nn
