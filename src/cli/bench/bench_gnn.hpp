// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

namespace bitgraph::cli {

/// `bench gnn`: the forms of graph networks beside full precision.
void add_bench_gnn(CLI::App& bench);

}  // namespace bitgraph::cli
