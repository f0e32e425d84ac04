// SPDX-License-Identifier: Apache-2.0
// What the loss of some nodes depends on: their neighbours, those nodes' neighbours, and so on, a layer at a time.
#pragma once

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace bitgraph::nn {

struct NeededRows {
  std::vector<NodeId> nodes;       ///< the first layer's inputs, targets first
  std::vector<CsrPattern> blocks;  ///< one a layer, the first layer's first: outputs x inputs, output i being input i
};

/// Of `layers` layers, the last of which is wanted for `targets` alone, each once. The nodes that a layer adds follow
/// by rising number. O(layers * entries).
[[nodiscard]] NeededRows needed_rows(const CsrPattern& graph, std::span<const NodeId> targets, std::size_t layers);

}  // namespace bitgraph::nn
