// SPDX-License-Identifier: Apache-2.0
// Every graph format: the kernels that a backend offers.
#pragma once

#define BITGRAPH_INSTANTIATE_MXM_ON(Backend, Graph)                                    \
  template std::uint64_t masked_sum(const Backend&, const MaskedSumArgs<Graph>&);      \
  template void product_sizes(const Backend&, const ProductArgs<Graph>&, EdgeOffset*); \
  template void product_fill(const Backend&, const ProductArgs<Graph>&, const ProductOut&);

#define BITGRAPH_INSTANTIATE_MXM(Backend)               \
  BITGRAPH_INSTANTIATE_MXM_ON(Backend, CsrPatternView)  \
  BITGRAPH_INSTANTIATE_MXM_ON(Backend, BitTileView<4>)  \
  BITGRAPH_INSTANTIATE_MXM_ON(Backend, BitTileView<8>)  \
  BITGRAPH_INSTANTIATE_MXM_ON(Backend, BitTileView<16>) \
  BITGRAPH_INSTANTIATE_MXM_ON(Backend, BitTileView<32>) \
  BITGRAPH_INSTANTIATE_MXM_ON(Backend, BitTileView<64>)
