// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/bench/graph/arena.hpp"
#include "cli/command.hpp"

#include <vector>

namespace bitgraph::cli {

/// Adds a graph's rows to `results`, as docs/cli.md says.
void add_results(Json& results, Arena& arena);

/// The geometric mean of the ratios of each algorithm, over all graphs.
[[nodiscard]] Json mean_ratios(const Json& results);

void print_head(const Json& report);
void print_rows(const Arena& arena);
void print_means(const Json& means);

}  // namespace bitgraph::cli
