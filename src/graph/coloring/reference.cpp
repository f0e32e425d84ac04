// SPDX-License-Identifier: Apache-2.0
#include "formats/graph_views.hpp"
#include "graph/coloring/coloring.hpp"

#include <algorithm>
#include <numeric>

namespace bitgraph {

template <class Graph>
void color_rows(const Reference&, const ColoringArgs<Graph>& args) {
  const NodeId n = args.graph.nrows();
  std::iota(args.open, args.open + n, NodeId{0});
  std::sort(args.open, args.open + n, [&](NodeId i, NodeId j) { return args.priority[i] > args.priority[j]; });
  for (NodeId k = 0; k < n; ++k) {
    const NodeId i = args.open[k];
    std::int32_t color = 0;
    while (args.graph.any(i, [&](NodeId j) { return j != i && args.color[j] == color; })) ++color;
    args.color[i] = color;
  }
}

namespace {

[[gnu::used]] constexpr auto instances = for_types(GraphViews(), [](auto type) {
  using Graph = TypeOf<decltype(type)>;
  return static_cast<void (*)(const Reference&, const ColoringArgs<Graph>&)>(&color_rows);
});

}  // namespace

}  // namespace bitgraph
