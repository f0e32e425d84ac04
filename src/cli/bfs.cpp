// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/bfs.hpp>

#include "cli/graph_command.hpp"
#include "cli/ranges.hpp"

namespace bitgraph::cli {

namespace {

struct BfsCommand {
  GraphOptions graph;
  NodeId source = 0;
  std::string parents;
};

}  // namespace

void add_bfs(CLI::App& app) {
  auto options = std::make_shared<BfsCommand>();
  CLI::App* command = app.add_subcommand("bfs", "Breadth-first search from one node, along the edges' direction");
  add_graph_options(*command, options->graph, "the level of every node, int32, -1 where unreached");
  command->add_option("--source", options->source, "the node to start from, counted from 0")
      ->check(whole_number(0, most_nodes))
      ->capture_default_str();
  add_result(*command, options->graph.common, "--parents", options->parents,
             "the smallest node before every node, int32, -1 where unreached");
  add_examples(*command,
               "  bitgraph bfs wave.graph.gz --source 5\n  bitgraph bfs wiki-Vote.txt.gz --out levels.npy --json\n");
  command->callback([options] {
    GraphJob job("bfs", options->graph, {.workload = Workload::search});
    const bool parents = !options->parents.empty();
    const BfsResult found = job.run([&](const PackedGraph& graph) { return bfs(graph, {options->source, parents}); });
    job.result()["source"] = options->source;
    job.result()["levels"] = found.num_levels;
    job.result()["reached"] = found.reached;
    if (parents) {
      const Buffer<NodeId> parent = found.parent.to(Device{});
      save_result(options->parents, job.names(), {{"parent"}, NodeValues{parent.span()}});
    }
    const Buffer<std::int32_t> level = found.level.to(Device{});
    job.finish("level", level.span());
  });
}

}  // namespace bitgraph::cli
