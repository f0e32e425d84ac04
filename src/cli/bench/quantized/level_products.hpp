// SPDX-License-Identifier: Apache-2.0
// The product of a layer in levels, and its rivals, measured.
#pragma once

#include "cli/bench/quantized/call_timer.hpp"
#include "cli/command.hpp"

#include <cstddef>
#include <vector>

namespace bitgraph::cli {

/// Adds the rows of figure "products" to `results`, and prints them unless JSON is asked for: X of shape[0] x shape[1]
/// by W of shape[1] x shape[2] for w2a2, w4a4, w8a8 and w8a4, levels out as wide as X's. The rival on a CUDA device is
/// cuBLASLt in bytes with one pass that makes its sums levels; on the host it is OpenBLAS in floats. Some rows of every
/// result are checked.
void measure_level_products(Json& results, const std::vector<std::size_t>& shape, const Common& common,
                            const CallTimer& timer);

}  // namespace bitgraph::cli
