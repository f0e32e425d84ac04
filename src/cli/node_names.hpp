// SPDX-License-Identifier: Apache-2.0
// What people call the nodes of a graph: the ids of its file.
#pragma once

#include <bitgraph/core/types.hpp>

#include "cli/command.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace bitgraph::cli {

/// Node i is called ids[i], or first + i where there are no ids. The ids outlive it.
class NodeNames {
 public:
  NodeNames() = default;
  explicit NodeNames(std::uint64_t first) : first_(first) {}
  explicit NodeNames(std::span<const std::uint64_t> ids) : ids_(ids) {}

  /// Appends the id of a node.
  void append(std::string& to, NodeId node) const;
  [[nodiscard]] std::string text(NodeId node) const;
  /// A number where the id is one.
  [[nodiscard]] Json json(NodeId node) const;
  /// The node of `num_nodes` with this id.
  [[nodiscard]] std::optional<NodeId> find(std::string_view id, NodeId num_nodes) const;

 private:
  [[nodiscard]] std::uint64_t id_of(NodeId node) const { return ids_.empty() ? first_ + node : ids_[node]; }
  std::uint64_t first_ = 0;
  std::span<const std::uint64_t> ids_;
};

}  // namespace bitgraph::cli
