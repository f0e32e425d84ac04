// SPDX-License-Identifier: Apache-2.0
// The steps of commands on graphs, for --estimate.
#pragma once

#include "cli/estimate/estimate.hpp"
#include "cli/estimate/graph_size.hpp"
#include "cli/graph_command/graph_command.hpp"

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

/// The same for an algorithm that starts from every source, `at_once` of them in one pass.
[[nodiscard]] Estimate estimate_algorithm(std::string_view algorithm, const GraphOptions& options,
                                          const GraphNeeds& needs, const SourceOptions& sources, double at_once);

/// Adds the program's start, and reading the graph; returns the bytes held after it.
double add_load(Estimate& estimate, const Machine& machine, const GraphSize& size, bool weights);

/// Adds finding an order by its name, and renumbering the graph, where it is one; `held` bytes are there, and then
/// more.
void add_order(Estimate& estimate, const Machine& machine, const GraphSize& size, const std::string& order,
               double& held);

/// Adds writing a graph to a file of this name; `held` bytes are there. `tile` is 0 for pattern CSR.
void add_write(Estimate& estimate, const Machine& machine, const GraphSize& size, const std::string& path, int tile,
               double held);

/// Nanoseconds of an order, by name, an entry; 0 for none.
[[nodiscard]] double order_rate(const std::string& order);

/// Bytes that finding an order takes, beside the graph and the one in that order.
[[nodiscard]] double order_bytes(const std::string& order, const GraphSize& size);

}  // namespace bitgraph::cli
