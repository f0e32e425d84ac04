// SPDX-License-Identifier: Apache-2.0
#include "formats/graph_views.hpp"
#include "formats/rows.hpp"
#include "graph/strong_components/strong_components.hpp"

#include <algorithm>

namespace bitgraph {

namespace {

constexpr NodeId none = ~NodeId{0};

/// Marks in `reached` the rows that `start` leads to.
template <class Graph>
void reach(const Graph& a, NodeId start, NodeId* stack, NodeId* reached) {
  NodeId height = 0;
  stack[height++] = start;
  reached[start] = 1;
  while (height != 0) {
    for_each_entry(a, stack[--height], [&](NodeId j) {
      if (reached[j] == 1) return;
      reached[j] = 1;
      stack[height++] = j;
    });
  }
}

}  // namespace

// A component is what a row leads to and is led to from: for the latter, rows with an entry in the set are added until
// there is none.
template <class Graph>
NodeId strong_components(const Reference&, const StrongComponentsArgs<Graph>& args) {
  const NodeId n = args.out.nrows;
  std::fill_n(args.component, n, none);
  NodeId count = 0;
  for (NodeId root = 0; root < n; ++root) {
    if (args.component[root] != none) continue;
    std::fill_n(args.lowest, n, NodeId{0});
    reach(args.out, root, args.stack, args.lowest);
    args.component[root] = count;
    for (bool grown = true; grown;) {
      grown = false;
      for (NodeId i = 0; i < n; ++i) {
        if (args.lowest[i] == 0 || args.component[i] == count) continue;
        if (!any_entry(args.out, i, [&](NodeId j) { return args.component[j] == count; })) continue;
        args.component[i] = count;
        grown = true;
      }
    }
    ++count;
  }
  return count;
}

namespace {

[[gnu::used]] constexpr auto instances = for_types(GraphViews(), [](auto type) {
  using Graph = TypeOf<decltype(type)>;
  return static_cast<NodeId (*)(const Reference&, const StrongComponentsArgs<Graph>&)>(&strong_components);
});

}  // namespace

}  // namespace bitgraph
