// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/bfs.hpp>

#include "cli/estimate/estimate_graph.hpp"
#include "cli/graph_command/graph_command.hpp"

namespace bitgraph::cli {

namespace {

struct BfsCommand {
  GraphOptions graph;
  std::optional<std::string> source;
  std::string parents;
};

}  // namespace

void add_bfs(CLI::App& app) {
  auto options = std::make_shared<BfsCommand>();
  CLI::App* command = app.add_subcommand("bfs", "Breadth-first search from one node, along the edges' direction");
  add_graph_options(*command, options->graph, "the level of every node, int32, -1 where unreached");
  add_source(*command, options->source);
  add_result(*command, options->graph.common, "--parents", options->parents,
             "the smallest node before every node, int32, -1 where unreached");
  add_examples(*command,
               "  bitgraph bfs wave.graph.gz --source 5\n  bitgraph bfs wiki-Vote.txt.gz --out levels.npy --json\n");
  const auto run = [options] {
    GraphJob job("bfs", options->graph, {.workload = Workload::search});
    const bool parents = !options->parents.empty();
    const NodeId source = job.source(options->source);
    const BfsResult found = job.run([&](const PackedGraph& graph) { return bfs(graph, {source, parents}); });
    job.result()["levels"] = found.num_levels;
    job.result()["reached"] = found.reached;
    if (parents) {
      const Buffer<NodeId> parent = found.parent.to(Device{});
      save_result(options->parents, job.names(), {{"parent"}, NodeValues{parent.span()}});
    }
    const Buffer<std::int32_t> level = found.level.to(Device{});
    job.finish("level", level.span());
  };
  add_actions(*command, options->graph.common, run,
              [options] { return estimate_algorithm("bfs", options->graph, {.workload = Workload::search}); });
}

}  // namespace bitgraph::cli
