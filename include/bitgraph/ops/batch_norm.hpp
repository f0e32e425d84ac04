// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include <span>

namespace bitgraph {

/// Mean and (biased) variance of each column.
struct ColumnStatistics {
  Buffer<float> mean;
  Buffer<float> variance;
};

/// Statistics over all rows of x. Sums are taken in double, in an order that depends on the shape only.
/// O(nrows * ncols).
[[nodiscard]] ColumnStatistics column_statistics(const DenseMatrix<float>& x);

/// The same into memory of x's device that is there, a value a column. x has rows.
void column_statistics_into(std::span<float> mean, std::span<float> variance, const DenseMatrix<float>& x);

/// The same for sparse x, absent entries being 0, on the host. O(entries + ncols).
[[nodiscard]] ColumnStatistics column_statistics(const CsrPattern& pattern, std::span<const float> values);

/// What is added to a variance (PyTorch's).
inline constexpr float batch_norm_epsilon = 1e-5F;

/// 1 / sqrt(variance + epsilon) of each column, on the host.
[[nodiscard]] Buffer<float> inverse_deviation(std::span<const float> variance, float epsilon = batch_norm_epsilon);

/// A map of columns: x becomes scale (x - mean) / sqrt(variance + epsilon) + shift (Ioffe and Szegedy 2015).
struct BatchNorm {
  std::span<const float> mean, variance;
  std::span<const float> scale, shift;  ///< empty: ones and zeros
};

/// out may be x. O(nrows * ncols).
void batch_norm_into(DenseMatrix<float>& out, const DenseMatrix<float>& x, const BatchNorm& norm);

/// The gradients of batch norm over the batch's own statistics: given x and the gradient g of its result, with
/// y = (x - mean) / deviation, writes scale / deviation * (g - mean(g) - y * mean(g y)) to out, the sums of g y to
/// of_scale and those of g to of_shift, column by column. out may be g. Sums are taken in double, in an order that
/// depends on the shape only.
void batch_norm_backward_into(DenseMatrix<float>& out, std::span<float> of_scale, std::span<float> of_shift,
                              const DenseMatrix<float>& x, const DenseMatrix<float>& g, const BatchNorm& norm);

}  // namespace bitgraph
