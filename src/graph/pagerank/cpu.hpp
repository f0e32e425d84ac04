// SPDX-License-Identifier: Apache-2.0
// What the SIMD kernels of PageRank see: plain pointers, whatever the graph's format.
#pragma once

#include "graph/pagerank/pagerank.hpp"

namespace bitgraph::pagerank_cpu {

/// A graph of any format. tile_dim 0 is pattern CSR: ptr and ind are its row_ptr and col_ind; else those of tiles.
struct Matrix {
  int tile_dim = 0;
  NodeId nrows = 0;
  const EdgeOffset* ptr = nullptr;
  const NodeId* ind = nullptr;
  const void* tiles = nullptr;
};

inline Matrix matrix_of(const CsrPatternView& a) { return {0, a.nrows, a.row_ptr, a.col_ind, nullptr}; }

template <int K>
Matrix matrix_of(const BitTileView<K>& a) {
  return {K, a.nrows, a.tile_row_ptr, a.tile_col_ind, a.bit_tiles};
}

/// Blocks [first, last) of an iteration, with the instruction set in use.
void step_blocks(const PageRankArgs<Matrix, float>& args, std::size_t first, std::size_t last);
void step_blocks(const PageRankArgs<Matrix, double>& args, std::size_t first, std::size_t last);

}  // namespace bitgraph::pagerank_cpu
