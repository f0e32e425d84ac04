// SPDX-License-Identifier: Apache-2.0
#include "formats/rows.hpp"
#include "ops/spmm/instantiate.hpp"
#include "ops/spmm/spmm.hpp"
#include "ops/spmm/tile_words.hpp"

namespace bitgraph {

namespace {

float element(const BitsIn& x, std::size_t j, std::size_t f) { return PlusMinusOne::value(x.bit(j, f)); }
float element(const FloatIn& x, std::size_t j, std::size_t f) { return x(j, f); }

void store(const FloatOut& out, std::size_t i, std::size_t f, float y) { out(i, f) = y; }
void store(const BitsOut& out, std::size_t i, std::size_t f, float y) {
  if (f % 64 == 0) out.row(i)[f / 64] = 0;
  out.row(i)[f / 64] |= static_cast<std::uint64_t>(y >= 0) << (f % 64);
}

}  // namespace

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

BITGRAPH_INSTANTIATE_SPMM(Reference)
BITGRAPH_INSTANTIATE_TILE_WORDS(Reference)

}  // namespace bitgraph
