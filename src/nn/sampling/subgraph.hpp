// SPDX-License-Identifier: Apache-2.0
// The subgraph that a set of nodes induces.
#pragma once

#include <bitgraph/nn/sampling.hpp>

#include "nn/sampling/node_set.hpp"

#include <span>

namespace bitgraph::nn {

inline constexpr std::size_t subgraph_row_grain = 16;

/// Fills `out` with the edges between `nodes`, which are those of `set`, numbered. `entry(e, to)` is called for each:
/// entry e of the graph became entry `to`.
template <class OnEntry>
void induce(ReusedPattern& out, const CsrPattern& graph, std::span<const NodeId> nodes, const NodeSet& set,
            const Device& device, OnEntry&& on_entry) {
  const auto lengths = out.start(nodes.size());
  parallel_chunks(device, nodes.size(), subgraph_row_grain, [&](Range range) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      EdgeOffset inside = 0;
      for (const NodeId j : graph.row(nodes[i])) inside += set.has(j) ? 1U : 0U;
      lengths[i] = inside;
    }
  });
  const auto entries = out.make_room(device);
  parallel_chunks(device, nodes.size(), subgraph_row_grain, [&](Range range) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      EdgeOffset to = out.begin_of_row(i);
      const EdgeOffset begin = graph.row_ptr()[nodes[i]];
      const EdgeOffset end = graph.row_ptr()[nodes[i] + std::size_t{1}];
      for (EdgeOffset e = begin; e < end; ++e) {
        const NodeId j = graph.col_ind()[e];
        if (!set.has(j)) continue;
        on_entry(e, to);
        entries[to++] = set.place(j);
      }
    }
  });
  out.finish(static_cast<NodeId>(nodes.size()), device);
}

}  // namespace bitgraph::nn
