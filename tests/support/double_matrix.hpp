// SPDX-License-Identifier: Apache-2.0
// Dense matrices in double: what training is checked against. Everything is written the obvious way.
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace bitgraph::test {

struct DoubleMatrix {
  std::size_t nrows = 0, ncols = 0;
  std::vector<double> values;

  DoubleMatrix() = default;
  DoubleMatrix(std::size_t rows, std::size_t cols) : nrows(rows), ncols(cols), values(rows * cols, 0) {}
  explicit DoubleMatrix(const DenseMatrix<float>& x) : DoubleMatrix(x.nrows(), x.ncols()) {
    values.assign(x.values().begin(), x.values().end());
  }
  [[nodiscard]] bool empty() const { return values.empty(); }
  double& operator()(std::size_t i, std::size_t j) { return values[i * ncols + j]; }
  double operator()(std::size_t i, std::size_t j) const { return values[i * ncols + j]; }
};

/// A matrix of the shape of `a` with fn(i, j) in it.
template <class Fn>
DoubleMatrix mapped(const DoubleMatrix& a, const Fn& fn) {
  DoubleMatrix out(a.nrows, a.ncols);
  for (std::size_t i = 0; i < a.nrows; ++i) {
    for (std::size_t j = 0; j < a.ncols; ++j) out(i, j) = fn(i, j);
  }
  return out;
}

inline DoubleMatrix times(const DoubleMatrix& a, const DoubleMatrix& b) {
  DoubleMatrix out(a.nrows, b.ncols);
  for (std::size_t i = 0; i < a.nrows; ++i) {
    for (std::size_t k = 0; k < a.ncols; ++k) {
      for (std::size_t j = 0; j < b.ncols; ++j) out(i, j) += a(i, k) * b(k, j);
    }
  }
  return out;
}

inline DoubleMatrix flipped(const DoubleMatrix& a) {
  DoubleMatrix out(a.ncols, a.nrows);
  for (std::size_t i = 0; i < a.nrows; ++i) {
    for (std::size_t j = 0; j < a.ncols; ++j) out(j, i) = a(i, j);
  }
  return out;
}

/// a + b, element by element.
inline DoubleMatrix plus(const DoubleMatrix& a, const DoubleMatrix& b) {
  return mapped(a, [&](std::size_t i, std::size_t j) { return a(i, j) + b(i, j); });
}

/// a * b, element by element.
inline DoubleMatrix scaled(const DoubleMatrix& a, const DoubleMatrix& b) {
  return mapped(a, [&](std::size_t i, std::size_t j) { return a(i, j) * b(i, j); });
}

inline DoubleMatrix first_of(const DoubleMatrix& a, std::size_t nrows) {
  DoubleMatrix out(nrows, a.ncols);
  std::copy_n(a.values.begin(), out.values.size(), out.values.begin());
  return out;
}

inline DoubleMatrix sums_of_columns(const DoubleMatrix& a) {
  DoubleMatrix out(1, a.ncols);
  for (std::size_t i = 0; i < a.nrows; ++i) {
    for (std::size_t j = 0; j < a.ncols; ++j) out(0, j) += a(i, j);
  }
  return out;
}

/// x W^T + b, b one row.
inline DoubleMatrix update(const DoubleMatrix& x, const DoubleMatrix& w, const DoubleMatrix& b) {
  const DoubleMatrix y = times(x, flipped(w));
  return mapped(y, [&](std::size_t i, std::size_t f) { return y(i, f) + b(0, f); });
}

inline double sign(double x) { return x >= 0 ? 1 : -1; }

inline DoubleMatrix signs_of(const DoubleMatrix& a) {
  return mapped(a, [&](std::size_t i, std::size_t j) { return sign(a(i, j)); });
}

/// The mean magnitude of a row.
inline double row_mean(const DoubleMatrix& a, std::size_t i) {
  double sum = 0;
  for (std::size_t j = 0; j < a.ncols; ++j) sum += std::fabs(a(i, j));
  return sum / static_cast<double>(a.ncols);
}

/// Signs times the mean magnitude of each row.
inline DoubleMatrix scaled_signs(const DoubleMatrix& a) {
  return mapped(a, [&](std::size_t i, std::size_t j) { return row_mean(a, i) * sign(a(i, j)); });
}

/// The gradient of x from that of sign(x).
inline DoubleMatrix through_sign(const DoubleMatrix& gradient, const DoubleMatrix& x) {
  return mapped(gradient, [&](std::size_t i, std::size_t j) { return std::fabs(x(i, j)) <= 1 ? gradient(i, j) : 0.0; });
}

/// The gradient of latent weights from that of their scaled signs, as docs/architecture.md has it.
inline DoubleMatrix weight_rule(const DoubleMatrix& g, const DoubleMatrix& w) {
  return mapped(w, [&](std::size_t f, std::size_t j) {
    double mean = 0;
    for (std::size_t n = 0; n < w.ncols; ++n) mean += sign(w(f, n)) * g(f, n);
    mean /= static_cast<double>(w.ncols);
    return (std::fabs(w(f, j)) <= 1 ? row_mean(w, f) * g(f, j) : 0.0) + sign(w(f, j)) * mean;
  });
}

}  // namespace bitgraph::test
