// SPDX-License-Identifier: Apache-2.0
#include "cli/graph_command/node_names.hpp"

namespace bitgraph::cli {

void NodeNames::append(std::string& to, NodeId node) const {
  if (ids_ == nullptr) {
    to += std::to_string(node);
  } else {
    ids_->append_to(to, node);
  }
}

std::string NodeNames::text(NodeId node) const {
  std::string name;
  append(name, node);
  return name;
}

Json NodeNames::json(NodeId node) const {
  if (ids_ == nullptr) return node;
  if (ids_->are_words()) return std::string(ids_->word(node));
  return ids_->number(node);
}

}  // namespace bitgraph::cli
