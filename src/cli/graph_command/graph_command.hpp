// SPDX-License-Identifier: Apache-2.0
// What the commands that run a graph algorithm share: their options, loading and packing with the time it took, the
// keys that every result has, and how results are printed and written. A command reads so:
//
//     GraphJob job("cc", *options, {.undirected = true});
//     const Components found = job.run([](const PackedGraph& graph) { return connected_components(graph); });
//     job.result()["num_components"] = found.count;
//     job.finish("component", NodeValues{found.label.span()});
#pragma once

#include <bitgraph/graph/weighted_graph.hpp>

#include "cli/command.hpp"
#include "cli/graph_command/edge_count.hpp"
#include "cli/graph_command/graph_input.hpp"
#include "cli/graph_command/node_names.hpp"
#include "cli/graph_command/result_file.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::cli {

/// Options of every graph algorithm.
struct GraphOptions : GraphInput {
  Common common;
  std::string tile = "auto", order = "none", out, id_map;
  std::size_t top = 0;  ///< so many nodes of the highest values are printed
};

/// Adds the options of a GRAPH, --tile, --reorder, --out, --id-map and the common options. `values` says what --out
/// holds, as in "the component of every node, int32".
void add_graph_options(CLI::App& command, GraphOptions& options, const std::string& values);

/// Adds --top, for an algorithm whose values rank the nodes.
void add_top(CLI::App& command, GraphOptions& options);

/// Nodes that paths start from: named by their ids, or drawn at random.
struct SourceOptions {
  std::vector<std::string> ids;
  std::size_t samples = 0;
};

/// Adds --source, the id of one node; none: the first node.
void add_source(CLI::App& command, std::optional<std::string>& source);

/// Adds --sources and --samples, of which a call has one at most.
void add_sources(CLI::App& command, SourceOptions& options);

/// What an algorithm asks of its graph.
struct GraphNeeds {
  bool undirected = false;       ///< the union of both directions, without loops
  bool weights_allowed = false;  ///< a weighted file's weights are read and packed: GraphJob::weighted()
  bool with_transpose = true;    ///< directed input: keep the in-edges too
  Workload workload = Workload::traversal;
};

/// Loads the graph that an algorithm runs on, and writes --id-map. Throws bad_input for a rectangular matrix, and for a
/// file with weights unless they are allowed or ignored.
[[nodiscard]] Graph load_for_algorithm(const GraphOptions& options, const GraphNeeds& needs, const Device& host);

/// Seconds since `start`.
[[nodiscard]] inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// One run of an algorithm on the graph of a file.
class GraphJob {
 public:
  /// Makes the device, loads and packs. Throws as load_for_algorithm().
  GraphJob(std::string algorithm, const GraphOptions& options, const GraphNeeds& needs = {});

  [[nodiscard]] const PackedGraph& graph() const noexcept { return weighted_ ? weighted_->graph() : *graph_; }

  /// The graph with its weights; null where the file has none (other than 1), or they are not asked for.
  [[nodiscard]] const WeightedGraph* weighted() const noexcept { return weighted_ ? &*weighted_ : nullptr; }
  [[nodiscard]] const Device& device() const noexcept { return device_; }

  /// The ids of the nodes in their file.
  [[nodiscard]] const NodeNames& names() const noexcept { return names_; }

  /// The nodes with these ids. Throws usage for an id that no node has.
  [[nodiscard]] std::vector<NodeId> nodes(std::span<const std::string> ids) const;

  /// The node that a search starts from: the one with this id, or the first where there is none. Puts source, as the
  /// id, and source_index into the result. Throws usage where there is no such node, and for a graph without nodes.
  NodeId source(const std::optional<std::string>& id);

  /// How many sources an algorithm takes for these options: those named, or drawn, or all nodes.
  [[nodiscard]] std::size_t num_sources(const SourceOptions& options) const;

  /// The JSON object: algorithm, file, num_nodes, num_edges, num_entries, undirected, device, format, tile_dim,
  /// reorder, and after run() seconds. A command adds its own keys.
  [[nodiscard]] Json& result() noexcept { return result_; }

  /// fn(graph), timed until the device is done: seconds.run.
  template <class Fn>
  auto run(Fn&& fn) {
    const auto start = std::chrono::steady_clock::now();
    auto value = std::forward<Fn>(fn)(graph());
    device_.synchronize();
    result_["seconds"] = seconds_;
    result_["seconds"]["run"] = seconds_since(start);
    return value;
  }

  /// Writes --out, one value a node, in a column of this name; ranks for --top; prints the result.
  void finish(const std::string& column, const ResultValues& values);

  /// The same for an algorithm without a value for each node.
  void print() const;

 private:
  void pack(const CsrPattern& pattern, std::span<const float> weights, const GraphNeeds& needs);
  const GraphOptions& options_;
  Device device_;
  EdgeCount edges_;
  NodeIds ids_;
  NodeNames names_;
  Json result_, seconds_;
  std::optional<PackedGraph> graph_;  ///< one of the two
  std::optional<WeightedGraph> weighted_;
};

}  // namespace bitgraph::cli
