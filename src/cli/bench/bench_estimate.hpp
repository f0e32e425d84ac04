// SPDX-License-Identifier: Apache-2.0
// The steps of benchmarks, for --estimate.
#pragma once

#include "cli/estimate/estimate.hpp"

#include <string>
#include <vector>

namespace bitgraph::cli {

/// Benchmarks whose `figures` take `limit` seconds each at most, on graphs or data sets by name; only the largest
/// counts for memory.
[[nodiscard]] Estimate estimate_bench(const std::vector<std::string>& graphs, double figures, double limit,
                                      const Common& common);

}  // namespace bitgraph::cli
