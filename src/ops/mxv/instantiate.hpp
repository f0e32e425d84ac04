// SPDX-License-Identifier: Apache-2.0
// Every graph format with every semiring and pair of vector types: the kernels that a backend offers.
#pragma once

#define BITGRAPH_INSTANTIATE_MXV_ON(Backend, Graph, S, In, Out)         \
  template void mxv(const Backend&, const MxvArgs<S, Graph, In, Out>&); \
  template void vxm(const Backend&, const MxvArgs<S, Graph, In, Out>&);

#define BITGRAPH_INSTANTIATE_MXV_OF(Backend, S, In, Out)            \
  BITGRAPH_INSTANTIATE_MXV_ON(Backend, CsrPatternView, S, In, Out)  \
  BITGRAPH_INSTANTIATE_MXV_ON(Backend, BitTileView<4>, S, In, Out)  \
  BITGRAPH_INSTANTIATE_MXV_ON(Backend, BitTileView<8>, S, In, Out)  \
  BITGRAPH_INSTANTIATE_MXV_ON(Backend, BitTileView<16>, S, In, Out) \
  BITGRAPH_INSTANTIATE_MXV_ON(Backend, BitTileView<32>, S, In, Out) \
  BITGRAPH_INSTANTIATE_MXV_ON(Backend, BitTileView<64>, S, In, Out)

#define BITGRAPH_INSTANTIATE_MXV_VALUES(Backend, T)                                   \
  BITGRAPH_INSTANTIATE_MXV_OF(Backend, PlusTimes, BitVectorView<>, ValuesView<T>)     \
  BITGRAPH_INSTANTIATE_MXV_OF(Backend, PlusTimes, ValuesView<const T>, ValuesView<T>) \
  BITGRAPH_INSTANTIATE_MXV_OF(Backend, PlusPair, ValuesView<const T>, ValuesView<T>)  \
  BITGRAPH_INSTANTIATE_MXV_OF(Backend, MinPlus, ValuesView<const T>, ValuesView<T>)   \
  BITGRAPH_INSTANTIATE_MXV_OF(Backend, MaxTimes, ValuesView<const T>, ValuesView<T>)  \
  BITGRAPH_INSTANTIATE_MXV_OF(Backend, MinFirst, ValuesView<const T>, ValuesView<T>)

#define BITGRAPH_INSTANTIATE_MXV(Backend)                                                    \
  BITGRAPH_INSTANTIATE_MXV_OF(Backend, OrAnd, BitVectorView<>, BitVectorView<std::uint64_t>) \
  BITGRAPH_INSTANTIATE_MXV_VALUES(Backend, float)                                            \
  BITGRAPH_INSTANTIATE_MXV_VALUES(Backend, double)                                           \
  BITGRAPH_INSTANTIATE_MXV_VALUES(Backend, std::int32_t)
