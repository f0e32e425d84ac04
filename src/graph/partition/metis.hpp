// SPDX-License-Identifier: Apache-2.0
// The one place that calls METIS.
#pragma once

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <cstdint>
#include <vector>

namespace bitgraph {

/// What METIS counts nodes and entries up to: its idx_t has 32 or 64 bits, as it was built.
[[nodiscard]] std::uint64_t most_of_metis() noexcept;

/// Throws not_possible where a graph has more nodes or entries than METIS counts.
void require_countable(std::uint64_t nodes, std::uint64_t entries, std::uint64_t most = most_of_metis());

/// The part of each node, by METIS_PartGraphKway or METIS_PartGraphRecursive. Parts may come out empty. `graph` is
/// symmetric, without loops, on the host; 2 <= parts <= nodes. Throws not_possible where memory runs out.
[[nodiscard]] std::vector<NodeId> metis_parts(const CsrPattern& graph, NodeId parts, std::uint64_t seed,
                                              bool recursive);

}  // namespace bitgraph
