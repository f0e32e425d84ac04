// SPDX-License-Identifier: Apache-2.0
// Every graph format with every pair of operand and output types, SELL with votes: the kernels that a backend offers.
#pragma once

#define BITGRAPH_INSTANTIATE_SPMM_ON(Backend, Graph, In)                        \
  template void spmm(const Backend&, const SpmmArgs<Graph, In, BitsOut>& args); \
  template void spmm(const Backend&, const SpmmArgs<Graph, In, FloatOut>& args);

#define BITGRAPH_INSTANTIATE_SPMM_OF(Backend, In)            \
  BITGRAPH_INSTANTIATE_SPMM_ON(Backend, CsrPatternView, In)  \
  BITGRAPH_INSTANTIATE_SPMM_ON(Backend, BitTileView<4>, In)  \
  BITGRAPH_INSTANTIATE_SPMM_ON(Backend, BitTileView<8>, In)  \
  BITGRAPH_INSTANTIATE_SPMM_ON(Backend, BitTileView<16>, In) \
  BITGRAPH_INSTANTIATE_SPMM_ON(Backend, BitTileView<32>, In) \
  BITGRAPH_INSTANTIATE_SPMM_ON(Backend, BitTileView<64>, In)

#define BITGRAPH_INSTANTIATE_SPMM(Backend)                \
  BITGRAPH_INSTANTIATE_SPMM_ON(Backend, SellView, BitsIn) \
  BITGRAPH_INSTANTIATE_SPMM_OF(Backend, BitsIn)           \
  BITGRAPH_INSTANTIATE_SPMM_OF(Backend, FloatIn)
