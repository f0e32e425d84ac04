// SPDX-License-Identifier: Apache-2.0
// Ridge regression in double by the normal equations. LAPACK has a Cholesky decomposition, but its bits depend on the
// number of threads.
#include "nn/tuning/least_squares.hpp"

#include "core/threads/parallel.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace bitgraph::nn {

namespace {

/// A matrix of doubles, a row after the other.
struct Doubles {
  Doubles(std::size_t nrows, std::size_t ncols) : columns(ncols), values(nrows * ncols) {}
  double* operator[](std::size_t row) { return values.data() + row * columns; }
  const double* operator[](std::size_t row) const { return values.data() + row * columns; }

  [[nodiscard]] std::size_t size() const noexcept { return values.size() / columns; }

  std::size_t columns;
  std::vector<double> values;
};

/// Rows `taken` of m, without the means of its columns.
Doubles rows_of(const DenseMatrix<float>& m, std::span<const std::size_t> taken, std::span<const double> weights) {
  Doubles rows(taken.size(), m.ncols());
  std::vector<double> mean(m.ncols(), 0);
  double all = 0;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    std::ranges::copy(m.row(taken[i]), rows[i]);
    for (std::size_t f = 0; f < m.ncols(); ++f) mean[f] += weights[i] * rows[i][f];
    all += weights[i];
  }
  if (all == 0) return rows;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    for (std::size_t f = 0; f < m.ncols(); ++f) rows[i][f] -= mean[f] / all;
  }
  return rows;
}

constexpr std::size_t rows_at_once = 4;

/// The first `columns` of `sum` plus the rows from `first` on, times a value each. Behind the last row the values are
/// 0.
void add_rows(double* sum, const double (&values)[rows_at_once], const Doubles& rows, std::size_t first,
              std::size_t columns) {
  const auto row = [&](std::size_t n) { return rows[std::min(first + n, rows.size() - 1)]; };
  const double *a = row(0), *b = row(1), *c = row(2), *d = row(3);
  for (std::size_t g = 0; g < columns; ++g)
    sum[g] += (values[0] * a[g] + values[1] * b[g]) + (values[2] * c[g] + values[3] * d[g]);
}

/// The lower half of a becomes L, a = L L^T. False where a is not positive.
bool decompose(Doubles& a) {
  for (std::size_t i = 0; i < a.columns; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      if (i == j && !(sum > 0)) return false;
      a[i][j] = i == j ? std::sqrt(sum) : sum / a[j][j];
    }
  }
  return true;
}

/// b becomes the x of L L^T x = b.
void solve(const Doubles& lower, std::span<double> b) {
  for (std::size_t i = 0; i < b.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= lower[i][k] * b[k];
    b[i] /= lower[i][i];
  }
  for (std::size_t i = b.size(); i-- > 0;) {
    for (std::size_t k = i + 1; k < b.size(); ++k) b[i] -= lower[k][i] * b[k];
    b[i] /= lower[i][i];
  }
}

}  // namespace

DenseMatrix<float> least_squares(const DenseMatrix<float>& x, const DenseMatrix<float>& y,
                                 const DenseMatrix<float>& start, const LeastSquaresOptions& options,
                                 const Device& host) {
  constexpr std::size_t least_rows_a_column = 8, least_columns = 8;
  const std::size_t inputs = x.ncols(), outputs = y.ncols(), count = std::min(x.nrows(), options.most_rows);
  DenseMatrix<float> w = start.clone();
  if (count < least_rows_a_column * inputs) return w;
  std::vector<std::size_t> taken(count);
  std::vector<double> weights(count, 1);
  for (std::size_t i = 0; i < count; ++i) {
    taken[i] = x.nrows() / count * i + x.nrows() % count * i / count;
    if (!options.row_weights.empty()) weights[i] = options.row_weights[taken[i]];
  }
  const Doubles from = rows_of(x, taken, weights), to = rows_of(y, taken, weights);
  Doubles normal(inputs, inputs), wanted(inputs, outputs);
  parallel_ranges(host, inputs, least_columns, [&](Range columns) {
    for (std::size_t i = 0; i < count; i += rows_at_once) {
      for (std::size_t f = columns.begin; f < columns.end; ++f) {
        const auto value = [&](std::size_t n) { return i + n < count ? weights[i + n] * from[i + n][f] : 0; };
        const double values[rows_at_once] = {value(0), value(1), value(2), value(3)};
        add_rows(normal[f], values, from, i, f + 1);
        add_rows(wanted[f], values, to, i, outputs);
      }
    }
  });
  for (std::size_t f = 0; f < inputs; ++f) {  // of y less what w as it is makes
    for (std::size_t g = 0; g < inputs; ++g) {
      const double both = normal[std::max(f, g)][std::min(f, g)];
      for (std::size_t c = 0; c < outputs; ++c) wanted[f][c] -= both * w(c, g);
    }
  }
  double squares = 0;
  for (std::size_t f = 0; f < inputs; ++f) squares += normal[f][f];
  for (std::size_t f = 0; f < inputs; ++f) normal[f][f] += options.ridge * squares / static_cast<double>(inputs);
  if (!decompose(normal)) return w;
  std::vector<double> change(inputs);
  for (std::size_t c = 0; c < outputs; ++c) {
    for (std::size_t f = 0; f < inputs; ++f) change[f] = wanted[f][c];
    solve(normal, change);
    for (std::size_t f = 0; f < inputs; ++f) w(c, f) += static_cast<float>(change[f]);
  }
  return w;
}

}  // namespace bitgraph::nn
