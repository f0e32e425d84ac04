// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/graph/multi_source_bfs.hpp>

#include "cli/estimate/estimate_graph.hpp"
#include "cli/graph_command/graph_command.hpp"
#include "graph/samples.hpp"

namespace bitgraph::cli {

namespace {

struct MsbfsOptions {
  GraphOptions graph;
  SourceOptions sources;
};

void run_msbfs(const MsbfsOptions& options) {
  GraphJob job("msbfs", options.graph, {.workload = Workload::search});
  std::vector<NodeId> sources = job.nodes(options.sources.ids);
  if (sources.empty()) {
    const RandomKey key{options.graph.common.seed, 0xB5, 0};
    sources = sampled_nodes(job.graph().num_nodes(), options.sources.samples, key);
  }
  const bool levels = !options.graph.out.empty();
  const MultiSourceBfsResult found = job.run([&](const PackedGraph& graph) {
    return multi_source_bfs(graph, {sources, levels});
  });
  const Buffer<NodeId> reached = found.reached.to(Device{});
  const Buffer<std::int32_t> eccentricity = found.eccentricity.to(Device{});
  Json rows = Json::array();
  ResultTable table;
  for (std::size_t s = 0; s < sources.size(); ++s) {
    rows.push_back({{"source", job.names().json(sources[s])},
                    {"index", sources[s]},
                    {"reached", reached[s]},
                    {"eccentricity", eccentricity[s]}});
    table.columns.push_back(job.names().text(sources[s]));
  }
  job.result()["num_sources"] = sources.size();
  job.result()["sources"] = std::move(rows);
  if (levels) {
    const DenseMatrix<std::int32_t> level = found.level.to(Device{});
    table.values = level.values();
    table.matrix = true;
    save_result(options.graph.out, job.names(), table);
  }
  job.print();
}

}  // namespace

void add_msbfs(CLI::App& app) {
  auto options = std::make_shared<MsbfsOptions>();
  CLI::App* command =
      app.add_subcommand("msbfs", "Breadth-first search from many nodes at once, along the edges' direction");
  add_graph_options(*command, options->graph,
                    "the level of every node from every source, int32, nodes x sources, -1 where unreached");
  add_sources(*command, options->sources);
  add_examples(*command,
               "  bitgraph msbfs jazz.graph --sources 1,5,17\n  bitgraph msbfs wave.graph.gz --samples 512 --json\n");
  // Asked for before any work, and before an estimate of it.
  options->graph.common.files.checks([options = options.get()] {
    if (options->sources.ids.empty() && options->sources.samples == 0)
      fail(ErrorCode::usage, "msbfs: name the sources with --sources, or draw them with --samples");
  });
  add_actions(
      *command, options->graph.common, [options] { run_msbfs(*options); },
      [options] {
        return estimate_algorithm("msbfs", options->graph, {.workload = Workload::search}, options->sources, 512);
      });
}

}  // namespace bitgraph::cli
