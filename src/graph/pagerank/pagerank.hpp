// SPDX-License-Identifier: Apache-2.0
// The kernel of PageRank: one iteration. It does not check and does not allocate.
#pragma once

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include "core/devices/backend.hpp"

#include <cstddef>

namespace bitgraph {

/// Rows that are added up together: sums over all nodes are taken block by block, then over the blocks in order, the
/// same whatever thread ran a block. A multiple of every tile side.
inline constexpr std::size_t pagerank_block = 256;

/// For every row i:  after = base + damping * (sum over the entries (i, j) of in of share(j)),
/// next_share(i) = after * inverse_degree(i), rank(i) = after. Arrays are padded to whole tiles; `share` is 0 behind
/// the last row.
template <class Graph, class T>
struct PageRankArgs {
  Graph in;
  T base = 0;
  T damping = 0;
  const T* inverse_degree = nullptr;  ///< 1 over the number of out-edges; 0 where there are none
  const T* share = nullptr;
  T* next_share = nullptr;
  T* rank = nullptr;
  double* partial = nullptr;  ///< out, two a block: the sum of |after - before|, and of the ranks without out-edges
};

template <class Graph, class T>
void pagerank_step(const Reference& backend, const PageRankArgs<Graph, T>& args);
template <class Graph, class T>
void pagerank_step(const Cpu& backend, const PageRankArgs<Graph, T>& args);

}  // namespace bitgraph
