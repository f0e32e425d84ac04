// SPDX-License-Identifier: Apache-2.0
#include "formats/rows.hpp"
#include "graph/components/components.hpp"

#include <algorithm>

namespace bitgraph {

template <class Graph>
NodeId components(const Reference&, const ComponentsArgs<Graph>& args) {
  NodeId* parent = args.parent;
  NodeId count = args.out.nrows;
  for (NodeId i = 0; i < args.out.nrows; ++i) parent[i] = i;
  const auto root = [&](NodeId i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for_each_row(args.out, [&](NodeId i, const auto& for_each_neighbor) {
    for_each_neighbor([&](NodeId j) {
      const NodeId x = root(i);
      const NodeId y = root(j);
      if (x == y) return;
      // The smaller id stays the root, and so becomes the label.
      parent[std::max(x, y)] = std::min(x, y);
      --count;
    });
  });
  for (NodeId i = 0; i < args.out.nrows; ++i) parent[i] = root(i);
  return count;
}

template NodeId components(const Reference&, const ComponentsArgs<CsrPatternView>&);
template NodeId components(const Reference&, const ComponentsArgs<BitTileView<4>>&);
template NodeId components(const Reference&, const ComponentsArgs<BitTileView<8>>&);
template NodeId components(const Reference&, const ComponentsArgs<BitTileView<16>>&);
template NodeId components(const Reference&, const ComponentsArgs<BitTileView<32>>&);
template NodeId components(const Reference&, const ComponentsArgs<BitTileView<64>>&);

}  // namespace bitgraph
