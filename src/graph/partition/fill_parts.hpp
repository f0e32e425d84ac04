// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/types.hpp>

#include <span>

namespace bitgraph {

/// Gives every empty part half of the nodes of the part that is the largest then: of equal ones the first. The nodes of
/// higher number go. `part_of` has parts below `parts`. Parts stay empty only where there are fewer nodes than parts.
/// O(nodes + parts log parts).
void fill_empty_parts(std::span<NodeId> part_of, NodeId parts);

}  // namespace bitgraph
