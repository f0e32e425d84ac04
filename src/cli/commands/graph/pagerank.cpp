// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/pagerank.hpp>

#include "cli/estimate/estimate_graph.hpp"
#include "cli/graph_command/graph_command.hpp"
#include "cli/ranges.hpp"

#include <algorithm>

namespace bitgraph::cli {

namespace {

struct PagerankOptions {
  GraphOptions graph;
  PageRankOptions pagerank;
  int iterations = -1;
};

void run_pagerank(PagerankOptions& options) {
  if (options.iterations >= 0) {
    options.pagerank.tolerance = 0;
    options.pagerank.max_iterations = options.iterations;
  }
  GraphJob job("pagerank", options.graph, {.workload = Workload::ranks});
  const PageRankResult found = job.run([&](const PackedGraph& graph) { return pagerank(graph, options.pagerank); });
  job.result()["iterations"] = found.iterations;
  job.result()["residual"] = found.residual;
  job.result()["converged"] = found.converged;
  const Buffer<double> rank = found.rank.to(Device{});
  job.finish("rank", rank.span());
}

}  // namespace

void add_pagerank(CLI::App& app) {
  auto options = std::make_shared<PagerankOptions>();
  CLI::App* command = app.add_subcommand("pagerank", "PageRank along directed edges");
  add_graph_options(*command, options->graph, "the rank of every node, float64 adding up to 1");
  command->add_option("--damping", options->pagerank.damping, "share of the rank that follows edges, below 1")
      ->check(number_between(0, 1))
      ->capture_default_str();
  command->add_option("--tolerance", options->pagerank.tolerance, "stop where the ranks change by no more, in sum")
      ->check(not_negative())
      ->capture_default_str();
  command->add_option("--max-iterations", options->pagerank.max_iterations, "stop at the latest then")
      ->check(whole_number(0, 0x7FFFFFFF))
      ->capture_default_str();
  command->add_option("--iterations", options->iterations, "exactly so many, whatever the tolerance")
      ->check(whole_number(0, 0x7FFFFFFF));
  add_top(*command, options->graph);
  add_examples(*command,
               "  bitgraph pagerank wiki-Vote.txt.gz --out rank.npy\n  bitgraph pagerank wave.graph.gz --tile 4 "
               "--iterations 20 --json\n");
  add_actions(
      *command, options->graph.common, [options] { run_pagerank(*options); },
      [options] {
        const double most = options->pagerank.max_iterations;
        const Passes passes = options->iterations >= 0 ? Passes{static_cast<double>(options->iterations), ""}
                                                       : Passes{std::min(most, 16.0), "16 iterations to converge"};
        return estimate_algorithm("pagerank", options->graph, {.workload = Workload::ranks}, passes);
      });
}

}  // namespace bitgraph::cli
