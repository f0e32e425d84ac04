// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/csr_matrix.hpp>

namespace bitgraph {

/// A weighted adjacency as one bit an entry and two vectors: the weight of (i, j) is row[i] * col[j]. What products
/// over the pattern take as row_scale and col_scale (BitGNN, section 3.1.2: binarizing an adjacency matrix by
/// factorization).
struct WeightFactors {
  Buffer<float> row;          ///< one a row; empty: ones
  Buffer<float> col;          ///< one a column; empty: ones, as for a mean over neighbours
  double largest_error = 0;   ///< over the entries, |weight - row[i] col[j]| / |weight|
  double relative_error = 0;  ///< root of the sum of the squares of all differences over that of all weights
};

struct FactorOptions {
  double tolerance = 1e-5;  ///< the largest error that counts as none
  /// Where the weights do not factor: the positive factors whose products are nearest, in the sense of least squares.
  bool approximate = false;
};

/// The factors of a matrix's weights, as D^-1/2 (A + I) D^-1/2 or D^-1 A saved with values have them. Of an entry's
/// component the factors are free by one constant: rows and columns get the same geometric mean, so that those of a
/// symmetric matrix are alike, but factors that are all equal become ones. Throws bad_input naming the entry for a
/// weight that is 0 or not finite; for the worst entry where the weights do not factor within the tolerance, unless an
/// approximation is wanted, and for a weight that is negative then. On the host, O(nvals), an approximation O(nvals)
/// for each of up to 200 rounds. Results do not depend on the number of threads.
[[nodiscard]] WeightFactors factor_weights(const CsrMatrix<float>& a, const FactorOptions& options = {},
                                           const Device& device = {});

}  // namespace bitgraph
