// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/batch_norm.hpp>

#include "core/parallel.hpp"
#include "ops/batch_norm/cuda.hpp"
#include "ops/operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

/// Columns are handed out in blocks, and a row's part of a block is two cache lines: each column is added up by one
/// thread, row after row, so the sums do not depend on the number of threads.
constexpr std::size_t column_block = 32;
using ColumnSums = std::array<double, column_block>;

/// body(first column, number of columns) for each block.
template <class Body>
void for_column_blocks(std::size_t ncols, const Device& device, Body&& body) {
  const std::size_t blocks = (ncols + column_block - 1) / column_block;
  parallel_chunks(device, blocks, 1, [&](Range range) {
    for (std::size_t block = range.begin; block < range.end; ++block) {
      const std::size_t first = block * column_block;
      body(first, std::min(column_block, ncols - first));
    }
  });
}

}  // namespace

ColumnStatistics column_statistics(const DenseMatrix<float>& x) {
  const Device& device = x.device();
  ColumnStatistics result{Buffer<float>(x.ncols(), 0.0F, device), Buffer<float>(x.ncols(), 0.0F, device)};
  if (x.nrows() == 0) return result;
  if (on_cuda("batch norm", device, [&](const auto& cuda) {
        column_statistics(cuda, x.view(), result.mean.data(), result.variance.data());
      })) {
    return result;
  }
  const auto count = static_cast<double>(x.nrows());
  for_column_blocks(x.ncols(), device, [&](std::size_t first, std::size_t width) {
    ColumnSums mean{};
    ColumnSums squares{};
    for (std::size_t i = 0; i < x.nrows(); ++i) {
      const float* row = x.row(i).data() + first;
      for (std::size_t j = 0; j < width; ++j) mean[j] += row[j];
    }
    for (double& m : mean) m /= count;
    for (std::size_t i = 0; i < x.nrows(); ++i) {
      const float* row = x.row(i).data() + first;
      for (std::size_t j = 0; j < width; ++j) squares[j] += (row[j] - mean[j]) * (row[j] - mean[j]);
    }
    for (std::size_t j = 0; j < width; ++j) {
      result.mean[first + j] = static_cast<float>(mean[j]);
      result.variance[first + j] = static_cast<float>(squares[j] / count);
    }
  });
  return result;
}

ColumnStatistics column_statistics(const CsrPattern& pattern, std::span<const float> values) {
  const Device& device = pattern.device();
  if (values.size() != pattern.nvals()) {
    fail(ErrorCode::usage, fmt::format("batch norm: {} values for {} entries", values.size(), pattern.nvals()));
  }
  if (!device.is_host()) fail(ErrorCode::not_possible, device.name() + ": no statistics of sparse X for this device");
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
                     std::span<const float> inverse_deviation) {
  const Device& device = out.device();
  require_shape(out, x);
  require_width(mean, x.ncols());
  require_width(inverse_deviation, x.ncols());
  check_device("batch norm", device, x.device(), "x");
  if (on_cuda("batch norm", device, [&](const auto& cuda) {
        batch_norm(cuda, out.view(), x.view(), mean.data(), inverse_deviation.data());
      })) {
    return;
  }
  parallel_for(device, x.nrows(), row_grain, [&](std::size_t i) {
    for (std::size_t j = 0; j < x.ncols(); ++j) out(i, j) = (x(i, j) - mean[j]) * inverse_deviation[j];
  });
}

void batch_norm_backward_into(DenseMatrix<float>& out, const DenseMatrix<float>& y, const DenseMatrix<float>& g,
                              std::span<const float> inverse_deviation) {
  const Device& device = out.device();
  require_shape(out, y);
  require_shape(y, g);
  require_width(inverse_deviation, y.ncols());
  for (const DenseMatrix<float>* matrix : {&y, &g, static_cast<const DenseMatrix<float>*>(&out)}) {
    check_device("batch norm", device, matrix->device());
  }
  if (y.nrows() == 0) return;
  if (on_cuda("batch norm", device, [&](const auto& cuda) {
        batch_norm_backward(cuda, out.view(), y.view(), g.view(), inverse_deviation.data());
      })) {
    return;
  }
  const auto count = static_cast<double>(y.nrows());
  for_column_blocks(y.ncols(), device, [&](std::size_t first, std::size_t width) {
    ColumnSums mean{};
    ColumnSums slope{};
    for (std::size_t i = 0; i < y.nrows(); ++i) {
      const float* y_row = y.row(i).data() + first;
      const float* g_row = g.row(i).data() + first;
      for (std::size_t j = 0; j < width; ++j) {
        mean[j] += g_row[j];
        slope[j] += static_cast<double>(g_row[j]) * y_row[j];
      }
    }
    for (std::size_t j = 0; j < width; ++j) {
      mean[j] /= count;
      slope[j] /= count;
    }
    for (std::size_t i = 0; i < y.nrows(); ++i) {
      const float* y_row = y.row(i).data() + first;
      const float* g_row = g.row(i).data() + first;
      float* to = out.row(i).data() + first;
      for (std::size_t j = 0; j < width; ++j) {
        to[j] = static_cast<float>(inverse_deviation[first + j] * (g_row[j] - mean[j] - y_row[j] * slope[j]));
      }
    }
  });
}

}  // namespace bitgraph
