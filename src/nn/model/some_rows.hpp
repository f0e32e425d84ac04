// SPDX-License-Identifier: Apache-2.0
// Matrices that are rows of others.
#pragma once

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include "core/lent.hpp"

#include <cstddef>

namespace bitgraph::nn {

/// Rows first .. first + rows - 1 of a matrix, not a copy.
inline DenseMatrix<float> some_rows(DenseMatrix<float>& m, std::size_t first, std::size_t rows) {
  return {rows, m.ncols(), lent(m.values().data() + first * m.ncols(), rows * m.ncols(), m.device())};
}
template <class Domain>
BitMatrix<Domain> some_rows(BitMatrix<Domain>& m, std::size_t first, std::size_t rows) {
  const std::size_t words = m.words_per_row();
  return {rows, m.ncols(), lent(m.words().data() + first * words, rows * words, m.device()), trusted};
}

/// The same to be read.
template <class Matrix>
Matrix some_rows(const Matrix& m, std::size_t first, std::size_t rows) {
  return some_rows(const_cast<Matrix&>(m), first, rows);
}

}  // namespace bitgraph::nn
