// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/csr_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include <span>

namespace bitgraph {

/// Factors and terms around a sum s of a sparse product: row_scale (s + col_offset) + bias. Empty: ones and zeros.
struct SparseProductOptions {
  std::span<const EdgeOffset> places = {};  ///< of each entry's value among the values; empty: one after the other
  std::span<const float> row_scale = {};    ///< one a row of X
  std::span<const float> col_offset = {};   ///< one a column of W
  std::span<const float> bias = {};         ///< the same
};

/// out = X W, where X has the entries of a pattern with a value each: rows of features of which most are zero. The
/// first rows of X count, as many as out has. Sums are made in the order of a row's entries, product and sum rounded
/// one by one: the same bits for any number of threads and every instruction set. The pattern's columns must be rows of
/// W. Allocates nothing. O(entries * columns of W). Throws usage for shapes that do not go together; not_possible off
/// the host.
void sparse_product_into(DenseMatrix<float>& out, const CsrPattern& x, std::span<const float> values,
                         const DenseMatrix<float>& w, const SparseProductOptions& options = {});

/// out = X^T G, the first rows of X, as many as G has: each row of G is added, times a value, to the rows of out that
/// the entries name, in the order of the rows, product and sum rounded one by one. Allocates nothing. The rest as
/// above.
void sparse_gradient_into(DenseMatrix<float>& out, const CsrPattern& x, std::span<const float> values,
                          const DenseMatrix<float>& g);

/// A sparse matrix by rows and by columns, so that some of its rows can be multiplied, and the gradient of such a
/// product be made, on a CUDA device. Columns are cut into parts, which are added up in their order.
struct SparseBothWays {
  CsrMatrix<float> rows;
  CsrMatrix<float> columns;    ///< the transpose
  Buffer<NodeId> part_column;  ///< of each part
  Buffer<EdgeOffset> part;     ///< of each column, its first part; and how many there are
  static constexpr EdgeOffset part_entries = 128;

  SparseBothWays() = default;
  /// From a matrix on the host. O(entries).
  SparseBothWays(const CsrMatrix<float>& matrix, const Device& device);
};

/// Rows of it, one for each of `nodes`, with the entries that `keep` has: a bit for each of those rows and each column.
struct SparseSample {
  const SparseBothWays* all = nullptr;
  std::span<const NodeId> nodes;             ///< on the device; no node twice
  const BitMatrix<ZeroOne>* keep = nullptr;  ///< null: all entries
  float scale = 1;                           ///< of each value
};

/// out = X W + bias of the first rows of a sample, as many as out has. Throws usage for shapes that do not go together;
/// not_possible on the host. The same bits in every call. O(entries of those rows * columns of W).
void sparse_product_into(DenseMatrix<float>& out, const SparseSample& x, const DenseMatrix<float>& w,
                         std::span<const float> bias = {});

/// out = X^T G of the first rows of a sample, as many as G has. O(entries of the whole matrix + entries of those rows *
/// columns of G). The rest as above.
void sparse_gradient_into(DenseMatrix<float>& out, const SparseSample& x, const DenseMatrix<float>& g);

}  // namespace bitgraph
