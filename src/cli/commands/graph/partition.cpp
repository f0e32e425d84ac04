// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/partition.hpp>

#include <bitgraph/core/error.hpp>
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/io/partition.hpp>

#include "cli/estimate/estimate_graph.hpp"
#include "cli/estimate/estimate_rates.hpp"
#include "cli/graph_command/graph_command.hpp"
#include "cli/graph_command/planted_spec.hpp"
#include "cli/ranges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

namespace bitgraph::cli {

namespace {

constexpr const char* part_file_ending = ".safetensors";

struct PartitionCommand {
  GraphOptions graph;
  NodeId parts = 0;
  std::string from;  ///< a part file
};

/// Whether the graph is that of a data set, by its name or folder, or a planted one.
bool names_dataset(const std::string& graph) {
  std::error_code error;
  if (graph.empty() || graph == "-") return false;
  if (graph.starts_with("planted:")) return true;
  if (graph.find('/') != std::string::npos) return std::filesystem::is_directory(graph, error);
  return graph.find_first_of(".:") == std::string::npos && !std::filesystem::is_regular_file(graph, error);
}

/// The graph that networks over the data set have.
Graph graph_of_dataset(const GraphOptions& options, const Device& host) {
  Graph graph;
  const auto planted = planted_of_spec(options.graph, 0);
  graph.pattern = planted ? generate_planted_pattern(*planted, host)
                          : load_dataset(require_dataset(options.graph), host).graph.clone();
  if (!options.id_map.empty()) save_id_map(options.id_map, graph.ids, graph.pattern.nrows());
  return graph;
}

void save(const Partition& partition, const std::string& path, const NodeNames& names) {
  if (path.empty()) return;
  if (path.ends_with(part_file_ending)) return save_partition(partition, path);
  const std::vector<std::int32_t> parts(partition.part_of().begin(), partition.part_of().end());
  save_result(path, names, {{"part"}, std::span<const std::int32_t>(parts)});
}

void print(const PartitionCommand& options, const Json& result, const EdgeCount& edges, const EdgeCut& cut) {
  if (!options.graph.common.data_on_stdout.empty()) return;
  if (options.graph.common.json) {
    fmt::print("{}\n", result.dump(2, ' ', false, Json::error_handler_t::replace));
    return;
  }
  fmt::print("{}\n  nodes {}   {}\n", options.graph.graph, result["num_nodes"].dump(), edges.text());
  const auto empty = result["empty_parts"].get<NodeId>();
  fmt::print("  parts {}   edges cut {} ({:.1f} %)   largest part {}, smallest {}{}\n", result["num_parts"].dump(),
             cut.cut, 100 * cut.share(), result["largest_part"].dump(), result["smallest_part"].dump(),
             empty == 0 ? "" : fmt::format(", empty parts {}", empty));
  fmt::print("  seconds         load {:.4f}  run {:.4f}\n", result["seconds"]["load"].get<double>(),
             result["seconds"]["run"].get<double>());
}

void run_partition(const PartitionCommand& options) {
  const Common& common = options.graph.common;
  const Device device = common.make_host("partition");
  auto start = std::chrono::steady_clock::now();
  Graph loaded = names_dataset(options.graph.graph) ? graph_of_dataset(options.graph, device)
                                                    : load_for_algorithm(options.graph, {.undirected = true}, device);
  loaded.pattern = undirected(loaded.pattern);
  const double load = seconds_since(start);
  start = std::chrono::steady_clock::now();
  const Partition partition = options.from.empty()
                                  ? partition_graph(loaded.pattern, {.parts = options.parts, .seed = common.seed})
                                  : load_partition(options.from, loaded.pattern);
  const double run = seconds_since(start);
  save(partition, options.graph.out, NodeNames(loaded.ids));

  const EdgeCut cut = edge_cut(loaded.pattern, partition);
  const EdgeCount edges{loaded.pattern.nvals(), 0, true};
  Json result{{"algorithm", "partition"}, {"file", options.graph.graph}, {"num_nodes", partition.num_nodes()}};
  edges.put(result);
  result["device"] = device.name();
  result["num_parts"] = partition.num_parts();
  result["seed"] = partition.origin().seed;
  result["edges_cut"] = cut.cut;
  result["share_cut"] = cut.share();
  result["largest_part"] = partition.largest();
  result["smallest_part"] = partition.smallest();
  result["empty_parts"] = partition.num_empty();
  result["fingerprint"] = undirected_fingerprint(loaded.pattern);
  result["seconds"] = {{"load", load}, {"run", run}};
  print(options, result, edges, cut);
}

Estimate estimate(const PartitionCommand& options) {
  const GraphSize size =
      names_dataset(options.graph.graph) ? dataset_size_of(options.graph.graph).graph : graph_size_of(options.graph);
  const Machine machine(options.graph.common);
  Estimate estimate;
  const double held = add_load(estimate, machine, size, false);
  const double entries = size.entries * (size.symmetric ? 1 : 2);
  const double levels = std::log2(std::max<double>(options.parts, 2));
  const double seconds = entries * (rates::partition_entry + rates::partition_entry_level * levels) * rates::ns;
  const double bytes = rates::partition_entry_bytes * entries + rates::partition_node_bytes * size.nodes;
  const bool runs = options.from.empty() && options.parts > 1;
  estimate.steps.push_back({"run", machine.serial(runs ? seconds : 0), held + (runs ? bytes : 12 * size.nodes)});
  return estimate;
}

}  // namespace

void add_partition(CLI::App& app) {
  auto options = std::make_shared<PartitionCommand>();
  CLI::App* command = app.add_subcommand(
      "partition", "Cut the nodes into parts of one size with few edges between; ignores directions");
  GraphOptions& graph = options->graph;
  add_graph_input(*command, graph.common, "graph", graph);
  command->get_option("graph")->description(
      "a graph file, or a data set's name; - reads standard input, with --format");
  graph.common.files.reads("graph", [&graph] {
    return names_dataset(graph.graph) ? files_of_dataset(graph.graph) : std::vector<std::string>();
  });
  CLI::Option* parts = command->add_option("--parts", options->parts, "how many parts, at most as many as nodes")
                           ->type_name("N")
                           ->check(whole_number(1, most_nodes));
  add_input(*command, graph.common, "--from", options->from, "take the parts of this part file, made before")
      ->excludes(parts);
  graph.common.files.checks([options = options.get()] {  // which has the check: no cycle of owners
    if (options->parts == 0 && options->from.empty())
      fail(ErrorCode::usage, "--parts N or --from FILE is needed: how many parts, or a file that has them");
  });
  add_result(*command, graph.common, "--out", graph.out, "the part of every node from 0, int32", part_file_ending,
             "a part file, which knows its graph");
  add_id_map(*command, graph.common, graph.id_map);
  add_common(*command, graph.common);
  add_examples(*command,
               "  bitgraph partition wave.graph.gz --parts 64 --out parts.safetensors\n  bitgraph partition "
               "wiki-Vote.txt.gz --parts 8 --seed 1 --out parts.csv\n  bitgraph partition wave.graph.gz --from "
               "parts.safetensors\n");
  add_actions(
      *command, graph.common, [options] { run_partition(*options); }, [options] { return estimate(*options); });
}

}  // namespace bitgraph::cli
