// SPDX-License-Identifier: Apache-2.0
// What people call the nodes of a graph: the ids of its file.
#pragma once

#include <bitgraph/io/node_ids.hpp>

#include "cli/command.hpp"

#include <string>

namespace bitgraph::cli {

/// Ids as results have them. The ids outlive it.
class NodeNames {
 public:
  /// Nodes are called 0, 1, 2 ...
  NodeNames() = default;
  explicit NodeNames(const NodeIds& ids) : ids_(&ids) {}

  /// Appends the id of a node.
  void append(std::string& to, NodeId node) const;
  [[nodiscard]] std::string text(NodeId node) const;
  /// A number where the id is one.
  [[nodiscard]] Json json(NodeId node) const;

 private:
  const NodeIds* ids_ = nullptr;
};

}  // namespace bitgraph::cli
