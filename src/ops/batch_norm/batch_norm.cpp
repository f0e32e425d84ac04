// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/batch_norm.hpp>

#include "core/parallel.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

namespace bitgraph {

namespace {

constexpr std::size_t row_grain = 128;

void require_shape(const DenseMatrix<float>& a, const DenseMatrix<float>& b) {
  if (a.nrows() != b.nrows() || a.ncols() != b.ncols()) {
    fail(ErrorCode::usage,
         fmt::format("batch norm: {} x {} and {} x {} differ", a.nrows(), a.ncols(), b.nrows(), b.ncols()));
  }
}

void require_width(std::span<const float> values, std::size_t ncols) {
  if (values.size() != ncols)
    fail(ErrorCode::usage, fmt::format("batch norm: {} statistics for {} columns", values.size(), ncols));
}

/// Columns are handed out in blocks: each column is added up by one thread, row after row.
template <class Body>
void for_columns(const DenseMatrix<float>& x, const Device& device, Body&& body) {
  parallel_chunks(device, x.ncols(), 16, [&](Range columns) { body(columns); });
}

}  // namespace

ColumnStatistics column_statistics(const DenseMatrix<float>& x, const Device& device) {
  ColumnStatistics result{Buffer<float>(x.ncols(), 0.0F, device), Buffer<float>(x.ncols(), 0.0F, device)};
  if (x.nrows() == 0) return result;
  const auto count = static_cast<double>(x.nrows());
  for_columns(x, device, [&](Range columns) {
    std::vector<double> sum(columns.size(), 0);
    std::vector<double> squares(columns.size(), 0);
    for (std::size_t i = 0; i < x.nrows(); ++i) {
      for (std::size_t j = columns.begin; j < columns.end; ++j) sum[j - columns.begin] += x(i, j);
    }
    for (std::size_t i = 0; i < x.nrows(); ++i) {
      for (std::size_t j = columns.begin; j < columns.end; ++j) {
        const double off = x(i, j) - sum[j - columns.begin] / count;
        squares[j - columns.begin] += off * off;
      }
    }
    for (std::size_t j = columns.begin; j < columns.end; ++j) {
      result.mean[j] = static_cast<float>(sum[j - columns.begin] / count);
      result.variance[j] = static_cast<float>(squares[j - columns.begin] / count);
    }
  });
  return result;
}

ColumnStatistics column_statistics(const CsrPattern& pattern, std::span<const float> values, const Device& device) {
  if (values.size() != pattern.nvals()) {
    fail(ErrorCode::usage, fmt::format("batch norm: {} values for {} entries", values.size(), pattern.nvals()));
  }
  const std::size_t ncols = pattern.ncols();
  ColumnStatistics result{Buffer<float>(ncols, 0.0F, device), Buffer<float>(ncols, 0.0F, device)};
  if (pattern.nrows() == 0) return result;
  const auto count = static_cast<double>(pattern.nrows());
  std::vector<double> sum(ncols, 0);
  std::vector<double> squares(ncols, 0);
  std::vector<std::size_t> entries(ncols, 0);
  for (std::size_t e = 0; e < values.size(); ++e) {
    sum[pattern.col_ind()[e]] += values[e];
    ++entries[pattern.col_ind()[e]];
  }
  for (std::size_t e = 0; e < values.size(); ++e) {
    const double off = values[e] - sum[pattern.col_ind()[e]] / count;
    squares[pattern.col_ind()[e]] += off * off;
  }
  for (std::size_t j = 0; j < ncols; ++j) {
    const double mean = sum[j] / count;
    result.mean[j] = static_cast<float>(mean);
    result.variance[j] =
        static_cast<float>((squares[j] + (count - static_cast<double>(entries[j])) * mean * mean) / count);
  }
  return result;
}

Buffer<float> inverse_deviation(std::span<const float> variance, float epsilon) {
  Buffer<float> inverse(variance.size());
  for (std::size_t j = 0; j < variance.size(); ++j) inverse[j] = 1.0F / std::sqrt(variance[j] + epsilon);
  return inverse;
}

void batch_norm_into(DenseMatrix<float>& out, const DenseMatrix<float>& x, std::span<const float> mean,
                     std::span<const float> inverse_deviation, const Device& device) {
  require_shape(out, x);
  require_width(mean, x.ncols());
  require_width(inverse_deviation, x.ncols());
  parallel_for(device, x.nrows(), row_grain, [&](std::size_t i) {
    for (std::size_t j = 0; j < x.ncols(); ++j) out(i, j) = (x(i, j) - mean[j]) * inverse_deviation[j];
  });
}

void batch_norm_backward_into(DenseMatrix<float>& out, const DenseMatrix<float>& y, const DenseMatrix<float>& g,
                              std::span<const float> inverse_deviation, const Device& device) {
  require_shape(out, y);
  require_shape(y, g);
  require_width(inverse_deviation, y.ncols());
  if (y.nrows() == 0) return;
  const auto count = static_cast<double>(y.nrows());
  for_columns(y, device, [&](Range columns) {
    for (std::size_t j = columns.begin; j < columns.end; ++j) {
      double sum = 0;
      double product = 0;
      for (std::size_t i = 0; i < y.nrows(); ++i) {
        sum += g(i, j);
        product += static_cast<double>(g(i, j)) * y(i, j);
      }
      const double mean = sum / count;
      const double slope = product / count;
      for (std::size_t i = 0; i < y.nrows(); ++i) {
        out(i, j) = static_cast<float>(inverse_deviation[j] * (g(i, j) - mean - y(i, j) * slope));
      }
    }
  });
}

}  // namespace bitgraph
