// SPDX-License-Identifier: Apache-2.0
// Seeded random operands for tests and benchmarks.
#pragma once

#include <bitgraph/core/random.hpp>
#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include <cmath>
#include <span>
#include <vector>

namespace bitgraph::test {

/// Uniform pattern with about `density` of all entries.
inline CsrPattern random_pattern(NodeId nrows, NodeId ncols, double density, std::uint64_t seed,
                                 const Device& device = {}) {
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  const auto entries = static_cast<std::size_t>(std::ceil(density * nrows * static_cast<double>(ncols)));
  for (std::size_t e = 0; e < entries && nrows != 0 && ncols != 0; ++e) {
    rows.push_back(static_cast<NodeId>(random_below({seed, 1, 0}, e, nrows)));
    cols.push_back(static_cast<NodeId>(random_below({seed, 2, 0}, e, ncols)));
  }
  return csr_from_edges(nrows, ncols, rows, cols, {}, device);
}

/// R-MAT with the usual corner probabilities .57, .19, .19: skewed degrees. Symmetric, without loops.
inline CsrPattern rmat_pattern(int scale, std::size_t edges, std::uint64_t seed, const Device& device = {}) {
  std::vector<NodeId> rows(edges);
  std::vector<NodeId> cols(edges);
  for (std::size_t e = 0; e < edges; ++e) {
    for (int level = 0; level < scale; ++level) {
      const double u = random_uniform_double({seed, static_cast<std::uint32_t>(level), 7}, e);
      rows[e] = rows[e] * 2 + (u >= 0.76 ? 1U : 0U);
      cols[e] = cols[e] * 2 + ((u >= 0.57 && u < 0.76) || u >= 0.95 ? 1U : 0U);
    }
  }
  const auto n = static_cast<NodeId>(std::size_t{1} << scale);
  return csr_from_edges(n, n, rows, cols, {.symmetrize = true, .drop_loops = true}, device);
}

/// A width x height grid, each node tied to its four neighbours.
inline CsrPattern grid_pattern(NodeId width, NodeId height, const Device& device = {}) {
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  for (NodeId y = 0; y < height; ++y) {
    for (NodeId x = 0; x < width; ++x) {
      const NodeId i = y * width + x;
      if (x + 1 < width) rows.push_back(i), cols.push_back(i + 1);
      if (y + 1 < height) rows.push_back(i), cols.push_back(i + width);
    }
  }
  return csr_from_edges(width * height, width * height, rows, cols, {.symmetrize = true}, device);
}

inline DenseMatrix<float> random_dense(std::size_t nrows, std::size_t ncols, std::uint64_t seed) {
  DenseMatrix<float> x(nrows, ncols);
  for (std::size_t n = 0; n < nrows * ncols; ++n) x.values()[n] = 2 * random_uniform({seed, 3, 0}, n) - 1;
  return x;
}

template <class Domain = PlusMinusOne>
BitMatrix<Domain> random_bits(std::size_t nrows, std::size_t ncols, std::uint64_t seed) {
  BitMatrix<Domain> x(nrows, ncols);
  for (std::size_t w = 0; w < x.words().size(); ++w) x.words()[w] = bitgraph::random_bits(RandomKey{seed, 4, 0}, w);
  if (ncols % 64 != 0) {
    for (std::size_t i = 0; i < nrows; ++i) {
      x.words()[(i + 1) * x.words_per_row() - 1] &= (std::uint64_t{1} << (ncols % 64)) - 1;
    }
  }
  return x;
}

inline std::vector<float> random_floats(std::size_t size, std::uint64_t seed, float low, float high) {
  std::vector<float> values(size);
  for (std::size_t n = 0; n < size; ++n) values[n] = low + (high - low) * random_uniform({seed, 5, 0}, n);
  return values;
}

/// The values of a pattern's entries in a dense matrix; the rest is 0.
inline DenseMatrix<float> dense_of(const CsrPattern& pattern, std::span<const float> values) {
  DenseMatrix<float> dense(pattern.nrows(), pattern.ncols());
  for (NodeId i = 0; i < pattern.nrows(); ++i) {
    for (EdgeOffset e = pattern.row_ptr()[i]; e < pattern.row_ptr()[i + 1]; ++e) {
      dense(i, pattern.col_ind()[e]) = values[e];
    }
  }
  return dense;
}

/// True where every padding bit is zero.
template <class Domain>
bool padding_is_zero(const BitMatrix<Domain>& x) {
  if (x.ncols() % 64 == 0) return true;
  for (std::size_t i = 0; i < x.nrows(); ++i) {
    if (x.words()[(i + 1) * x.words_per_row() - 1] >> (x.ncols() % 64) != 0) return false;
  }
  return true;
}

}  // namespace bitgraph::test
