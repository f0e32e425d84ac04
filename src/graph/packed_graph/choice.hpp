// SPDX-License-Identifier: Apache-2.0
// The format for a graph, a kind of work and a device, from a sample of its rows.
#pragma once

#include <bitgraph/graph/packed_graph.hpp>

#include <string>

namespace bitgraph {

struct FormatChoice {
  int tile_dim = csr_tile;
  std::string reason;
};

/// O(sampled rows), not O(nvals).
[[nodiscard]] FormatChoice choose_format(const CsrPattern& a, Workload workload, const Device& device);

}  // namespace bitgraph
