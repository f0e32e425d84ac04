// SPDX-License-Identifier: Apache-2.0
#include "graph/partition/fill_parts.hpp"

#include <bitgraph/formats/partition.hpp>

#include <queue>
#include <utility>
#include <vector>

namespace bitgraph {

namespace {

struct Candidate {
  std::span<const NodeId> nodes;
  NodeId part;

  friend bool operator<(const Candidate& a, const Candidate& b) noexcept {
    return a.nodes.size() != b.nodes.size() ? a.nodes.size() < b.nodes.size() : a.part > b.part;
  }
};

}  // namespace

void fill_empty_parts(std::span<NodeId> part_of, NodeId parts) {
  const Partition before({part_of.begin(), part_of.end()}, parts);
  if (before.num_empty() == 0) return;
  std::priority_queue<Candidate> largest;
  for (NodeId p = 0; p < parts; ++p) {
    if (before.nodes(p).size() > 1) largest.push({before.nodes(p), p});
  }
  for (NodeId p = 0; p < parts; ++p) {
    if (!before.nodes(p).empty() || largest.empty()) continue;
    const Candidate from = largest.top();
    largest.pop();
    const std::size_t stay = (from.nodes.size() + 1) / 2;
    const Candidate left{from.nodes.first(stay), from.part};
    const Candidate right{from.nodes.subspan(stay), p};
    for (const NodeId i : right.nodes) part_of[i] = p;
    for (const Candidate& half : {left, right}) {
      if (half.nodes.size() > 1) largest.push(half);
    }
  }
}

}  // namespace bitgraph
