// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>

namespace bitgraph {

/// Connected components of the undirected graph (the union of both directions).
struct Components {
  Buffer<NodeId> label;  ///< of each node: the smallest node id of its component
  NodeId count = 0;
};

/// Union-find with path halving. Square only (throws usage). O(n + m), nearly.
[[nodiscard]] Components connected_components(const CsrPattern& a);

}  // namespace bitgraph
