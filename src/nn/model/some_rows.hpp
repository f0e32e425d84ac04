// SPDX-License-Identifier: Apache-2.0
// Matrices that are rows of others.
#pragma once

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/quantized_matrix.hpp>

#include "core/memory/lent.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace bitgraph::nn {

/// Rows first .. first + rows - 1 of a matrix, not a copy.
inline DenseMatrix<float> some_rows(DenseMatrix<float>& m, std::size_t first, std::size_t rows) {
  return {rows, m.ncols(), lent(m.values().data() + first * m.ncols(), rows * m.ncols(), m.device())};
}

/// Zeros from a row on.
inline void fill_rows_from(DenseMatrix<float>& x, std::size_t first) {
  const std::span<float> rest = x.values().subspan(first * x.ncols());
  if (x.device().is_host()) return std::fill(rest.begin(), rest.end(), 0.0F);
  const float zero = 0;
  if (!rest.empty()) x.device().fill(rest.data(), rest.size_bytes(), &zero, sizeof(zero));
}

template <class Domain>
BitMatrix<Domain> some_rows(BitMatrix<Domain>& m, std::size_t first, std::size_t rows) {
  const std::size_t words = m.words_per_row();
  return {rows, m.ncols(), lent(m.words().data() + first * words, rows * words, m.device()), trusted};
}

inline LevelScale some_rows(const LevelScale& scale, std::size_t first, std::size_t rows, const Device& device) {
  LevelScale some = scale.share(device);
  if (scale.extent != ScaleExtent::row) return some;
  some.steps = lent(some.steps.data() + first, rows, device);
  if (scale.has_offsets()) some.offsets = lent(some.offsets.data() + first, rows, device);
  return some;
}
inline QuantizedMatrix some_rows(QuantizedMatrix& m, std::size_t first, std::size_t rows) {
  const std::size_t bytes = m.row_bytes();
  return {rows,
          m.ncols(),
          m.bits(),
          lent(m.levels().data() + first * bytes, rows * bytes, m.device()),
          some_rows(m.scale(), first, rows, m.device()),
          trusted};
}

/// The same to be read.
template <class Matrix>
Matrix some_rows(const Matrix& m, std::size_t first, std::size_t rows) {
  return some_rows(const_cast<Matrix&>(m), first, rows);
}

}  // namespace bitgraph::nn
