// SPDX-License-Identifier: Apache-2.0
// What a sum on a CUDA device asks for beforehand: a copy of X (sum/narrow.cuh, sum/halves.cuh), an order of the
// rows (sum/ordered.cuh).
#pragma once

#include <cstddef>
#include <cstdint>

namespace bitgraph::spmm_cuda {

constexpr std::size_t few_features = 64;
constexpr std::uint64_t great_many_entries = std::uint64_t{1} << 20;

/// Whether a sum of so many features gains by an order of the rows: fewer have kernels that need none.
constexpr bool sums_by_order(std::size_t features) noexcept { return features > few_features / 2; }

/// Whether a sum over so many entries is of a copy of X, which is small beside what is gathered: where X has few
/// features and has weights, or rows that do not begin with whole fours of floats; and where it has weights that a
/// great many entries would ask for.
constexpr bool copies_features(std::size_t nrows, std::size_t ncols, std::uint64_t entries, bool in_fours,
                               bool weighted) noexcept {
  const bool long_rows = entries >= std::uint64_t{64} * nrows;
  if (ncols > few_features) return in_fours && weighted && long_rows && entries > great_many_entries;
  if (in_fours && !weighted) return false;
  return in_fours && sums_by_order(ncols) ? long_rows : entries >= nrows;
}

/// Whether signs of sums come from a copy of X in halves (sum/signs_of_halves.cuh): where so many entries are gathered
/// that half the bytes pay for the copy.
constexpr bool gathers_halves(std::size_t nrows, std::size_t ncols, std::uint64_t entries) noexcept {
  constexpr std::uint64_t enough = 1'900'000;
  return ncols >= few_features && entries >= enough && entries >= std::uint64_t{14} * nrows;
}

}  // namespace bitgraph::spmm_cuda
