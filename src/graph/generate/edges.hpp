// SPDX-License-Identifier: Apache-2.0
// What the generators share.
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>

#include <cstddef>
#include <vector>

namespace bitgraph {

inline constexpr std::size_t generator_grain = std::size_t{1} << 14;

/// Edges as they are drawn. A loop stands for no edge.
struct GeneratedEdges {
  std::vector<NodeId> rows, cols;
  explicit GeneratedEdges(std::size_t size) : rows(size), cols(size) {}

  [[nodiscard]] CsrPattern symmetric(NodeId n, const Device& device) const {
    return csr_from_edges(n, n, rows, cols, {.symmetrize = true, .drop_loops = true}, device);
  }
};

}  // namespace bitgraph
