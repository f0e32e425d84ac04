// SPDX-License-Identifier: Apache-2.0
// The steps of commands on graphs, for --estimate.
#pragma once

#include "cli/estimate.hpp"
#include "cli/graph_command.hpp"
#include "cli/graph_size.hpp"

#include <string>

namespace bitgraph::cli {

/// How often an algorithm goes over the graph; `assumption` says where the number comes from, if it is one.
struct Passes {
  double count = 1;
  std::string assumption;
  double node_bytes = 0;  ///< held for a node, beside what the algorithm has for one source
};

/// Reading, packing and running a graph algorithm; `algorithm` is a name of rates::algorithms. Throws as
/// graph_size_of().
[[nodiscard]] Estimate estimate_algorithm(std::string_view algorithm, const GraphOptions& options,
                                          const GraphNeeds& needs, const Passes& passes = {});

/// The passes of an algorithm that starts from every source: `at_once` of them in one.
[[nodiscard]] Passes passes_of(const SourceOptions& sources, const GraphOptions& options, double at_once);

/// Adds the program's start, and reading the graph; returns the bytes held after it.
double add_load(Estimate& estimate, const Machine& machine, const GraphSize& size, bool weights);

/// Adds writing a graph to a file of this name; `held` bytes are there. `tile` is 0 for pattern CSR.
void add_write(Estimate& estimate, const Machine& machine, const GraphSize& size, const std::string& path, int tile,
               double held);

/// Bytes of a pattern CSR, and of tiles whose number is guessed.
[[nodiscard]] double pattern_bytes(const GraphSize& size);
[[nodiscard]] double guessed_tile_bytes(const GraphSize& size, int tile_dim);

/// Nanoseconds of an order, by name, an entry; 0 for none.
[[nodiscard]] double order_rate(const std::string& order);

/// Bytes that finding an order takes, beside the graph and the one in that order.
[[nodiscard]] double order_bytes(const std::string& order, const GraphSize& size);

}  // namespace bitgraph::cli
