// SPDX-License-Identifier: Apache-2.0
#include "formats/graph_views.hpp"
#include "graph/independent_set/independent_set.hpp"

namespace bitgraph {

// Bit-GraphBLAS has a round as a product over max-times, which asks every row for its largest open neighbour. Here a
// row stops at the first neighbour that decides about it, and only rows that are open are looked at again.
template <class Graph>
void independent_set(const Cpu& backend, const IndependentSetArgs<Graph>& args) {
  using namespace independent_set_state;
  decide_all(backend.device, args.graph.nrows(), args.open, [&](NodeId i) {
    const std::uint64_t own = args.priority[i];
    bool waits = false;
    const bool beaten = args.graph.any(i, [&](NodeId j) {
      if (args.priority[j] <= own) return false;  // the row itself too
      const std::uint8_t state = peek(args.state[j]);
      waits = waits || state == open;
      return state == inside;
    });
    if (!beaten && waits) return false;
    publish(args.state[i], beaten ? outside : inside);
    return true;
  });
}

namespace {

[[gnu::used]] constexpr auto instances = for_types(GraphViews(), [](auto type) {
  using Graph = TypeOf<decltype(type)>;
  return static_cast<void (*)(const Cpu&, const IndependentSetArgs<Graph>&)>(&independent_set);
});

}  // namespace

}  // namespace bitgraph
