// SPDX-License-Identifier: Apache-2.0
// Matrices that are rows of others.
#pragma once

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include <cstddef>
#include <memory>

namespace bitgraph::nn {

/// Values that stay whose they are.
template <class T>
Buffer<T> lent(T* data, std::size_t size, const Device& device) {
  return Buffer<T>::borrow(data, size, std::shared_ptr<const void>(std::shared_ptr<const void>(), data), device);
}

/// Rows first .. first + rows - 1 of a matrix, not a copy.
inline DenseMatrix<float> some_rows(DenseMatrix<float>& m, std::size_t first, std::size_t rows) {
  return {rows, m.ncols(), lent(m.values().data() + first * m.ncols(), rows * m.ncols(), m.device())};
}
inline BitMatrix<PlusMinusOne> some_rows(BitMatrix<PlusMinusOne>& m, std::size_t first, std::size_t rows) {
  const std::size_t words = m.words_per_row();
  return {rows, m.ncols(), lent(m.words().data() + first * words, rows * words, m.device())};
}

}  // namespace bitgraph::nn
