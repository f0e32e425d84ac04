// SPDX-License-Identifier: Apache-2.0
// A packed graph read as undirected: what colouring, independent sets and local clustering walk.
#pragma once

#include <bitgraph/graph/packed_graph.hpp>

#include "formats/rows.hpp"
#include "graph/packed_graph/views.hpp"

#include <cstdint>
#include <type_traits>

namespace bitgraph {

/// The entries of a row in both directions. The caller leaves out loops.
template <class Graph>
struct UndirectedView {
  Graph out;
  Graph in;
  bool symmetric = false;  ///< in is out

  [[nodiscard]] NodeId nrows() const noexcept { return out.nrows; }

  /// Whether fn(neighbor) is true for a neighbour of row i. It looks at no neighbour behind the first such one.
  template <class Fn>
  bool any(NodeId i, Fn&& fn) const {
    return any_entry(out, i, fn) || (!symmetric && any_entry(in, i, fn));
  }

  template <class Fn>
  void each(NodeId i, Fn&& fn) const {
    for_each_entry(out, i, fn);
    if (!symmetric) for_each_entry(in, i, fn);
  }

  /// Entries of row i without loops; those of both directions count twice.
  [[nodiscard]] std::uint32_t degree(NodeId i) const {
    std::uint32_t count = 0;
    each(i, [&](NodeId j) { count += j != i ? 1 : 0; });
    return count;
  }
};

/// Calls fn(view) with the UndirectedView of a packed graph.
template <class Fn>
decltype(auto) with_undirected_view(const PackedGraph& graph, Fn&& fn) {
  return with_views(graph, [&](const auto& out, const auto& in) -> decltype(auto) {
    return fn(UndirectedView<std::remove_cvref_t<decltype(out)>>{out, in, graph.symmetric()});
  });
}

}  // namespace bitgraph
