// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/independent_set.hpp>

#include "cli/estimate/estimate_graph.hpp"
#include "cli/graph_command/graph_command.hpp"

namespace bitgraph::cli {

void add_mis(CLI::App& app) {
  auto options = std::make_shared<GraphOptions>();
  CLI::App* command = app.add_subcommand("mis", "Find a maximal independent set; ignores directions");
  add_graph_options(*command, *options, "1 for every node of the set and 0 for the others, uint8");
  add_examples(*command, "  bitgraph mis wave.graph.gz --seed 1 --out member.npy\n");
  const auto run = [options] {
    GraphJob job("mis", *options, {.undirected = true});
    const IndependentSet found =
        job.run([&](const PackedGraph& graph) { return maximal_independent_set(graph, options->common.seed); });
    job.result()["size"] = found.size;
    const Buffer<std::uint8_t> member = found.member.to(Device{});
    job.finish("member", member.span());
  };
  add_actions(*command, options->common, run,
              [options] { return estimate_algorithm("mis", *options, {.undirected = true}); });
}

}  // namespace bitgraph::cli
