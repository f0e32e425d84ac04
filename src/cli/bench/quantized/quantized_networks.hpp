// SPDX-License-Identifier: Apache-2.0
// Networks of floats and of levels at the sizes of QGTC's data sets, measured.
#pragma once

#include <bitgraph/core/device.hpp>

#include "cli/command.hpp"

#include <string>

namespace bitgraph::cli {

struct NetworkTiming {
  int repeats;
  double limit;  ///< seconds for one network
};

/// Adds the rows of figure "7a" (GCN, three layers of 16) or "7b" (GIN, three layers of 64) to `rows`, and prints them
/// unless JSON is asked for: over planted graphs with the sizes of Table 1, all nodes in one run.
void measure_networks(Json& rows, const std::string& figure, const Common& common, const Device& device,
                      const NetworkTiming& timing);

}  // namespace bitgraph::cli
