// SPDX-License-Identifier: Apache-2.0
// Votes over tiles by words of the graph against columns of X (BitGNN, sections 3.2 and 3.3.2): stored in small tiles,
// computed in machine words. See SpmmStrategy.
#pragma once

#include <bitgraph/ops/spmm_strategy.hpp>

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

}  // namespace bitgraph
