// SPDX-License-Identifier: Apache-2.0
// Sparse float features times a dense matrix: what a full-precision first layer does where most features are zero.
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include "core/parallel.hpp"
#include "nn/model/transposed.hpp"

#include <algorithm>

namespace bitgraph::nn {

/// out = X W with X = pattern with `values`: O(entries * columns of W), a row by one thread.
inline void sparse_product(DenseMatrix<float>& out, const CsrPattern& pattern, std::span<const float> values,
                           const DenseMatrix<float>& w, const Device& device) {
  const std::size_t width = w.ncols();
  parallel_chunks(device, pattern.nrows(), 64, [&](Range rows) {
    for (std::size_t i = rows.begin; i < rows.end; ++i) {
      float* const __restrict sum = out.row(i).data();
      std::fill_n(sum, width, 0.0F);
      for (EdgeOffset e = pattern.row_ptr()[i]; e < pattern.row_ptr()[i + 1]; ++e) {
        const float value = values[e];
        const float* const __restrict row = w.row(pattern.col_ind()[e]).data();
        for (std::size_t f = 0; f < width; ++f) sum[f] += value * row[f];
      }
    }
  });
}

/// A pattern's transpose, and where each of its entries stands in the original: values can then be read through it.
struct TransposedEntries {
  CsrPattern pattern;
  Buffer<EdgeOffset> source;

  explicit TransposedEntries(const CsrPattern& a) : pattern(transpose(a)), source(a.nvals()) {
    std::vector<EdgeOffset> next(pattern.row_ptr().begin(), pattern.row_ptr().end() - 1);
    for (NodeId i = 0; i < a.nrows(); ++i) {
      for (EdgeOffset e = a.row_ptr()[i]; e < a.row_ptr()[i + 1]; ++e) source[next[a.col_ind()[e]]++] = e;
    }
  }
};

}  // namespace bitgraph::nn
