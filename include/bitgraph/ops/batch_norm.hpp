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

/// The same for sparse x, absent entries being 0, on the host. O(entries + ncols).
[[nodiscard]] ColumnStatistics column_statistics(const CsrPattern& pattern, std::span<const float> values);

/// 1 / sqrt(variance + epsilon) of each column, on the host.
[[nodiscard]] Buffer<float> inverse_deviation(std::span<const float> variance, float epsilon = 1e-5F);

/// out = (x - mean) * inverse_deviation, column by column: batch norm without affine parameters. out may be x.
void batch_norm_into(DenseMatrix<float>& out, const DenseMatrix<float>& x, std::span<const float> mean,
                     std::span<const float> inverse_deviation);

/// Gradient of batch norm over the batch's own statistics: given y = batch_norm(x) and the gradient g of y, writes
/// inverse_deviation * (g - mean(g) - y * mean(g y)), column by column. out may be g.
void batch_norm_backward_into(DenseMatrix<float>& out, const DenseMatrix<float>& y, const DenseMatrix<float>& g,
                              std::span<const float> inverse_deviation);

}  // namespace bitgraph
