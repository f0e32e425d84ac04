// SPDX-License-Identifier: Apache-2.0
// The kernels that backends of the host offer: masked sums of every format; products of CSR, and of what else a backend
// does not unpack.
#pragma once

#define BITGRAPH_INSTANTIATE_MASKED_SUM(Backend)                                            \
  template std::uint64_t masked_sum(const Backend&, const MaskedSumArgs<CsrPatternView>&);  \
  template std::uint64_t masked_sum(const Backend&, const MaskedSumArgs<BitTileView<4>>&);  \
  template std::uint64_t masked_sum(const Backend&, const MaskedSumArgs<BitTileView<8>>&);  \
  template std::uint64_t masked_sum(const Backend&, const MaskedSumArgs<BitTileView<16>>&); \
  template std::uint64_t masked_sum(const Backend&, const MaskedSumArgs<BitTileView<32>>&); \
  template std::uint64_t masked_sum(const Backend&, const MaskedSumArgs<BitTileView<64>>&);

#define BITGRAPH_INSTANTIATE_PRODUCT(Backend, Graph)                                   \
  template void product_sizes(const Backend&, const ProductArgs<Graph>&, EdgeOffset*); \
  template void product_fill(const Backend&, const ProductArgs<Graph>&, const ProductOut&);
