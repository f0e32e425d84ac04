// SPDX-License-Identifier: Apache-2.0
// Every graph format with every pair of operand and output types, SELL with votes: the kernels that a backend offers.
#pragma once

#define BITGRAPH_INSTANTIATE_SPMM_TO(Backend, In, Out)                                \
  template void spmm(const Backend&, const SpmmArgs<CsrPatternView, In, Out>& args);  \
  template void spmm(const Backend&, const SpmmArgs<BitTileView<4>, In, Out>& args);  \
  template void spmm(const Backend&, const SpmmArgs<BitTileView<8>, In, Out>& args);  \
  template void spmm(const Backend&, const SpmmArgs<BitTileView<16>, In, Out>& args); \
  template void spmm(const Backend&, const SpmmArgs<BitTileView<32>, In, Out>& args); \
  template void spmm(const Backend&, const SpmmArgs<BitTileView<64>, In, Out>& args);

#define BITGRAPH_INSTANTIATE_SPMM_OF(Backend, In)    \
  BITGRAPH_INSTANTIATE_SPMM_TO(Backend, In, BitsOut) \
  BITGRAPH_INSTANTIATE_SPMM_TO(Backend, In, FloatOut)

#define BITGRAPH_INSTANTIATE_SPMM(Backend)                                              \
  template void spmm(const Backend&, const SpmmArgs<SellView, BitsIn, BitsOut>& args);  \
  template void spmm(const Backend&, const SpmmArgs<SellView, BitsIn, FloatOut>& args); \
  BITGRAPH_INSTANTIATE_SPMM_OF(Backend, BitsIn)                                         \
  BITGRAPH_INSTANTIATE_SPMM_OF(Backend, FloatIn)
