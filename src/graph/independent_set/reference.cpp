// SPDX-License-Identifier: Apache-2.0
#include "graph/independent_set/independent_set.hpp"

#include <algorithm>
#include <numeric>

namespace bitgraph {

template <class Graph>
void independent_set(const Reference&, const IndependentSetArgs<Graph>& args) {
  const NodeId n = args.graph.nrows();
  std::iota(args.open, args.open + n, NodeId{0});
  std::sort(args.open, args.open + n, [&](NodeId i, NodeId j) { return args.priority[i] > args.priority[j]; });
  for (NodeId k = 0; k < n; ++k) {
    const NodeId i = args.open[k];
    bool free = true;
    args.graph.each(i, [&](NodeId j) { free = free && (j == i || args.state[j] != independent_set_state::inside); });
    args.state[i] = free ? independent_set_state::inside : independent_set_state::outside;
  }
}

template void independent_set(const Reference&, const IndependentSetArgs<CsrPatternView>&);
template void independent_set(const Reference&, const IndependentSetArgs<BitTileView<4>>&);
template void independent_set(const Reference&, const IndependentSetArgs<BitTileView<8>>&);
template void independent_set(const Reference&, const IndependentSetArgs<BitTileView<16>>&);
template void independent_set(const Reference&, const IndependentSetArgs<BitTileView<32>>&);
template void independent_set(const Reference&, const IndependentSetArgs<BitTileView<64>>&);

}  // namespace bitgraph
