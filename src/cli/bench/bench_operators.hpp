// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"

#include <string>
#include <vector>

namespace bitgraph::cli {

/// Measures every variant over these graphs, which graph_of_spec knows, and one update; prints the table unless JSON is
/// asked for.
[[nodiscard]] Json operators_report(const Common& common, const std::vector<std::string>& graphs);

/// `bench operators`: every variant of aggregation and update beside the float32 product.
void add_bench_operators(CLI::App& bench);

}  // namespace bitgraph::cli
