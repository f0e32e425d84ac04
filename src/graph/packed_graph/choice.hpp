// SPDX-License-Identifier: Apache-2.0
// The format for a graph, a kind of work and a device, from a sample of its rows; and whether another order of the
// nodes pays.
#pragma once

#include <bitgraph/graph/packed_graph.hpp>

#include <string>

namespace bitgraph {

struct FormatChoice {
  int tile_dim = csr_tile;
  std::string reason;
  double nanoseconds = 0;  ///< predicted for a product, on one thread; 0: no model
};

/// The format with the least predicted time. O(sampled rows), not O(nvals).
[[nodiscard]] FormatChoice choose_format(const CsrPattern& a, Workload workload, const Device& device);

/// A pattern with its nodes numbered anew.
struct OrderedPattern {
  Order order = Order::original;
  bool tried = false;  ///< an order was looked for, whether it was taken or not
  Buffer<NodeId> new_id;
  CsrPattern pattern;  ///< empty, like new_id, for the original order
  std::string reason;  ///< why choose_order took it or did not
};

/// The pattern in an order. `nearest` is the same pattern where it came from: only degrees are ordered on a CUDA
/// device. The cost of the order, and O(nvals).
[[nodiscard]] OrderedPattern in_order(const CsrPattern& a, Order order, const CsrPattern& nearest);

/// Reverse Cuthill-McKee where a hundred times the work then takes less, by more than the order costs; else the
/// original order. The order is found only if it could pay. `tile_dim`: the format, or auto_tile.
[[nodiscard]] OrderedPattern choose_order(const CsrPattern& a, Workload workload, int tile_dim, const Device& device);

}  // namespace bitgraph
