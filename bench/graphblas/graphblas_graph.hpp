// SPDX-License-Identifier: Apache-2.0
// A pattern as a matrix of SuiteSparse:GraphBLAS, and what its calls need around them.
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>

extern "C" {
#include <GraphBLAS.h>  // declares C functions, and says nothing of C++
}

#include <cstdio>
#include <cstdlib>
#include <span>

namespace bitgraph::graphblas {

/// Every call is expected to succeed.
inline void check(GrB_Info info, const char* what) {
  if (info == GrB_SUCCESS || info == GrB_NO_VALUE) return;
  std::fprintf(stderr, "GraphBLAS: %s: error %d\n", what, static_cast<int>(info));
  std::abort();
}

/// A in CSR; with `weights` their values as int32, else true everywhere, held once.
inline GrB_Matrix matrix_of(const CsrPattern& a, std::span<const float> weights = {}) {
  const std::size_t n = a.nrows();
  const std::size_t m = a.nvals();
  const std::size_t value_bytes = weights.empty() ? sizeof(bool) : m * sizeof(std::int32_t);
  auto* row_ptr = static_cast<GrB_Index*>(std::malloc((n + 1) * sizeof(GrB_Index)));
  auto* col_ind = static_cast<GrB_Index*>(std::malloc(m * sizeof(GrB_Index)));
  void* values = std::malloc(value_bytes);
  for (std::size_t i = 0; i <= n; ++i) row_ptr[i] = a.row_ptr()[i];
  for (std::size_t e = 0; e < m; ++e) col_ind[e] = a.col_ind()[e];
  if (weights.empty()) {
    *static_cast<bool*>(values) = true;
  } else {
    for (std::size_t e = 0; e < m; ++e) static_cast<std::int32_t*>(values)[e] = static_cast<std::int32_t>(weights[e]);
  }
  GrB_Matrix matrix = nullptr;
  check(GxB_Matrix_import_CSR(&matrix, weights.empty() ? GrB_BOOL : GrB_INT32, n, a.ncols(), &row_ptr, &col_ind,
                              &values, (n + 1) * sizeof(GrB_Index), m * sizeof(GrB_Index), value_bytes, weights.empty(),
                              false, nullptr),
        "import");
  return matrix;
}

}  // namespace bitgraph::graphblas
