// SPDX-License-Identifier: Apache-2.0
// What the CUDA backend of mxm offers. Named in builds with CUDA only. All wait for the device: for a sum, or for the
// size of a result.
#pragma once

#include "ops/mxm/mxm.hpp"

#include <bitgraph/core/buffer.hpp>

namespace bitgraph {

/// The sum of all entries of a b; `items` are the entries of a, or its tiles.
template <class Graph>
std::uint64_t whole_sum(const Cuda& backend, const Graph& a, EdgeOffset items, const Graph& b);

/// Without args.marks.
template <class Graph>
std::uint64_t masked_sum(const Cuda& backend, const MaskedSumArgs<Graph>& args);

/// The product as a pattern, and its counts where `counts` is not null. Without args.workspace.
CsrPattern product(const Cuda& backend, const ProductArgs<CsrPatternView>& args, Buffer<std::uint32_t>* counts);

/// Entries of the operands, or their tiles.
struct ProductItems {
  EdgeOffset a = 0, b = 0, mask = 0;
};

/// The boolean product of tiles. Without args.workspace.
template <int K>
BitTileMatrix tile_product(const Cuda& backend, const TileProductArgs<K>& args, const ProductItems& tiles);

}  // namespace bitgraph
