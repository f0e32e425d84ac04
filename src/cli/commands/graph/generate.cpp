// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/io/graph.hpp>

#include "cli/command.hpp"
#include "cli/estimate/estimate_graph.hpp"
#include "cli/estimate/estimate_rates.hpp"
#include "cli/graph_command/edge_count.hpp"
#include "cli/ranges.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>

namespace bitgraph::cli {

namespace {

struct GenerateOptions {
  Common common;
  std::string kind, out;
  int scale = 14;
  std::size_t edge_factor = 16;
  NodeId nodes = 2000;
  std::size_t edges = 10000;
  NodeId width = 100, height = 100;
  int order = 12;
  bool shuffled = false;
  PlantedPartitionOptions planted;
  std::string preset;
  double scale_down = 1;
  std::size_t entries = 0;
  double exponent = 0, feature_signal = 0, label_noise = 0;
};

bool is_dataset(const std::string& kind) { return kind == "planted-partition" || kind == "planted-graph"; }

/// The preset's options, or those of the program, with what the command line has named put over them.
PlantedGraphOptions planted_graph_options(const GenerateOptions& o, const CLI::App& command) {
  const auto named = [&](const char* option) { return command.count(option) != 0; };
  PlantedGraphOptions planted;
  if (!o.preset.empty()) planted = planted_graph_preset(o.preset, o.scale_down);
  if (named("--nodes")) {
    // Degrees are kept.
    planted.num_entries =
        static_cast<EdgeOffset>(static_cast<double>(planted.num_entries) * o.nodes / planted.num_nodes);
    planted.num_nodes = o.nodes;
  }
  if (named("--entries")) planted.num_entries = o.entries;
  if (named("--classes")) planted.num_classes = o.planted.num_classes;
  if (named("--features")) planted.num_features = o.planted.num_features;
  if (named("--mean-degree")) planted.num_entries = static_cast<EdgeOffset>(o.planted.mean_degree * planted.num_nodes);
  if (named("--homophily")) planted.homophily = o.planted.homophily;
  if (named("--exponent")) planted.exponent = o.exponent;
  if (named("--feature-signal")) planted.feature_signal = o.feature_signal;
  if (named("--label-noise")) planted.label_noise = o.label_noise;
  planted.seed = o.common.seed;
  return planted;
}

Dataset dataset_of(GenerateOptions& o, const CLI::App& command, const Device& device) {
  if (o.kind == "planted-graph") return generate_planted_graph(planted_graph_options(o, command), device);
  o.planted.num_nodes = o.nodes;
  o.planted.seed = o.common.seed;
  return generate_planted_partition(o.planted, device);
}

CsrPattern graph_of(const GenerateOptions& o, const Device& device) {
  if (o.kind == "rmat") return generate_rmat(o.scale, o.edge_factor, o.common.seed, device);
  if (o.kind == "uniform") return generate_uniform(o.nodes, o.edges, o.common.seed, device);
  if (o.kind == "mycielskian") return generate_mycielskian(o.order, device);
  if (o.kind == "de-bruijn") return generate_de_bruijn(o.scale, device);
  if (o.kind == "mesh") return generate_mesh(o.width, o.height, o.common.seed, o.shuffled, device);
  return generate_grid(o.width, o.height, device);
}

void run_generate(GenerateOptions& o, const CLI::App& command) {
  const Device device = o.common.make_host("generate");
  Json result{{"kind", o.kind}, {"out", o.out}, {"seed", o.common.seed}};
  EdgeCount edges;
  if (is_dataset(o.kind)) {
    const Dataset dataset = dataset_of(o, command, device);
    save_dataset(dataset, o.out);
    result["num_nodes"] = dataset.graph.nrows();
    edges = count_edges(dataset.graph);
  } else {
    const CsrPattern a = graph_of(o, device);
    save_graph(a, o.out, device);
    result["num_nodes"] = a.nrows();
    edges = count_edges(a);
  }
  edges.put(result);
  if (o.common.json) {
    fmt::print("{}\n", result.dump(2));
  } else {
    fmt::print("{}: nodes {}, {}\n", o.out, result["num_nodes"].dump(), edges.text());
  }
}

/// The size of what will be generated, but for duplicates; `draws` and `nanoseconds` are those of one edge.
GraphSize size_of(const GenerateOptions& o, double& draws, double& nanoseconds) {
  GraphSize size;
  size.symmetric = true;
  nanoseconds = rates::mesh_entry;
  if (o.kind == "rmat") {
    size.nodes = std::exp2(o.scale);
    draws = size.nodes * static_cast<double>(o.edge_factor);
    size.entries = 1.85 * draws;
    nanoseconds = rates::rmat_draw_level * o.scale;
  } else if (o.kind == "uniform") {
    size.nodes = o.nodes;
    draws = static_cast<double>(o.edges);
    size.entries = 2 * draws;
    nanoseconds = rates::uniform_draw;
  } else if (o.kind == "mycielskian") {
    size.nodes = 3 * std::exp2(o.order - 2) - 1;
    size.entries = 2 * std::pow(3, o.order - 2) * 2.9;
    draws = size.entries;
  } else if (o.kind == "de-bruijn") {
    size.nodes = std::exp2(o.scale);
    size.entries = 4 * size.nodes;
    draws = size.entries / 2;
  } else {
    size.nodes = static_cast<double>(o.width) * o.height;
    size.entries = (o.kind == "mesh" ? 6 : 4) * size.nodes;
    draws = size.entries / 2;
  }
  return size;
}

Estimate estimate(const GenerateOptions& o, const CLI::App& command) {
  const Machine machine(o.common);
  Estimate estimate;
  add_start(estimate, machine);
  if (is_dataset(o.kind)) {
    double nodes = o.nodes;
    double entries = nodes * o.planted.mean_degree;
    double held = nodes * o.planted.features_a_node;
    if (o.kind == "planted-graph") {
      const PlantedGraphOptions planted = planted_graph_options(o, command);
      nodes = planted.num_nodes;
      entries = static_cast<double>(planted.num_entries);
      held = nodes * static_cast<double>(planted.num_features);
    }
    const double bytes = rates::program_bytes + 4 * held + 8 * nodes + 4 * entries;
    const double seconds = (entries * rates::planted_entry + held * rates::planted_feature) * 1e-9;
    estimate.steps.push_back({"generate", machine.parallel(seconds), bytes});
    estimate.steps.push_back({"write", machine.serial(4 * held * rates::write_b2sr_byte * 1e-9), bytes});
    return estimate;
  }
  double draws = 0;
  double nanoseconds = 0;
  const GraphSize size = size_of(o, draws, nanoseconds);
  const double held = rates::program_bytes + pattern_bytes(size);
  estimate.steps.push_back(
      {"generate", machine.parallel(draws * nanoseconds * 1e-9), held + 1.3 * rates::pair_bytes * draws});
  add_write(estimate, machine, size, o.out, 0, held);
  if (o.kind == "rmat") estimate.assumptions.emplace_back("that 7 % of the edges drawn are there already");
  return estimate;
}

/// GenerateOptions of the families of graphs.
void add_sizes(CLI::App& command, GenerateOptions& options) {
  command.add_option("--scale", options.scale, "rmat, de-bruijn: 2^scale nodes")
      ->check(whole_number(1, 31))
      ->capture_default_str();
  command.add_option("--edge-factor", options.edge_factor, "rmat: edges to draw for each node")
      ->check(whole_number(0))
      ->capture_default_str();
  command.add_option("--nodes", options.nodes, "uniform, planted-partition, planted-graph: nodes")
      ->check(whole_number(0, most_nodes))
      ->capture_default_str();
  command.add_option("--edges", options.edges, "uniform: edges to draw")->check(whole_number(0))->capture_default_str();
  command.add_option("--width", options.width, "grid, mesh: columns")
      ->check(whole_number(0, most_nodes))
      ->capture_default_str();
  command.add_option("--height", options.height, "grid, mesh: rows")
      ->check(whole_number(0, most_nodes))
      ->capture_default_str();
  command.add_option("--order", options.order, "mycielskian: 3 2^(order - 2) - 1 nodes")
      ->check(whole_number(2, 20))
      ->capture_default_str();
  command.add_flag("--shuffled", options.shuffled, "mesh: number the nodes at random, not row by row");
}

/// GenerateOptions of data sets with planted classes.
void add_planted(CLI::App& command, GenerateOptions& options) {
  command.add_option("--classes", options.planted.num_classes, "planted-partition, planted-graph: classes")
      ->check(whole_number(1, 65536))
      ->capture_default_str();
  command.add_option("--features", options.planted.num_features, "planted-partition, planted-graph: features")
      ->check(whole_number(1, most_nodes))
      ->capture_default_str();
  command.add_option("--mean-degree", options.planted.mean_degree, "planted-partition, planted-graph: mean degree")
      ->check(number_between(0, most_nodes))
      ->capture_default_str();
  command
      .add_option("--homophily", options.planted.homophily,
                  "planted-partition, planted-graph: share of edges within a class")
      ->check(number_between(0, 1))
      ->capture_default_str();
  command.add_option("--preset", options.preset, "planted-graph: the size of a published data set")
      ->check(CLI::IsMember(planted_graph_preset_names()));
  command
      .add_option("--scale-down", options.scale_down, "planted-graph: divide nodes and entries of the preset by this")
      ->check(number_between(1, 1e6))
      ->capture_default_str();
  command.add_option("--entries", options.entries, "planted-graph: entries of the matrix, twice the edges")
      ->check(whole_number(0));
  command.add_option("--exponent", options.exponent, "planted-graph: exponent of the power law of degrees, above 2")
      ->check(positive_number());
  command
      .add_option("--feature-signal", options.feature_signal,
                  "planted-graph: distance of a class's mean from 0 in each feature; the noise has deviation 1")
      ->check(not_negative());
  command.add_option("--label-noise", options.label_noise, "planted-graph: share of labels drawn at random")
      ->check(number_between(0, 1));
}

}  // namespace

void add_generate(CLI::App& app) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command =
      app.add_subcommand("generate", "Write a generated graph, or a generated data set with known classes");
  command->add_option("kind", options->kind, "the kind of graph")
      ->required()
      ->check(CLI::IsMember(
          {"rmat", "uniform", "grid", "mesh", "mycielskian", "de-bruijn", "planted-partition", "planted-graph"}));
  add_output(*command, options->common, "out", options->out,
             "the file to write; .npz for planted-partition and planted-graph")
      ->required();
  add_sizes(*command, *options);
  add_planted(*command, *options);
  add_common(*command, options->common);
  add_examples(*command,
               "  bitgraph generate rmat rmat18.b2sr --scale 18 --seed 1\n  bitgraph generate grid grid.mtx --width "
               "1000 --height 1000\n"
               "  bitgraph generate planted-partition planted.npz --nodes 5000 --classes 5\n"
               "  bitgraph generate planted-graph flickr.npz --preset flickr --seed 1\n");
  add_actions(
      *command, options->common, [options, command] { run_generate(*options, *command); },
      [options, command] { return estimate(*options, *command); });
}

}  // namespace bitgraph::cli
