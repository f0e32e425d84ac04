// SPDX-License-Identifier: Apache-2.0
#include "formats/rows.hpp"
#include "ops/spmm/elements.hpp"
#include "ops/spmm/instances.hpp"
#include "ops/spmm/spmm.hpp"
#include "ops/spmm/tile_words.hpp"

namespace bitgraph {

template <class Graph, class In, class Out>
void spmm(const Reference&, const SpmmArgs<Graph, In, Out>& args) {
  for_each_row(args.a, [&](NodeId i, const auto& for_each_neighbor) {
    for (std::size_t f = 0; f < args.x.ncols; ++f) {
      float sum = 0;
      for_each_neighbor([&](NodeId j) {
        const float value = element(args.x, j, f);
        sum += args.col_scale == nullptr ? value : args.col_scale[j] * value;
      });
      store(args.out, i, f, args.epilogue.apply(i, f, sum));
    }
  });
}

/// The strategies differ in speed only.
template <int K, class Out>
void spmm(const Reference& backend, const TileWordArgs<K, Out>& args) {
  spmm(backend, args.spmm);
}

[[gnu::used]] constexpr auto spmm_reference_kernels = spmm_kernels_of_all<Reference>();
[[gnu::used]] constexpr auto spmm_reference_tile_words = tile_word_kernels<Reference>();

}  // namespace bitgraph
