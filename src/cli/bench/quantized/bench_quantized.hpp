// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

namespace bitgraph::cli {

/// `bench quantized`: the figures of QGTC.
void add_bench_quantized(CLI::App& bench);

}  // namespace bitgraph::cli
