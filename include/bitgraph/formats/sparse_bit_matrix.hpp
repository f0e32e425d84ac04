// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

namespace bitgraph {

/// A bit matrix over {-1,+1} most of whose rows look alike: one base row, and for each row the columns where it
/// differs.
///
/// Binarized sparse features are of this kind: an absent feature falls on the same side of its column's mean in every
/// row. Element (i, j) is base(j), negated where `flips` has the entry (i, j).
struct SparseBitMatrix {
  BitMatrix<PlusMinusOne> base;  ///< 1 x ncols
  CsrPattern flips;              ///< nrows x ncols

  [[nodiscard]] std::size_t nrows() const noexcept { return flips.nrows(); }
  [[nodiscard]] std::size_t ncols() const noexcept { return flips.ncols(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return base.bytes() + flips.bytes(); }
};

/// The same bits, dense. O(nrows * ncols / 64 + flips), parallel.
[[nodiscard]] BitMatrix<PlusMinusOne> to_bit_matrix(const SparseBitMatrix& a);

}  // namespace bitgraph
