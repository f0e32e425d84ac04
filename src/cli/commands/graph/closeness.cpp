// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/closeness.hpp>

#include "cli/estimate/estimate_graph.hpp"
#include "cli/graph_command/graph_command.hpp"

namespace bitgraph::cli {

namespace {

struct ClosenessOptions {
  GraphOptions graph;
  SourceOptions sources;
  std::string score = "improved";
};

ClosenessScore score_from(const std::string& name) {
  if (name == "harmonic") return ClosenessScore::harmonic;
  return name == "unimproved" ? ClosenessScore::unimproved : ClosenessScore::improved;
}

void run_closeness(const ClosenessOptions& options) {
  GraphJob job("closeness", options.graph, {.workload = Workload::search});
  const std::vector<NodeId> sources = job.nodes(options.sources.ids);
  const Buffer<double> found = job.run([&](const PackedGraph& graph) {
    return closeness(graph, {.score = score_from(options.score),
                             .sources = sources,
                             .samples = options.sources.samples,
                             .seed = options.graph.common.seed});
  });
  job.result()["num_sources"] = job.num_sources(options.sources);
  job.result()["score"] = options.score;
  const Buffer<double> score = found.to(Device{});
  job.finish("closeness", score.span());
}

}  // namespace

void add_closeness(CLI::App& app) {
  auto options = std::make_shared<ClosenessOptions>();
  CLI::App* command =
      app.add_subcommand("closeness", "Closeness centrality, from the distances of the paths that lead to each node");
  add_graph_options(*command, options->graph, "the score of every node, float64");
  command
      ->add_option("--score", options->score,
                   "improved: inverse mean distance times the share of nodes that reach the node (Wasserman, Faust); "
                   "unimproved: without that share; harmonic: the sum of 1 / distance")
      ->check(CLI::IsMember({"improved", "unimproved", "harmonic"}))
      ->capture_default_str();
  add_sources(*command, options->sources);
  add_top(*command, options->graph);
  add_examples(*command,
               "  bitgraph closeness jazz.graph --top 10\n  bitgraph closeness wiki-Vote.txt.gz --score harmonic "
               "--samples 512 --out score.csv\n");
  add_actions(
      *command, options->graph.common, [options] { run_closeness(*options); },
      [options] {
        return estimate_algorithm("closeness", options->graph, {.workload = Workload::search}, options->sources, 512);
      });
}

}  // namespace bitgraph::cli
