// SPDX-License-Identifier: Apache-2.0
#include "formats/graph_views.hpp"
#include "formats/rows.hpp"
#include "graph/pagerank/pagerank.hpp"

#include <algorithm>
#include <cmath>

namespace bitgraph {

template <class Graph, class T>
void pagerank_step(const Reference&, const PageRankArgs<Graph, T>& args) {
  for (std::size_t block = 0; block * pagerank_block < args.in.nrows; ++block) {
    double change = 0;
    double stranded = 0;
    const std::size_t end = std::min<std::size_t>(args.in.nrows, (block + 1) * pagerank_block);
    for (std::size_t i = block * pagerank_block; i < end; ++i) {
      double sum = 0;
      for_each_entry(args.in, static_cast<NodeId>(i), [&](NodeId j) { sum += args.share[j]; });
      const T after = args.base + args.damping * static_cast<T>(sum);
      change += std::abs(after - args.rank[i]);
      if (args.inverse_degree[i] == 0) stranded += after;
      args.rank[i] = after;
      args.next_share[i] = after * args.inverse_degree[i];
    }
    args.partial[2 * block] = change;
    args.partial[2 * block + 1] = stranded;
  }
}

namespace {

[[gnu::used]] constexpr auto instances = for_types(GraphViews(), [](auto type) {
  using Graph = TypeOf<decltype(type)>;
  return instances_of(static_cast<void (*)(const Reference&, const PageRankArgs<Graph, float>&)>(&pagerank_step),
                      static_cast<void (*)(const Reference&, const PageRankArgs<Graph, double>&)>(&pagerank_step));
});

}  // namespace

}  // namespace bitgraph
