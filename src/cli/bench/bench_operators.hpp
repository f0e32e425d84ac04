// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

namespace bitgraph::cli {

/// `bench operators`: every variant of aggregation and update beside the float32 product.
void add_bench_operators(CLI::App& bench);

}  // namespace bitgraph::cli
