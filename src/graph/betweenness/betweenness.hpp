// SPDX-License-Identifier: Apache-2.0
// Betweenness on a CUDA device. See cuda.cu.
#pragma once

#include <bitgraph/core/types.hpp>

#include "core/devices/backend.hpp"

#include <cstddef>
#include <span>

namespace bitgraph {

class PackedGraph;

/// Writes the score of every node times `scale`, in the caller's numbering, on the graph's device. Returns the place in
/// `sources` of the first source with more shortest paths than a double counts; sources.size() where there is none.
std::size_t betweenness_scores(const Cuda& backend, const PackedGraph& graph, std::span<const NodeId> sources,
                               double scale, double* score);

}  // namespace bitgraph
