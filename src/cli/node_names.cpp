// SPDX-License-Identifier: Apache-2.0
#include "cli/node_names.hpp"
#include "cli/ranges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace bitgraph::cli {

void NodeNames::append(std::string& to, NodeId node) const {
  fmt::format_to(std::back_inserter(to), FMT_STRING("{}"), id_of(node));
}

std::string NodeNames::text(NodeId node) const {
  std::string name;
  append(name, node);
  return name;
}

Json NodeNames::json(NodeId node) const { return id_of(node); }

std::optional<NodeId> NodeNames::find(std::string_view id, NodeId num_nodes) const {
  const auto number = number_of<std::uint64_t>(std::string(id));
  if (!number) return std::nullopt;
  if (ids_.empty()) {
    if (*number < first_ || *number - first_ >= num_nodes) return std::nullopt;
    return static_cast<NodeId>(*number - first_);
  }
  const auto at = std::find(ids_.begin(), ids_.end(), *number);
  if (at == ids_.end()) return std::nullopt;
  return static_cast<NodeId>(at - ids_.begin());
}

}  // namespace bitgraph::cli
