// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/components.hpp>

#include <fmt/format.h>

namespace bitgraph {

Components connected_components(const CsrPattern& a) {
  if (a.nrows() != a.ncols()) {
    fail(ErrorCode::usage,
         fmt::format("components: the matrix is {} x {}, a square one is needed", a.nrows(), a.ncols()));
  }
  Components result{Buffer<NodeId>(a.nrows(), a.device()), a.nrows()};
  auto& parent = result.label;
  for (NodeId i = 0; i < a.nrows(); ++i) parent[i] = i;
  const auto root = [&](NodeId i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (const NodeId j : a.row(i)) {
      const NodeId x = root(i);
      const NodeId y = root(j);
      if (x == y) continue;
      // The smaller id stays the root, and so becomes the label.
      parent[std::max(x, y)] = std::min(x, y);
      --result.count;
    }
  }
  for (NodeId i = 0; i < a.nrows(); ++i) parent[i] = root(i);
  return result;
}

}  // namespace bitgraph
