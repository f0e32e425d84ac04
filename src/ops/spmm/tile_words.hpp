// SPDX-License-Identifier: Apache-2.0
// Votes over tiles by words of the graph against columns of X (BitGNN, sections 3.2 and 3.3.2): stored in small tiles,
// computed in machine words. See SpmmStrategy.
#pragma once

#include <bitgraph/ops/spmm.hpp>

#include "ops/spmm/spmm.hpp"

namespace bitgraph {

/// A vote, or its counts, whose strategy is each_bit, difference or twice_ones; without col_scale.
template <int K, class Out>
struct TileWordArgs {
  SpmmArgs<BitTileView<K>, BitsIn, Out> spmm;
  SpmmStrategy strategy = SpmmStrategy::difference;
  EdgeOffset num_tiles = 0;
};

template <int K, class Out>
void spmm(const Reference& backend, const TileWordArgs<K, Out>& args);
template <int K, class Out>
void spmm(const Cpu& backend, const TileWordArgs<K, Out>& args);
template <int K, class Out>
void spmm(const Cuda& backend, const TileWordArgs<K, Out>& args);

#define BITGRAPH_INSTANTIATE_TILE_WORDS_OF(Backend, K)                 \
  template void spmm(const Backend&, const TileWordArgs<K, BitsOut>&); \
  template void spmm(const Backend&, const TileWordArgs<K, FloatOut>&);

#define BITGRAPH_INSTANTIATE_TILE_WORDS(Backend)  \
  BITGRAPH_INSTANTIATE_TILE_WORDS_OF(Backend, 4)  \
  BITGRAPH_INSTANTIATE_TILE_WORDS_OF(Backend, 8)  \
  BITGRAPH_INSTANTIATE_TILE_WORDS_OF(Backend, 16) \
  BITGRAPH_INSTANTIATE_TILE_WORDS_OF(Backend, 32) \
  BITGRAPH_INSTANTIATE_TILE_WORDS_OF(Backend, 64)

}  // namespace bitgraph
