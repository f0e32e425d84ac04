// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>

#include <vector>

namespace bitgraph::nn {

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
