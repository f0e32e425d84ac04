// SPDX-License-Identifier: Apache-2.0
// Node numbers 0 .. n-1 for the ids of a list, in increasing order of id.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/types.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace bitgraph {

struct CompactIds {
  std::uint64_t num_nodes = 0;
  Buffer<std::uint64_t> ids;  ///< id of each node, increasing; empty where node i has id i
};

/// The distinct ids of both lists. Memory: where ids are few beside their range a sorted copy of the lists, else a
/// small part of the lists. O(m), or O(m log m) for such ids; parallel.
template <class Id>
[[nodiscard]] CompactIds compact_ids(std::span<const Id> first, std::span<const Id> second, const Device& device);

/// to[e] = the node whose id is from[e], for ids that compact_ids() saw; `to` may be `from`.
template <class Id>
void renumber(const CompactIds& nodes, std::span<const Id> from, NodeId* to, const Device& device);

}  // namespace bitgraph
