// SPDX-License-Identifier: Apache-2.0
#pragma once

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

}  // namespace bitgraph
