// SPDX-License-Identifier: Apache-2.0
#include "formats/graph_views.hpp"
#include "graph/strong_components/strong_components.hpp"

#include <algorithm>
#include <bit>

namespace bitgraph {

namespace {

constexpr NodeId not_entered = 0;
constexpr NodeId done = ~NodeId{0};
constexpr NodeId no_entry = ~NodeId{0};

void begin(const CsrPatternView& a, StrongComponentsFrame& frame) { frame.at = a.row_ptr[frame.row]; }

/// The next entry of the frame's row; no_entry behind the last.
NodeId next(const CsrPatternView& a, StrongComponentsFrame& frame) {
  return frame.at == a.row_ptr[frame.row + 1] ? no_entry : a.col_ind[frame.at++];
}

/// `at` is the tile behind the one whose bits are walked.
template <int K>
void begin(const BitTileView<K>& a, StrongComponentsFrame& frame) {
  frame.at = a.tile_row_ptr[frame.row / K];
  frame.bits = 0;
}

template <int K>
NodeId next(const BitTileView<K>& a, StrongComponentsFrame& frame) {
  while (frame.bits == 0) {
    if (frame.at == a.tile_row_ptr[frame.row / K + 1]) return no_entry;
    frame.bits = a.tile_row(frame.at++, static_cast<int>(frame.row % K));
  }
  const auto bit = static_cast<NodeId>(std::countr_zero(frame.bits));
  frame.bits &= frame.bits - 1;
  return a.tile_col_ind[frame.at - 1] * K + bit;
}

}  // namespace

// Tarjan's walk. lowest(i): the first entered row that row i is known to lead back to; `done` in a finished component.
template <class Graph>
NodeId strong_components(const Cpu&, const StrongComponentsArgs<Graph>& args) {
  const NodeId n = args.out.nrows;
  std::fill_n(args.lowest, n, not_entered);
  NodeId count = 0;
  NodeId entered = 0;
  NodeId open = 0;   // rows on the stack: entered, of no finished component
  NodeId depth = 0;  // frames
  const auto enter = [&](NodeId row) {
    args.lowest[row] = ++entered;
    args.stack[open++] = row;
    args.frames[depth] = {row, entered};
    begin(args.out, args.frames[depth++]);
  };
  for (NodeId root = 0; root < n; ++root) {
    if (args.lowest[root] != not_entered) continue;
    enter(root);
    while (depth != 0) {
      StrongComponentsFrame& frame = args.frames[depth - 1];
      NodeId& lowest = args.lowest[frame.row];
      const NodeId neighbor = next(args.out, frame);
      if (neighbor != no_entry) {
        if (args.lowest[neighbor] == not_entered) {
          enter(neighbor);
        } else if (args.lowest[neighbor] != done) {
          lowest = std::min(lowest, args.lowest[neighbor]);
        }
        continue;
      }
      --depth;
      if (lowest != frame.index) {  // leads back to the row that it was entered from, at least
        NodeId& above = args.lowest[args.frames[depth - 1].row];
        above = std::min(above, lowest);
        continue;
      }
      NodeId row = 0;
      do {
        row = args.stack[--open];
        args.component[row] = count;
        args.lowest[row] = done;
      } while (row != frame.row);
      ++count;
    }
  }
  return count;
}

namespace {

[[gnu::used]] constexpr auto instances = for_types(GraphViews(), [](auto type) {
  using Graph = TypeOf<decltype(type)>;
  return static_cast<NodeId (*)(const Cpu&, const StrongComponentsArgs<Graph>&)>(&strong_components);
});

}  // namespace

}  // namespace bitgraph
