// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/betweenness.hpp>

#include "cli/estimate/estimate_graph.hpp"
#include "cli/graph_command/graph_command.hpp"

namespace bitgraph::cli {

namespace {

struct BetweennessOptions {
  GraphOptions graph;
  SourceOptions sources;
  bool normalized = false;
};

void run_betweenness(const BetweennessOptions& options) {
  GraphJob job("betweenness", options.graph, {.with_transpose = false});
  const std::vector<NodeId> sources = job.nodes(options.sources.ids);
  const Buffer<double> found = job.run([&](const PackedGraph& graph) {
    return betweenness(graph, {.sources = sources,
                               .samples = options.sources.samples,
                               .seed = options.graph.common.seed,
                               .normalized = options.normalized});
  });
  job.result()["num_sources"] = job.num_sources(options.sources);
  job.result()["normalized"] = options.normalized;
  const Buffer<double> score = found.to(Device{});
  job.finish("betweenness", score.span());
}

}  // namespace

void add_betweenness(CLI::App& app) {
  auto options = std::make_shared<BetweennessOptions>();
  CLI::App* command = app.add_subcommand(
      "betweenness", "Betweenness centrality: the share of shortest paths that pass through each node");
  add_graph_options(*command, options->graph, "the score of every node, float64");
  add_sources(*command, options->sources);
  command->add_flag("--normalized", options->normalized,
                    "divide by (n - 1)(n - 2), and multiply by n / sources, as NetworkX does");
  add_top(*command, options->graph);
  add_examples(*command,
               "  bitgraph betweenness jazz.graph --normalized --top 10\n  bitgraph betweenness wiki-Vote.txt.gz "
               "--samples 500 --out score.csv\n");
  add_actions(
      *command, options->graph.common, [options] { run_betweenness(*options); },
      [options] {
        return estimate_algorithm("betweenness", options->graph, {.with_transpose = false}, options->sources, 1);
      });
}

}  // namespace bitgraph::cli
