// SPDX-License-Identifier: Apache-2.0
// When a sum on a CUDA device makes a copy of X first: see cuda_narrow_sum.cuh.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bitgraph::spmm_cuda {

constexpr std::size_t few_features = 64;

/// Whether a sum over so many entries is of a copy of X: where X has weights, or rows that do not begin with whole
/// fours of floats, and is small beside what is gathered.
constexpr bool copies_features(std::size_t nrows, std::size_t ncols, std::uint64_t entries, bool in_fours,
                               bool weighted) noexcept {
  if (ncols > few_features || (in_fours && !weighted)) return false;
  const std::uint64_t least = in_fours && ncols > few_features / 2 ? 64 : 1;  // entries for each row of X
  return entries >= least * nrows;
}

}  // namespace bitgraph::spmm_cuda
