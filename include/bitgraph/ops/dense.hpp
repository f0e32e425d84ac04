// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include <span>

namespace bitgraph {

// Small operators on dense matrices: what stands between the products of a network and of its training. All of them
// give the same bits on every device and throw usage naming the shapes or devices that do
// not go together. O(elements).

/// out = alpha x + beta out. Either may be a slice: some columns of a wider matrix, the outputs of layers side by side.
/// With beta 0 what is in out does not count, even if it is not a number.
void accumulate(const DenseSlice<float>& out, const DenseSlice<const float>& x, float alpha = 1, float beta = 1);

/// y(i, f) = the larger of x(i, f) and y(i, f): as signs, or.
void maximum_into(DenseMatrix<float>& y, const DenseMatrix<float>& x);

/// x(i, f) *= scale[i].
void scale_rows(DenseMatrix<float>& x, std::span<const float> scale);

/// out(n, :) = x(rows[n], :). `rows` lies on the host; it is checked there.
void gather_rows_into(DenseMatrix<float>& out, const DenseMatrix<float>& x, std::span<const NodeId> rows);
void gather_rows_into(BitMatrix<PlusMinusOne>& out, const BitMatrix<PlusMinusOne>& x, std::span<const NodeId> rows);

/// The same for rows that lie where x does. On a CUDA device they are not checked, and nothing waits for it.
void gather_rows_into(DenseMatrix<float>& out, const DenseMatrix<float>& x, const Buffer<NodeId>& rows);
void gather_rows_into(BitMatrix<PlusMinusOne>& out, const BitMatrix<PlusMinusOne>& x, const Buffer<NodeId>& rows);

/// out[f] = sum of x(:, f), in double: parts of 128 rows or more, as the number of rows decides, then the parts in
/// order.
void column_sums_into(std::span<float> out, const DenseMatrix<float>& x);

/// Signs as floats: out(i, j) = row_scale[i] (empty: 1) where the bit is set, its negative where it is not, and 0 where
/// `keep` (null: everything is kept) has no bit.
void expand_into(DenseMatrix<float>& out, const BitMatrix<PlusMinusOne>& x, std::span<const float> row_scale = {},
                 const BitMatrix<ZeroOne>* keep = nullptr);

/// out = x^T.
void transpose_into(DenseMatrix<float>& out, const DenseMatrix<float>& x);

/// The transpose of expand_into: out(j, i) = scale[i] where bit (i, j) is set, else its negative. On the host only.
void expand_transposed_into(DenseMatrix<float>& out, const BitMatrix<PlusMinusOne>& x, std::span<const float> scale);

/// out[i] = sum over j of x(i, j) values[j], in double: 16 sums of every 16th column, added pair by pair. On the host
/// only.
void signed_sums_into(std::span<double> out, const BitMatrix<PlusMinusOne>& x, std::span<const float> values);

}  // namespace bitgraph
