// SPDX-License-Identifier: Apache-2.0
#include "formats/graph_views.hpp"
#include "graph/coloring/coloring.hpp"

#include <bit>

namespace bitgraph {

namespace {

/// The smallest colour that no neighbour of higher priority has; -1 where one of them has none yet. Colours are looked
/// for 64 at a time: few graphs need more.
template <class Graph>
std::int32_t free_color(const ColoringArgs<Graph>& args, NodeId i) {
  const std::uint64_t own = args.priority[i];
  for (std::int32_t first = 0;; first += 64) {
    std::uint64_t taken = 0;
    const bool waits = args.graph.any(i, [&](NodeId j) {
      if (args.priority[j] <= own) return false;  // the row itself too
      const std::int32_t color = peek(args.color[j]);
      if (color >= first && color < first + 64) taken |= std::uint64_t{1} << (color - first);
      return color < 0;
    });
    if (waits) return -1;
    if (taken != ~std::uint64_t{0}) return first + std::countr_one(taken);
  }
}

}  // namespace

// A product over max-times would find the rows of a round, but not the smallest free colour: a loop over the row does
// both.
template <class Graph>
void color_rows(const Cpu& backend, const ColoringArgs<Graph>& args) {
  decide_all(backend.device, args.graph.nrows(), args.open, [&](NodeId i) {
    const std::int32_t color = free_color(args, i);
    if (color >= 0) publish(args.color[i], color);
    return color >= 0;
  });
}

namespace {

[[gnu::used]] constexpr auto instances = for_types(GraphViews(), [](auto type) {
  using Graph = TypeOf<decltype(type)>;
  return static_cast<void (*)(const Cpu&, const ColoringArgs<Graph>&)>(&color_rows);
});

}  // namespace

}  // namespace bitgraph
