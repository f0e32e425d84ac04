// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/io/graph.hpp>

#include "cli/command.hpp"

#include <fmt/format.h>

#include <memory>

namespace bitgraph::cli {

namespace {

struct Options {
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
};

CsrPattern graph_of(const Options& o, const Device& device) {
  if (o.kind == "rmat") return generate_rmat(o.scale, o.edge_factor, o.common.seed, device);
  if (o.kind == "uniform") return generate_uniform(o.nodes, o.edges, o.common.seed, device);
  if (o.kind == "mycielskian") return generate_mycielskian(o.order, device);
  if (o.kind == "de-bruijn") return generate_de_bruijn(o.scale, device);
  if (o.kind == "mesh") return generate_mesh(o.width, o.height, o.common.seed, o.shuffled, device);
  return generate_grid(o.width, o.height, device);
}

void run(Options& o) {
  const Device device = o.common.make_device();
  Json result{{"kind", o.kind}, {"out", o.out}, {"seed", o.common.seed}};
  if (o.kind == "planted-partition") {
    o.planted.num_nodes = o.nodes;
    o.planted.seed = o.common.seed;
    const Dataset dataset = generate_planted_partition(o.planted, device);
    save_dataset(dataset, o.out);
    result["num_nodes"] = dataset.graph.nrows();
    result["num_entries"] = dataset.graph.nvals();
  } else {
    const CsrPattern a = graph_of(o, device);
    save_graph(a, o.out, device);
    result["num_nodes"] = a.nrows();
    result["num_entries"] = a.nvals();
  }
  if (o.common.json) {
    fmt::print("{}\n", result.dump(2));
  } else {
    fmt::print("{}: {} nodes, {} entries\n", o.out, result["num_nodes"].dump(), result["num_entries"].dump());
  }
}

}  // namespace

void add_generate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("generate", "A seeded random graph, one of a family, or a data set with planted classes");
  command->add_option("kind", options->kind, "which one")
      ->required()
      ->check(CLI::IsMember({"rmat", "uniform", "grid", "mesh", "mycielskian", "de-bruijn", "planted-partition"}));
  command->add_option("out", options->out, "the file to write; .npz for planted-partition")->required();
  command->add_option("--scale", options->scale, "rmat, de-bruijn: 2^scale nodes")->capture_default_str();
  command->add_option("--edge-factor", options->edge_factor, "rmat: edges drawn a node")->capture_default_str();
  command->add_option("--nodes", options->nodes, "uniform, planted-partition: nodes")->capture_default_str();
  command->add_option("--edges", options->edges, "uniform: edges drawn")->capture_default_str();
  command->add_option("--width", options->width, "grid, mesh: columns")->capture_default_str();
  command->add_option("--height", options->height, "grid, mesh: rows")->capture_default_str();
  command->add_option("--order", options->order, "mycielskian: 3 2^(order - 2) - 1 nodes")->capture_default_str();
  command->add_flag("--shuffled", options->shuffled, "mesh: number the nodes at random, not row by row");
  command->add_option("--classes", options->planted.num_classes, "planted-partition: classes")->capture_default_str();
  command->add_option("--features", options->planted.num_features, "planted-partition: features")
      ->capture_default_str();
  command->add_option("--mean-degree", options->planted.mean_degree, "planted-partition: mean degree")
      ->capture_default_str();
  command->add_option("--homophily", options->planted.homophily, "planted-partition: share of edges within a class")
      ->capture_default_str();
  add_common(*command, options->common);
  add_examples(*command,
               "  bitgraph generate rmat rmat18.b2sr --scale 18 --seed 1\n  bitgraph generate grid grid.mtx --width "
               "1000 --height 1000\n"
               "  bitgraph generate planted-partition planted.npz --nodes 5000 --classes 5\n");
  command->callback([options] { run(*options); });
}

}  // namespace bitgraph::cli
