// SPDX-License-Identifier: Apache-2.0
// Sums of levels over the neighbours of a graph, and their rivals, measured.
#pragma once

#include "cli/bench/quantized/call_timer.hpp"
#include "cli/command.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace bitgraph::cli {

/// Adds the rows of figure "sums" to `results`, and prints them unless JSON is asked for: means over neighbours of so
/// many columns of 2, 4 and 8 bits, levels out as wide, over graphs that graph_of_spec knows. The rival is the float32
/// product over the same graph. Some rows of every result are checked. Returns {bits: {geometric_mean, least}} of the
/// ratios.
[[nodiscard]] Json measure_level_sums(Json& results, const std::vector<std::string>& graphs,
                                      const std::vector<std::size_t>& widths, const Common& common,
                                      const CallTimer& timer);

}  // namespace bitgraph::cli
