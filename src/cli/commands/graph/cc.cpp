// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/components.hpp>

#include "cli/estimate/estimate_graph.hpp"
#include "cli/graph_command/graph_command.hpp"

namespace bitgraph::cli {

namespace {

struct ComponentsOptions {
  GraphOptions graph;
  bool strong = false;
};

void run_cc(const ComponentsOptions& options) {
  GraphJob job("cc", options.graph, {.undirected = !options.strong, .with_transpose = false});
  const Components found = job.run([&](const PackedGraph& graph) {
    return options.strong ? strongly_connected_components(graph) : connected_components(graph);
  });
  job.result()["num_components"] = found.count;
  const Buffer<NodeId> label = found.label.to(Device{});
  job.finish("component", NodeValues{label.span()});
}

}  // namespace

void add_cc(CLI::App& app) {
  auto options = std::make_shared<ComponentsOptions>();
  CLI::App* command = app.add_subcommand("cc", "Find connected components; ignores directions unless --strong");
  add_graph_options(*command, options->graph, "the smallest node of every node's component, int32");
  command->add_flag("--strong", options->strong, "strongly connected components, along directed edges");
  add_examples(*command, "  bitgraph cc wave.graph.gz\n  bitgraph cc wiki-Vote.txt.gz --strong --out component.npy\n");
  add_actions(
      *command, options->graph.common, [options] { run_cc(*options); },
      [options] {
        return estimate_algorithm(options->strong ? "cc --strong" : "cc", options->graph,
                                  {.undirected = !options->strong, .with_transpose = false});
      });
}

}  // namespace bitgraph::cli
