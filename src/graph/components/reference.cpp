// SPDX-License-Identifier: Apache-2.0
#include "formats/graph_views.hpp"
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

namespace {

[[gnu::used]] constexpr auto instances = for_types(GraphViews(), [](auto type) {
  using Graph = TypeOf<decltype(type)>;
  return static_cast<NodeId (*)(const Reference&, const ComponentsArgs<Graph>&)>(&components);
});

}  // namespace

}  // namespace bitgraph
