// SPDX-License-Identifier: Apache-2.0
#include "formats/graph_views.hpp"
#include "formats/rows.hpp"
#include "graph/bfs/bfs.hpp"

#include <algorithm>

namespace bitgraph {

template <class Graph>
void bfs(const Reference&, const BfsArgs<Graph>& args) {
  std::fill_n(args.level, args.out.nrows, args.unreached);
  NodeId size = 0;
  args.level[args.source] = 0;
  args.queue[size++] = args.source;
  for (NodeId next = 0; next < size; ++next) {
    const NodeId row = args.queue[next];
    for_each_entry(args.out, row, [&](NodeId j) {
      if (args.level[j] != args.unreached) return;
      args.level[j] = args.level[row] + 1;
      args.queue[size++] = j;
    });
  }
  *args.counts = {args.level[args.queue[size - 1]] + 1, size};
}

namespace {

[[gnu::used]] constexpr auto instances = for_types(GraphViews(), [](auto type) {
  using Graph = TypeOf<decltype(type)>;
  return static_cast<void (*)(const Reference&, const BfsArgs<Graph>&)>(&bfs);
});

}  // namespace

}  // namespace bitgraph
