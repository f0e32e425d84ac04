// SPDX-License-Identifier: Apache-2.0
// What the host's and the CUDA device's searches for the diameter share. The graph has a node at least.
#pragma once

#include "core/devices/backend.hpp"

namespace bitgraph {

class PackedGraph;
struct Diameter;
struct DiameterOptions;

/// The diameter on a CUDA device. See cuda.cu.
[[nodiscard]] Diameter find_diameter(const Cuda& backend, const PackedGraph& graph, const DiameterOptions& options);

/// Turns rows into nodes of the caller's numbering: both ends, and the places of the eccentricities.
void renumber(const PackedGraph& graph, Diameter& found);

}  // namespace bitgraph
