// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/coloring.hpp>

#include "cli/estimate/estimate_graph.hpp"
#include "cli/graph_command/graph_command.hpp"

namespace bitgraph::cli {

void add_color(CLI::App& app) {
  auto options = std::make_shared<GraphOptions>();
  CLI::App* command = app.add_subcommand("color", "Colour the nodes greedily; ignores directions");
  add_graph_options(*command, *options, "the colour of every node from 0, int32");
  add_examples(*command, "  bitgraph color wave.graph.gz --out color.npy\n");
  const auto run = [options] {
    GraphJob job("color", *options, {.undirected = true});
    const Coloring found =
        job.run([&](const PackedGraph& graph) { return greedy_coloring(graph, options->common.seed); });
    job.result()["colors"] = found.count;
    const Buffer<std::int32_t> color = found.color.to(Device{});
    job.finish("color", color.span());
  };
  add_actions(*command, options->common, run,
              [options] { return estimate_algorithm("color", *options, {.undirected = true}); });
}

}  // namespace bitgraph::cli
