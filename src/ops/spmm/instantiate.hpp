// SPDX-License-Identifier: Apache-2.0
// Every graph format with every pair of operand and output types, SELL with votes: the kernels that a backend offers.
#pragma once

#define BITGRAPH_INSTANTIATE_SPMM_ON(Backend, Graph)                                 \
  template void spmm(const Backend&, const SpmmArgs<Graph, BitsIn, BitsOut>& args);  \
  template void spmm(const Backend&, const SpmmArgs<Graph, BitsIn, FloatOut>& args); \
  template void spmm(const Backend&, const SpmmArgs<Graph, FloatIn, BitsOut>& args); \
  template void spmm(const Backend&, const SpmmArgs<Graph, FloatIn, FloatOut>& args);

#define BITGRAPH_INSTANTIATE_SPMM(Backend)                                              \
  template void spmm(const Backend&, const SpmmArgs<SellView, BitsIn, BitsOut>& args);  \
  template void spmm(const Backend&, const SpmmArgs<SellView, BitsIn, FloatOut>& args); \
  BITGRAPH_INSTANTIATE_SPMM_ON(Backend, CsrPatternView)                                 \
  BITGRAPH_INSTANTIATE_SPMM_ON(Backend, BitTileView<4>)                                 \
  BITGRAPH_INSTANTIATE_SPMM_ON(Backend, BitTileView<8>)                                 \
  BITGRAPH_INSTANTIATE_SPMM_ON(Backend, BitTileView<16>)                                \
  BITGRAPH_INSTANTIATE_SPMM_ON(Backend, BitTileView<32>)                                \
  BITGRAPH_INSTANTIATE_SPMM_ON(Backend, BitTileView<64>)
