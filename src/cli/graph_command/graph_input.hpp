// SPDX-License-Identifier: Apache-2.0
// How commands are told which graph to read, and how: the options of every command that takes a GRAPH.
#pragma once

#include <bitgraph/io/graph.hpp>

#include "cli/command.hpp"

#include <string>
#include <vector>

namespace bitgraph::cli {

struct GraphInput {
  std::string graph;
  std::string format, delimiter, ids = "auto", header = "auto";
  std::vector<std::string> columns;
  bool undirected = false;
  bool ignore_weights = false;
};

/// Adds the place `name` for the graph, --format, --columns, --delimiter, --ids, --header, --undirected and
/// --ignore-weights.
void add_graph_input(CLI::App& app, Common& common, const std::string& name, GraphInput& input);

/// What load_graph() takes. Throws usage for a delimiter that is none.
[[nodiscard]] LoadOptions load_options(const GraphInput& input);

/// Says on standard error where a list of words has lost its first line to a header that nobody asked for, and one of
/// the names in it is a node.
void note_header(const GraphInput& input, const Graph& graph);

/// Adds --id-map. A name that ends in neither .npy nor .csv is refused before any work.
void add_id_map(CLI::App& app, Common& common, std::string& path);

/// The id of node 0 in a file of this name that holds no ids of its own: 1 for Matrix Market and METIS.
[[nodiscard]] std::uint64_t first_id_of(const std::string& path);

/// Writes the id of every node: .npy of uint64 for numbers, .csv with a header line for any ids. Throws usage for words
/// and another ending than .csv.
void save_id_map(const std::string& path, const NodeIds& ids, NodeId num_nodes);

/// The node with this id. Throws usage, naming the file and what ids there are.
[[nodiscard]] NodeId require_node(const std::string& file, const NodeIds& ids, NodeId num_nodes, const std::string& id);

}  // namespace bitgraph::cli
