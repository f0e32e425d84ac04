// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/components.hpp>

#include "cli/graph_command.hpp"

namespace bitgraph::cli {

void add_cc(CLI::App& app) {
  auto options = std::make_shared<GraphOptions>();
  CLI::App* command = app.add_subcommand("cc", "Connected components; directions are ignored");
  add_graph_options(*command, *options, "the smallest node id of every node's component, int32");
  add_examples(*command, "  bitgraph cc wave.graph.gz\n  bitgraph cc wiki-Vote.txt.gz --out component.npy --json\n");
  command->callback([options] {
    GraphJob job("cc", *options, {.undirected = true});
    const Components found = job.run([](const PackedGraph& graph) { return connected_components(graph); });
    job.result()["num_components"] = found.count;
    job.finish(as_int32(found.label.span()));
  });
}

}  // namespace bitgraph::cli
