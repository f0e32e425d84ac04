// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/random.hpp>
#include <bitgraph/core/types.hpp>

#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace bitgraph {

/// `samples` different nodes of `num_nodes`, drawn at random with `key`; all of them in order for 0 and for samples >=
/// num_nodes. O(num_nodes).
inline std::vector<NodeId> sampled_nodes(NodeId num_nodes, std::size_t samples, RandomKey key) {
  std::vector<NodeId> nodes(num_nodes);
  std::iota(nodes.begin(), nodes.end(), NodeId{0});
  if (samples == 0 || samples >= num_nodes) return nodes;
  // The first steps of a shuffle.
  for (std::size_t k = 0; k < samples; ++k) std::swap(nodes[k], nodes[k + random_below(key, k, num_nodes - k)]);
  nodes.resize(samples);
  return nodes;
}

}  // namespace bitgraph
