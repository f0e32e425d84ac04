// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/sparse_bit_matrix.hpp>

#include <span>

namespace bitgraph {

/// A matrix as signs and one scale a row: x is about alpha[i] * sign(x).
struct Binarized {
  BitMatrix<PlusMinusOne> bits;
  Buffer<float> alpha;  ///< mean magnitude of each row
};

/// The same with the signs stored as differences from one row.
struct SparseBinarized {
  SparseBitMatrix bits;
  Buffer<float> alpha;
};

/// A column-wise affine map ahead of the sign, such as a batch norm: z(i, j) = (x(i, j) - shift[j]) * scale[j], scale
/// positive. Empty spans mean 0 and 1.
struct ColumnMap {
  std::span<const float> shift;
  std::span<const float> scale;
};

/// Signs (z >= 0 is +1: BitGNN, section 2.2) and the mean of |z| of each row. O(nrows * ncols).
[[nodiscard]] Binarized binarize(const DenseMatrix<float>& x, const ColumnMap& map = {});

/// The same into matrices that have the right shape; allocates nothing. Throws usage, naming the shapes.
void binarize_into(Binarized& out, const DenseMatrix<float>& x, const ColumnMap& map = {});

/// The same for sparse x (`pattern` with a value for each entry; absent ones are 0), on the host. O(entries + ncols).
[[nodiscard]] SparseBinarized binarize(const CsrPattern& pattern, std::span<const float> values,
                                       const ColumnMap& map = {});

/// The same into out.alpha, which has a value for each row; out.bits is made anew where out.alpha is.
void binarize_into(SparseBinarized& out, const CsrPattern& pattern, std::span<const float> values,
                   const ColumnMap& map = {});

}  // namespace bitgraph
