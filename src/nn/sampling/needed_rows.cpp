// SPDX-License-Identifier: Apache-2.0
#include "nn/sampling/needed_rows.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace bitgraph::nn {

namespace {

constexpr NodeId nowhere = std::numeric_limits<NodeId>::max();

/// Adds the neighbours of the first `outputs` nodes that are not there yet.
void add_neighbors(const CsrPattern& graph, std::vector<NodeId>& nodes, std::vector<NodeId>& place) {
  const std::size_t outputs = nodes.size();
  std::vector<NodeId> more;
  for (std::size_t i = 0; i < outputs; ++i) {
    for (const NodeId j : graph.row(nodes[i])) {
      if (place[j] != nowhere) continue;
      place[j] = 0;
      more.push_back(j);
    }
  }
  std::sort(more.begin(), more.end());
  for (const NodeId j : more) {
    place[j] = static_cast<NodeId>(nodes.size());
    nodes.push_back(j);
  }
}

CsrPattern block_of(const CsrPattern& graph, const std::vector<NodeId>& nodes, std::size_t outputs,
                    const std::vector<NodeId>& place) {
  Buffer<EdgeOffset> row_ptr(outputs + 1, EdgeOffset{0});
  for (std::size_t i = 0; i < outputs; ++i) row_ptr[i + 1] = row_ptr[i] + graph.row(nodes[i]).size();
  Buffer<NodeId> col_ind(row_ptr[outputs]);
  for (std::size_t i = 0; i < outputs; ++i) {
    NodeId* const row = col_ind.data() + row_ptr[i];
    const auto neighbors = graph.row(nodes[i]);
    std::transform(neighbors.begin(), neighbors.end(), row, [&](NodeId j) { return place[j]; });
    std::sort(row, row + neighbors.size());
  }
  return {static_cast<NodeId>(outputs), static_cast<NodeId>(nodes.size()), std::move(row_ptr), std::move(col_ind)};
}

}  // namespace

NeededRows needed_rows(const CsrPattern& graph, std::span<const NodeId> targets, std::size_t layers) {
  NeededRows needed;
  std::vector<NodeId> place(graph.nrows(), nowhere);
  for (const NodeId node : targets) {
    place[node] = static_cast<NodeId>(needed.nodes.size());
    needed.nodes.push_back(node);
  }
  for (std::size_t l = 0; l < layers; ++l) {
    const std::size_t outputs = needed.nodes.size();
    add_neighbors(graph, needed.nodes, place);
    needed.blocks.push_back(block_of(graph, needed.nodes, outputs, place));
  }
  std::reverse(needed.blocks.begin(), needed.blocks.end());
  return needed;
}

}  // namespace bitgraph::nn
