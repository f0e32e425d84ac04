// SPDX-License-Identifier: Apache-2.0
// The types that spmm is made for, as lists: graph formats, pairs of a dense operand and an output, and votes over
// SELL. A backend offers a kernel for each.
#pragma once

#include <bitgraph/formats/bfloat16.hpp>
#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include "formats/graph_views.hpp"
#include "ops/spmm/tile_words.hpp"

#include <utility>

namespace bitgraph {

/// The types of a dense operand and of the output.
template <class Operand, class Output>
struct SpmmPair {
  using X = Operand;
  using Out = Output;
  using XView = decltype(std::declval<const X&>().view());
  using OutView = decltype(std::declval<Out&>().view());
};

using SpmmBits = BitMatrix<PlusMinusOne>;
using SpmmFloats = DenseMatrix<float>;
using SpmmBfloats = DenseMatrix<Bfloat16>;
using SpmmPairs =
    Types<SpmmPair<SpmmBits, SpmmBits>, SpmmPair<SpmmBits, SpmmFloats>, SpmmPair<SpmmFloats, SpmmBits>,
          SpmmPair<SpmmFloats, SpmmFloats>, SpmmPair<SpmmBfloats, SpmmFloats>, SpmmPair<SpmmBfloats, SpmmBfloats>>;

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
  const auto over_graphs = for_types(SpmmPairs(), [](auto type) {
    using Pair = TypeOf<decltype(type)>;
    return spmm_kernels<Backend, typename Pair::XView, typename Pair::OutView>();
  });
  return instances_of(over_graphs, spmm_kernels<Backend, Sell, BitsIn, BitsOut>(Sell()),
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
  return instances_of(tile_word_kernels_of<Backend, 4>(), tile_word_kernels_of<Backend, 8>(),
                      tile_word_kernels_of<Backend, 16>(), tile_word_kernels_of<Backend, 32>(),
                      tile_word_kernels_of<Backend, 64>());
}

}  // namespace bitgraph
