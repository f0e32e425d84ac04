// SPDX-License-Identifier: Apache-2.0
// Networks of floats and of levels at the sizes of QGTC's data sets, measured.
#pragma once

#include "cli/bench/quantized/call_timer.hpp"
#include "cli/command.hpp"

#include <cstddef>
#include <string>

namespace bitgraph::cli {

/// How the nodes are cut: QGTC has 1,500 parts, and 20 in a batch.
struct NetworkParts {
  std::size_t parts = 0;  ///< 0: all nodes in one run
  std::size_t of_batch = 20;
};

/// Adds the rows of figure "7a" (GCN, three layers of 16) or "7b" (GIN, three layers of 64) to `rows`, and prints them
/// unless JSON is asked for: over planted graphs with the sizes of Table 1. Over batches of parts, the edges between
/// batches are left out; the rival has all batches in one run then.
void measure_networks(Json& rows, const std::string& figure, const NetworkParts& parts, const Common& common,
                      const CallTimer& timer);

}  // namespace bitgraph::cli
