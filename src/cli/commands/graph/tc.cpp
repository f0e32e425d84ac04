// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/triangles.hpp>

#include "cli/estimate/estimate_graph.hpp"
#include "cli/graph_command/graph_command.hpp"

namespace bitgraph::cli {

namespace {

struct TrianglesOptions {
  GraphOptions graph;
  bool clustering = false;
};

void run_tc(const TrianglesOptions& options) {
  GraphJob job("tc", options.graph, {.undirected = true, .workload = Workload::counting});
  if (options.clustering) {
    const Clustering found = job.run([](const PackedGraph& graph) { return clustering(graph); });
    job.result()["triangles"] = found.triangles;
    job.result()["average_clustering"] = found.average;
    job.result()["transitivity"] = found.transitivity;
    const Buffer<double> local = found.local.to(Device{});
    job.finish("clustering", local.span());
  } else if (!options.graph.out.empty() || options.graph.top != 0) {
    const Buffer<std::uint64_t> there = job.run([](const PackedGraph& graph) { return triangles_of_nodes(graph); });
    const Buffer<std::uint64_t> counts = there.to(Device{});
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    job.result()["triangles"] = sum / 3;
    job.finish("triangles", counts.span());
  } else {
    job.result()["triangles"] = job.run([](const PackedGraph& graph) { return count_triangles(graph); });
    job.print();
  }
}

}  // namespace

void add_tc(CLI::App& app) {
  auto options = std::make_shared<TrianglesOptions>();
  CLI::App* command = app.add_subcommand("tc", "Count triangles; ignores directions and loops");
  add_graph_options(*command, options->graph,
                    "the triangles of every node, uint64; with --clustering its coefficient, float64");
  command->add_flag("--clustering", options->clustering, "clustering coefficients: their average, and transitivity");
  add_top(*command, options->graph);
  add_examples(*command,
               "  bitgraph tc wiki-Vote.txt.gz\n  bitgraph tc jazz.graph --clustering --out local.npy --json\n");
  add_actions(
      *command, options->graph.common, [options] { run_tc(*options); },
      [options] {
        const bool of_nodes = options->clustering || !options->graph.out.empty() || options->graph.top != 0;
        return estimate_algorithm(of_nodes ? "tc of nodes" : "tc", options->graph,
                                  {.undirected = true, .workload = Workload::counting});
      });
}

}  // namespace bitgraph::cli
