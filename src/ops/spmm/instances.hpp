// SPDX-License-Identifier: Apache-2.0
// Every graph format with every pair of operand and output types, SELL with votes: the kernels that a backend offers.
#pragma once

#include "formats/graph_views.hpp"
#include "ops/spmm/tile_words.hpp"

#include <tuple>

namespace bitgraph {

template <class Backend, class Graphs, class In, class Out>
constexpr auto spmm_kernels(Graphs graphs) {
  return for_types(graphs, [](auto type) {
    using Args = SpmmArgs<TypeOf<decltype(type)>, In, Out>;
    return static_cast<void (*)(const Backend&, const Args&)>(&spmm);
  });
}

/// Of pattern CSR and tiles of every side.
template <class Backend, class In, class Out>
constexpr auto spmm_kernels() {
  return spmm_kernels<Backend, GraphViews, In, Out>(GraphViews());
}

template <class Backend>
constexpr auto spmm_kernels_of_all() {
  using Sell = Types<SellView>;
  return std::make_tuple(spmm_kernels<Backend, BitsIn, BitsOut>(), spmm_kernels<Backend, BitsIn, FloatOut>(),
                         spmm_kernels<Backend, FloatIn, BitsOut>(), spmm_kernels<Backend, FloatIn, FloatOut>(),
                         spmm_kernels<Backend, Sell, BitsIn, BitsOut>(Sell()),
                         spmm_kernels<Backend, Sell, BitsIn, FloatOut>(Sell()));
}

/// Votes by words of the graph's bits, and their counts.
template <class Backend, int K>
constexpr auto tile_word_kernels_of() {
  return for_types(Types<BitsOut, FloatOut>(), [](auto type) {
    using Args = TileWordArgs<K, TypeOf<decltype(type)>>;
    return static_cast<void (*)(const Backend&, const Args&)>(&spmm);
  });
}

template <class Backend>
constexpr auto tile_word_kernels() {
  return std::make_tuple(tile_word_kernels_of<Backend, 4>(), tile_word_kernels_of<Backend, 8>(),
                         tile_word_kernels_of<Backend, 16>(), tile_word_kernels_of<Backend, 32>(),
                         tile_word_kernels_of<Backend, 64>());
}

}  // namespace bitgraph
