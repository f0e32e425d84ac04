// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bitgraph {

/// How a vote multiplies bits of the graph, which mean 0 and 1, with bits x of X, which mean -1 and +1 (BitGNN, section
/// 3.2.2). The results are the same.
enum class SpmmStrategy {
  automatic,   ///< carry_save; twice_ones on a CUDA device for tiles of side 4 and 8, 24 of them or more a tile row
  carry_save,  ///< the rows of X of a row's neighbours are added up, word by word, in bit-sliced counters
  /// The rest is for BitTileMatrix: words of the graph's bits, put together from neighbouring tiles on the fly (FRDC,
  /// section 3.2.1), meet 32 or 64 rows of X.
  each_bit,    ///< every bit that is set adds its row of X
  difference,  ///< popcount(a & x) - popcount(a & ~x), where x is a column of X: its rows are transposed on the fly
  twice_ones,  ///< 2 popcount(a & x) - popcount(a)
};

}  // namespace bitgraph
