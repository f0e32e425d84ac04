// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/sparse_bit_matrix.hpp>

#include "core/threads/parallel.hpp"

#include <algorithm>

namespace bitgraph {

BitMatrix<PlusMinusOne> to_bit_matrix(const SparseBitMatrix& a) {
  require(a.base.nrows() == 1 && a.base.ncols() == a.ncols(), "the base row's width differs from the matrix's");
  BitMatrix<PlusMinusOne> bits(a.nrows(), a.ncols(), a.flips.device());
  const auto base = a.base.view();
  const auto out = bits.view();
  parallel_for(a.flips.device(), a.nrows(), 256, [&](std::size_t i) {
    std::uint64_t* row = out.row(i);
    std::copy_n(base.row(0), base.words_per_row, row);
    for (const NodeId j : a.flips.row(static_cast<NodeId>(i))) row[j / 64] ^= std::uint64_t{1} << (j % 64);
  });
  return bits;
}

}  // namespace bitgraph
