// SPDX-License-Identifier: Apache-2.0
#include "formats/graph_views.hpp"
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

namespace {

[[gnu::used]] constexpr auto instances = for_types(GraphViews(), [](auto type) {
  using Graph = TypeOf<decltype(type)>;
  return static_cast<void (*)(const Reference&, const IndependentSetArgs<Graph>&)>(&independent_set);
});

}  // namespace

}  // namespace bitgraph
