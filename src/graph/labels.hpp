// SPDX-License-Identifier: Apache-2.0
// Labels of components on the host. cuda_labels.cuh has the same for CUDA devices.
#pragma once

#include <bitgraph/graph/packed_graph.hpp>

#include <algorithm>

namespace bitgraph {

/// Labels every node, in the caller's numbering, with the smallest node of its component. `component` has a number
/// below n for every row; rows of one component have the same number. `smallest` is scratch for n nodes. O(n).
inline void label_by_smallest_node(const PackedGraph& graph, const NodeId* component, NodeId* smallest, NodeId* label) {
  constexpr NodeId none = ~NodeId{0};
  const NodeId n = graph.num_nodes();
  std::fill_n(smallest, n, none);
  // Nodes come in rising order, so the first node of a component is its smallest one.
  for (NodeId node = 0; node < n; ++node) {
    NodeId& first = smallest[component[graph.row_of(node)]];
    if (first == none) first = node;
    label[node] = first;
  }
}

}  // namespace bitgraph
