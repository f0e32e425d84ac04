// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/sssp.hpp>

#include "cli/estimate/estimate_graph.hpp"
#include "cli/graph_command/graph_command.hpp"
#include "cli/ranges.hpp"

namespace bitgraph::cli {

namespace {

struct SsspCommand {
  GraphOptions graph;
  std::optional<std::string> source;
  SsspOptions search;
};

template <class Distance>
void finish(GraphJob& job, const SsspResult<Distance>& found) {
  job.result()["reached"] = found.reached;
  const Buffer<Distance> distance = found.distance.to(Device{});
  if constexpr (std::is_same_v<Distance, std::int32_t>) {
    job.finish("distance", DistanceValues{distance.span()});
  } else {
    job.finish("distance", distance.span());
  }
}

}  // namespace

void add_sssp(CLI::App& app) {
  auto options = std::make_shared<SsspCommand>();
  CLI::App* command =
      app.add_subcommand("sssp", "Lengths of shortest paths from one node; edges are as long as the file says, or 1");
  add_graph_options(
      *command, options->graph,
      "the distance of every node, int32 (2147483647 where unreached), or float32 (inf) where weights are "
      "not all whole and at most 255");
  add_source(*command, options->source);
  command->add_option("--delta", options->search.delta, "width of a bucket of distances; 0: chosen")
      ->check(not_negative())
      ->capture_default_str();
  add_examples(*command,
               "  bitgraph sssp bcspwr10.mtx --ignore-weights\n  bitgraph sssp roads.mtx --source 5 --json\n");
  const auto run = [options] {
    GraphJob job("sssp", options->graph, {.weights_allowed = true, .with_transpose = true});
    options->search.source = job.source(options->source);
    const WeightedGraph* weighted = job.weighted();
    job.result()["weights"] = weighted == nullptr ? "none" : weighted->has_integers() ? "integer" : "real";
    if (weighted == nullptr) {
      finish(job, job.run([&](const PackedGraph& graph) { return sssp(graph, options->search); }));
    } else if (weighted->has_integers()) {
      finish(job, job.run([&](const PackedGraph&) { return sssp<std::int32_t>(*weighted, options->search); }));
    } else {
      finish(job, job.run([&](const PackedGraph&) { return sssp<float>(*weighted, options->search); }));
    }
  };
  add_actions(*command, options->graph.common, run,
              [options] { return estimate_algorithm("sssp", options->graph, {.weights_allowed = true}); });
}

}  // namespace bitgraph::cli
