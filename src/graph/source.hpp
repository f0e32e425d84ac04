// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/error.hpp>
#include <bitgraph/core/types.hpp>

#include <fmt/format.h>

namespace bitgraph {

/// Throws usage, naming the range, unless the graph has the node.
inline void check_source(NodeId source, NodeId num_nodes) {
  if (source < num_nodes) return;
  fail(ErrorCode::usage, num_nodes == 0 ? fmt::format("the source {} is outside the graph, which has no nodes", source)
                                        : fmt::format("the source {} is outside the graph: its nodes are 0 to {}",
                                                      source, num_nodes - 1));
}

}  // namespace bitgraph
