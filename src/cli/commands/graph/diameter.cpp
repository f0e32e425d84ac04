// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/diameter.hpp>

#include "cli/estimate/estimate_graph.hpp"
#include "cli/graph_command/graph_command.hpp"
#include "cli/ranges.hpp"

#include <algorithm>

namespace bitgraph::cli {

namespace {

struct DiameterCommand {
  GraphOptions graph;
  DiameterOptions search;
};

}  // namespace

void add_diameter(CLI::App& app) {
  auto options = std::make_shared<DiameterCommand>();
  CLI::App* command =
      app.add_subcommand("diameter", "Find the longest shortest path; ignores directions and pairs without a path");
  add_graph_options(*command, options->graph,
                    "the eccentricity of every node within its component, int32 (its lower "
                    "bound, if --max-searches came first)");
  command
      ->add_option("--max-searches", options->search.max_searches,
                   "stop after so many searches with the bounds there are; 0: go on until they meet")
      ->check(whole_number(0))
      ->capture_default_str();
  add_examples(*command, "  bitgraph diameter wave.graph.gz\n  bitgraph diameter delaunay_n14.mtx --max-searches 4\n");
  const auto run = [options] {
    GraphJob job("diameter", options->graph, {.undirected = true});
    options->search.eccentricities = !options->graph.out.empty();
    const Diameter found = job.run([&](const PackedGraph& graph) { return diameter(graph, options->search); });
    job.result()["lower"] = found.lower;
    job.result()["upper"] = found.upper;
    if (job.graph().num_nodes() != 0) {
      job.result()["from"] = job.names().json(found.from);
      job.result()["to"] = job.names().json(found.to);
      job.result()["from_index"] = found.from;
      job.result()["to_index"] = found.to;
    }
    job.result()["searches"] = found.searches;
    const Buffer<std::int32_t> eccentricity = found.eccentricity_lower.to(Device{});
    job.finish("eccentricity", eccentricity.span());
  };
  add_actions(*command, options->graph.common, run, [options] {
    const auto most = static_cast<double>(options->search.max_searches);
    const Passes passes{most > 0 ? std::min(most, 6.0) : 6, "6 searches at most; some graphs take hundreds"};
    return estimate_algorithm("diameter", options->graph, {.undirected = true}, passes);
  });
}

}  // namespace bitgraph::cli
