// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>

#include "cli/bench/bench_estimate.hpp"
#include "cli/bench/bench_gnn.hpp"
#include "cli/bench/bench_operators.hpp"
#include "cli/bench/graph/report.hpp"
#include "cli/bench/graph_spec.hpp"
#include "cli/bench/quantized/bench_quantized.hpp"
#include "cli/ranges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>

namespace bitgraph::cli {

namespace {

struct BenchGraphOptions {
  Common common;
  std::vector<std::string> graphs;
  std::string algorithms = "bfs,sssp,pagerank,cc,tc,mxv,mxm,msbfs";
  std::string tiles = "auto";
  int repeats = 9;
  double limit = 20;
};

struct Algorithm {
  const char* name;
  void (*run)(Arena&);
};

constexpr std::array<Algorithm, 8> known_algorithms{{{"bfs", bench_bfs},
                                                     {"sssp", bench_sssp},
                                                     {"pagerank", bench_pagerank},
                                                     {"cc", bench_components},
                                                     {"tc", bench_triangles},
                                                     {"mxv", bench_mxv},
                                                     {"mxm", bench_mxm},
                                                     {"msbfs", bench_many_sources}}};

/// Skewed, uniform, a mesh, dense, and sparse: a minute or so for all.
const std::vector<std::string> usual_graphs{"rmat:14", "uniform:14", "grid:200", "mycielskian:11", "bruijn:16"};

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream text(list);
  for (std::string word; std::getline(text, word, ',');) words.push_back(word);
  return words;
}

std::vector<Algorithm> algorithms_of(const std::string& list) {
  std::vector<Algorithm> chosen;
  for (const std::string& word : words_of(list)) {
    const auto at = std::find_if(known_algorithms.begin(), known_algorithms.end(),
                                 [&](const Algorithm& a) { return word == a.name; });
    if (at == known_algorithms.end()) {
      std::string names;
      for (const Algorithm& algorithm : known_algorithms)
        names += (names.empty() ? "" : ", ") + std::string(algorithm.name);
      fail(ErrorCode::usage, fmt::format("no algorithm is called '{}': there are {}", word, names));
    }
    chosen.push_back(*at);
  }
  if (chosen.empty()) fail(ErrorCode::usage, "--algorithms names none");
  return chosen;
}

std::vector<int> tiles_of(const std::string& list) {
  std::vector<int> tiles;
  for (const std::string& word : words_of(list)) {
    if (word != "auto" && word != "csr" && word != "4" && word != "8" && word != "16" && word != "32" && word != "64") {
      fail(ErrorCode::usage, fmt::format("no format is called '{}': there are auto, csr, 4, 8, 16, 32, 64", word));
    }
    tiles.push_back(word == "auto" ? auto_tile : word == "csr" ? csr_tile : std::stoi(word));
  }
  if (tiles.empty()) fail(ErrorCode::usage, "--tile names no format");
  return tiles;
}

Json head_of(const BenchGraphOptions& options, const BenchSetting& setting) {
  const PeerLibrary* library = setting.peer.library.get();
  Json peer{{"name", setting.peer.name}, {"version", library == nullptr ? Json() : Json(library->version())}};
  if (library == nullptr) peer["absent"] = setting.peer.absent;
  return {{"benchmark", "graph"},       {"device", setting.device.name()}, {"threads", setting.host.threads()},
          {"repeats", options.repeats}, {"seed", options.common.seed},     {"peer", peer},
          {"results", Json::array()}};
}

void run_bench_graph(const BenchGraphOptions& options) {
  const std::vector<Algorithm> algorithms = algorithms_of(options.algorithms);
  BenchSetting setting;
  setting.tiles = tiles_of(options.tiles);
  setting.device = options.common.make_device();
  setting.host = setting.device.is_host() ? setting.device : Device::host(options.common.threads);
  setting.timing.repeats = options.repeats;
  setting.timing.limit = options.limit;
  setting.timing.warm = usual_warm_up(setting.device);
  setting.seed = options.common.seed;
  const bool on_host = setting.device.is_host();
  setting.peer = on_host ? find_graphblas(setting.host.threads()) : find_cusparse(setting.device);

  const std::vector<std::string>& graphs = options.graphs.empty() ? usual_graphs : options.graphs;
  require_graphs(graphs);
  Json report = head_of(options, setting);
  Progress progress("measuring", options.common.quiet);
  std::size_t done = 0;
  for (const std::string& name : graphs) {
    Arena arena(setting, name, graph_of_spec(name, options.common.seed, setting.host));
    if (!options.common.json && done == 0) print_head(report);
    for (const Algorithm& algorithm : algorithms) {
      progress.update(done++, graphs.size() * algorithms.size(), name + " " + algorithm.name);
      algorithm.run(arena);
    }
    add_results(report["results"], arena);
    if (!options.common.json) print_rows(arena);
  }
  report["geometric_mean"] = mean_ratios(report["results"]);
  if (options.common.json) {
    fmt::print("{}\n", report.dump(2));
  } else {
    print_means(report["geometric_mean"]);
  }
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* bench = app.add_subcommand("bench", "Benchmarks, with peers in the same run");
  bench->require_subcommand(1);
  // Tables take minutes: into a file or a pipe, too, a line goes out when it is there.
  bench->preparse_callback([](std::size_t) { std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ); });
  add_bench_gnn(*bench);
  add_bench_operators(*bench);
  add_bench_quantized(*bench);
  auto options = std::make_shared<BenchGraphOptions>();
  CLI::App* command = bench->add_subcommand(
      "graph",
      "Graph algorithms and products beside SuiteSparse:GraphBLAS (cuSPARSE with --device cuda), results compared.\n"
      "A ratio above 1: ours is faster. Algorithms take graphs as undirected, without loops and weights; mxv takes "
      "them as they are");
  command->add_option("graph", options->graphs, std::string("files, data sets, or ") + graph_kinds)
      ->capture_default_str();
  command->add_option("--algorithms", options->algorithms, "which, with commas between")->capture_default_str();
  command->add_option("--tile", options->tiles, "formats of ours, with commas between: auto, csr, 4, 8, 16, 32, 64")
      ->capture_default_str();
  command->add_option("--repeats", options->repeats, "samples; the median is shown")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  command->add_option("--limit", options->limit, "seconds for the samples of one cell; slow ones take fewer")
      ->check(not_negative())
      ->capture_default_str();
  add_common(*command, options->common);
  add_examples(*command,
               "  bitgraph bench graph\n  bitgraph bench graph rmat:18 wave.graph.gz --algorithms bfs,cc --threads 2\n"
               "  bitgraph bench graph delaunay_n14.mtx --algorithms mxv --tile csr,4,8,16,32,64 --json\n"
               "  bitgraph bench graph rmat:20 grid:1000 --device cuda\n");
  add_actions(
      *command, options->common, [options] { run_bench_graph(*options); },
      [options] {
        const auto algorithms = static_cast<double>(algorithms_of(options->algorithms).size());
        const auto tiles = static_cast<double>(tiles_of(options->tiles).size());
        return estimate_bench(options->graphs.empty() ? usual_graphs : options->graphs, algorithms * (tiles + 1),
                              options->limit, options->common);
      });
}

}  // namespace bitgraph::cli
