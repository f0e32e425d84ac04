// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/batch_norm.hpp>

#include "core/threads/parallel.hpp"
#include "ops/batch_norm/cuda.hpp"
#include "ops/operands.hpp"
#include "ops/row_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
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

void require_width(std::size_t count, std::size_t ncols) {
  if (count != ncols) fail(ErrorCode::usage, fmt::format("batch norm: {} statistics for {} columns", count, ncols));
}

void require_widths(const BatchNorm& norm, std::size_t ncols) {
  require_width(norm.mean.size(), ncols);
  require_width(norm.variance.size(), ncols);
  for (const auto& affine : {norm.scale, norm.shift}) require_width(affine.empty() ? ncols : affine.size(), ncols);
}

/// What a column less its mean is multiplied by.
float factor_of(const BatchNorm& norm, std::size_t j) {
  const float inverse = 1.0F / std::sqrt(norm.variance[j] + batch_norm_epsilon);
  return norm.scale.empty() ? inverse : norm.scale[j] * inverse;
}

/// `width` sums over the rows; add(sums, i) adds row i.
template <class Add>
std::vector<double> sum_rows(const Device& device, std::size_t nrows, std::size_t width, const Add& add) {
  return sum_over_rows(device, nrows, width, [&](double* sums, std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) add(sums, i);
  });
}

}  // namespace

ColumnStatistics column_statistics(const DenseMatrix<float>& x) {
  ColumnStatistics result{Buffer<float>(x.ncols(), 0.0F, x.device()), Buffer<float>(x.ncols(), 0.0F, x.device())};
  if (x.nrows() != 0) column_statistics_into(result.mean.span(), result.variance.span(), x);
  return result;
}

void column_statistics_into(std::span<float> to_mean, std::span<float> to_variance, const DenseMatrix<float>& x) {
  const Device& device = x.device();
  require_width(to_mean.size(), x.ncols());
  require_width(to_variance.size(), x.ncols());
  if (x.nrows() == 0) fail(ErrorCode::usage, "batch norm: no rows to take statistics of");
  if (on_cuda("batch norm", device,
              [&](const auto& cuda) { column_statistics(cuda, x.view(), to_mean.data(), to_variance.data()); })) {
    return;
  }
  const auto count = static_cast<double>(x.nrows());
  const std::size_t width = x.ncols();
  std::vector<double> mean = sum_rows(device, x.nrows(), width, [&](double* sums, std::size_t i) {
    const float* const row = x.row(i).data();
    for (std::size_t j = 0; j < width; ++j) sums[j] += row[j];
  });
  for (double& m : mean) m /= count;
  const std::vector<double> squares = sum_rows(device, x.nrows(), width, [&](double* sums, std::size_t i) {
    const float* const row = x.row(i).data();
    for (std::size_t j = 0; j < width; ++j) sums[j] += (row[j] - mean[j]) * (row[j] - mean[j]);
  });
  for (std::size_t j = 0; j < width; ++j) {
    to_mean[j] = static_cast<float>(mean[j]);
    to_variance[j] = static_cast<float>(squares[j] / count);
  }
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

void batch_norm_into(DenseMatrix<float>& out, const DenseMatrix<float>& x, const BatchNorm& norm) {
  const Device& device = out.device();
  require_shape(out, x);
  require_widths(norm, x.ncols());
  check_device("batch norm", device, x.device(), "x");
  if (on_cuda("batch norm", device, [&](const auto& cuda) { batch_norm(cuda, out.view(), x.view(), norm); })) return;
  std::vector<float> factor(x.ncols());
  for (std::size_t j = 0; j < factor.size(); ++j) factor[j] = factor_of(norm, j);
  parallel_for(device, x.nrows(), row_grain, [&](std::size_t i) {
    for (std::size_t j = 0; j < x.ncols(); ++j) {
      const float shift = norm.shift.empty() ? 0.0F : norm.shift[j];
      out(i, j) = (x(i, j) - norm.mean[j]) * factor[j] + shift;
    }
  });
}

void batch_norm_backward_into(DenseMatrix<float>& out, std::span<float> of_scale, std::span<float> of_shift,
                              const DenseMatrix<float>& x, const DenseMatrix<float>& g, const BatchNorm& norm) {
  const Device& device = out.device();
  require_shape(out, x);
  require_shape(x, g);
  require_widths(norm, x.ncols());
  require_width(of_scale.size(), x.ncols());
  require_width(of_shift.size(), x.ncols());
  for (const DenseMatrix<float>* matrix : {&x, &g, static_cast<const DenseMatrix<float>*>(&out)}) {
    check_device("batch norm", device, matrix->device());
  }
  if (x.nrows() == 0) fail(ErrorCode::usage, "batch norm: no rows to take statistics of");
  if (on_cuda("batch norm", device, [&](const auto& cuda) {
        batch_norm_backward(cuda, out.view(), of_scale.data(), of_shift.data(), x.view(), g.view(), norm);
      })) {
    return;
  }
  const auto count = static_cast<double>(x.nrows());
  const std::size_t width = x.ncols();
  const float* const mean = norm.mean.data();
  std::vector<float> inverse(width), factor(width);
  for (std::size_t j = 0; j < width; ++j) {
    inverse[j] = 1.0F / std::sqrt(norm.variance[j] + batch_norm_epsilon);
    factor[j] = factor_of(norm, j);
  }
  // The sums of g, and behind them those of g y.
  std::vector<double> sums = sum_rows(device, x.nrows(), 2 * width, [&](double* part, std::size_t i) {
    const float* const x_row = x.row(i).data();
    const float* const g_row = g.row(i).data();
    for (std::size_t j = 0; j < width; ++j) {
      part[j] += g_row[j];
      part[width + j] += static_cast<double>(g_row[j]) * ((x_row[j] - mean[j]) * inverse[j]);
    }
  });
  for (std::size_t j = 0; j < width; ++j) {
    of_shift[j] = static_cast<float>(sums[j]);
    of_scale[j] = static_cast<float>(sums[width + j]);
  }
  for (double& sum : sums) sum /= count;
  parallel_for(device, x.nrows(), row_grain, [&](std::size_t i) {
    const float* const x_row = x.row(i).data();
    const float* const g_row = g.row(i).data();
    float* const to = out.row(i).data();
    for (std::size_t j = 0; j < width; ++j) {
      const double y = (x_row[j] - mean[j]) * inverse[j];
      to[j] = static_cast<float>(factor[j] * (g_row[j] - sums[j] - y * sums[width + j]));
    }
  });
}

}  // namespace bitgraph
