// SPDX-License-Identifier: Apache-2.0
// Bellman-Ford: every edge again and again, until nothing changes.
#include <bitgraph/ops/semiring.hpp>

#include "formats/graph_views.hpp"
#include "formats/rows.hpp"
#include "graph/sssp/sssp.hpp"

#include <algorithm>

namespace bitgraph {

template <class Graph, class Weight, class Distance>
void sssp(const Reference&, const SsspArgs<Graph, Weight, Distance>& args) {
  std::fill_n(args.distance, args.out.nrows, unreached<Distance>());
  args.distance[args.source] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (NodeId i = 0; i < args.out.nrows; ++i) {
      if (args.distance[i] == unreached<Distance>()) continue;
      EdgeOffset e = args.row_start[i];
      for_each_entry(args.out, i, [&](NodeId j) {
        const auto weight = static_cast<Distance>(args.weights[e++]);
        if (args.distance[i] >= unreached<Distance>() - weight) return;
        const Distance through = args.distance[i] + weight;
        if (!(through < args.distance[j])) return;
        args.distance[j] = through;
        changed = true;
      });
    }
  }
}

namespace {

[[gnu::used]] constexpr auto instances = for_types(GraphViews(), [](auto type) {
  using Graph = TypeOf<decltype(type)>;
  return instances_of(
      static_cast<void (*)(const Reference&, const SsspArgs<Graph, std::uint8_t, std::int32_t>&)>(&sssp),
      static_cast<void (*)(const Reference&, const SsspArgs<Graph, float, float>&)>(&sssp));
});

}  // namespace

}  // namespace bitgraph
