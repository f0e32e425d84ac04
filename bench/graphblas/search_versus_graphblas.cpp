// SPDX-License-Identifier: Apache-2.0
// Searches beside SuiteSparse:GraphBLAS, in one process, on the same graphs and sources: medians of 9 in milliseconds.
//
//     search_versus_graphblas [--threads N] [--only NAME] [--ours]
//
// and, of ours alone, 512 sources at once beside 512 searches one by one.
//
// The graph of a file (delaunay_n14) is taken from $BITGRAPH_DATA and left out where there is none.
#include <bitgraph/core/random.hpp>
#include <bitgraph/graph/bfs.hpp>
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/graph/multi_source_bfs.hpp>
#include <bitgraph/graph/sssp.hpp>
#include <bitgraph/io/graph.hpp>
#include <bitgraph/ops/semiring.hpp>

#include "graphblas_search.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace bitgraph {
namespace {

constexpr std::size_t repeats = 9;

struct Options {
  int threads = 2;
  std::string only;
  bool ours = false;
};

double milliseconds(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// The median over the sources; the first search of all is not counted.
double median_over(const std::vector<NodeId>& sources, const std::function<void(NodeId)>& search) {
  search(sources[0]);
  std::vector<double> times;
  for (const NodeId source : sources) times.push_back(milliseconds([&] { search(source); }));
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

std::vector<NodeId> sources_of(const CsrPattern& graph) {
  std::vector<NodeId> sources;
  for (std::size_t k = 0; sources.size() < repeats; ++k) {
    const auto node = static_cast<NodeId>(random_below({5, 1, 0}, k, graph.nrows()));
    if (!graph.row(node).empty()) sources.push_back(node);
  }
  return sources;
}

/// 1 to 255, the same in both directions.
std::vector<float> weights_of(const CsrPattern& graph) {
  std::vector<float> weights(graph.nvals());
  for (NodeId i = 0; i < graph.nrows(); ++i) {
    for (EdgeOffset e = graph.row_ptr()[i]; e < graph.row_ptr()[i + 1]; ++e) {
      const NodeId j = graph.col_ind()[e];
      const std::uint64_t pair = std::uint64_t{std::min(i, j)} << 32 | std::max(i, j);
      weights[e] = static_cast<float>(1 + random_below({7, 2, 0}, pair, 255));
    }
  }
  return weights;
}

void print_row(const std::string& name, const char* what, double ours, double theirs) {
  if (theirs > 0) {
    std::printf("%-16s %-14s %10.3f %12.3f %8.2f\n", name.c_str(), what, ours, theirs, theirs / ours);
  } else {
    std::printf("%-16s %-14s %10.3f\n", name.c_str(), what, ours);
  }
  std::fflush(stdout);
}

void compare_bfs(const std::string& name, const CsrPattern& graph, const std::vector<NodeId>& sources,
                 const Options& options, const Device& device) {
  const PackedGraph packed = pack_graph(graph, {.tile_dim = csr_tile}, device);
  BfsSearch search(packed);
  const double ours = median_over(sources, [&](NodeId source) { search.run({.source = source}); });
  double theirs = 0;
  if (!options.ours) {
    graphblas::Bfs other(graph);
    theirs = median_over(sources, [&](NodeId source) {
      const GrB_Index reached = other.run(source);
      if (source == sources.back() && reached != search.run({.source = source}).reached)
        std::printf("REACHED DIFFERS\n");
    });
  }
  print_row(name, "BFS", ours, theirs);
}

double best_of_graphblas(const CsrPattern& graph, const std::vector<float>& weights, const std::vector<NodeId>& sources,
                         const std::vector<std::int32_t>& deltas) {
  graphblas::Sssp other(graph, weights);
  double best = 0;
  std::int32_t best_delta = deltas.front();
  for (const std::int32_t delta : deltas) {
    other.set_delta(delta);
    const double time =
        std::min(milliseconds([&] { other.run(sources[0]); }), milliseconds([&] { other.run(sources[0]); }));
    if (best == 0 || time < best) {
      best = time;
      best_delta = delta;
    }
  }
  other.set_delta(best_delta);
  return median_over(sources, [&](NodeId source) { other.run(source); });
}

void check_sums(const CsrPattern& graph, const std::vector<float>& weights, const WeightedGraph& packed,
                NodeId source) {
  graphblas::Sssp other(graph, weights);
  other.set_delta(64);
  std::int64_t sum = 0;
  const auto result = sssp<std::int32_t>(packed, {.source = source});
  for (const std::int32_t d : result.distance.span()) sum += d == unreached<std::int32_t>() ? 0 : d;
  if (sum != other.run(source)) std::printf("DISTANCES DIFFER\n");
}

void compare_sssp(const std::string& name, const CsrPattern& graph, const std::vector<NodeId>& sources,
                  const Options& options, const Device& device) {
  const PackedGraph unit = pack_graph(graph, {.tile_dim = csr_tile}, device);
  BfsSearch levels(unit);
  const double ours_unit =
      median_over(sources, [&](NodeId source) { levels.run({.source = source}, unreached<std::int32_t>()); });
  const std::vector<float> ones(graph.nvals(), 1.0F);
  print_row(name, "SSSP unit", ours_unit, options.ours ? 0 : best_of_graphblas(graph, ones, sources, {1}));

  const std::vector<float> weights = weights_of(graph);
  const WeightedGraph packed = pack_weighted_graph(graph, weights, {.tile_dim = csr_tile}, WeightKind::integer, device);
  SsspSearch<std::int32_t> search(packed);
  const double ours = median_over(sources, [&](NodeId source) { search.run({.source = source}); });
  if (std::getenv("BITGRAPH_BENCH_DELTAS") != nullptr) {
    for (const double delta : {2., 4., 8., 12., 16., 24., 32., 48., 64., 96., 128., 256., 512.}) {
      std::printf("    delta %.0f: %.3f\n", delta,
                  median_over(sources, [&](NodeId source) { search.run({.source = source, .delta = delta}); }));
    }
  }
  if (!options.ours) check_sums(graph, weights, packed, sources[0]);
  print_row(name, "SSSP 1..255", ours,
            options.ours ? 0 : best_of_graphblas(graph, weights, sources, {16, 32, 64, 128, 256, 1024}));
}

void compare(const std::string& name, const std::function<CsrPattern()>& make, const Options& options) {
  if (!options.only.empty() && options.only != name) return;
  const CsrPattern graph = make();
  if (graph.nrows() == 0) return;
  const Device device = Device::host(options.threads);
  const auto sources = sources_of(graph);
  compare_bfs(name, graph, sources, options, device);
  compare_sssp(name, graph, sources, options, device);
}

void compare_multi_source(const std::string& name, const std::function<CsrPattern()>& make, const Options& options) {
  if (!options.only.empty() && options.only != name) return;
  const PackedGraph packed = pack_graph(make(), {.tile_dim = csr_tile}, Device::host(options.threads));
  std::vector<NodeId> sources;
  with_view(packed.out(), [&](const auto& out) {
    if constexpr (std::is_same_v<decltype(out), const CsrPatternView&>) {
      for (std::size_t k = 0; sources.size() < sources_a_pass; ++k) {
        const auto node = static_cast<NodeId>(random_below({5, 3, 0}, k, out.nrows));
        if (!out.row(node).empty()) sources.push_back(node);
      }
    }
  });
  MultiSourceBfs together(packed);
  BfsSearch single(packed);
  const std::vector<NodeId> rounds(repeats, 0);
  const double ours = median_over(rounds, [&](NodeId) { together.run({sources}); });
  const double one_by_one = milliseconds([&] {
    for (const NodeId source : sources) single.run({.source = source});
  });
  print_row(name, "BFS 512: 1 by 1", ours, one_by_one);
}

CsrPattern delaunay() {
  const char* folder = std::getenv("BITGRAPH_DATA");
  if (folder == nullptr) return {};
  return load_graph(std::string(folder) + "/suitesparse/delaunay_n14.mtx").pattern;
}

int run(int argc, char** argv) {
  Options options;
  for (int k = 1; k < argc; ++k) {
    if (std::strcmp(argv[k], "--threads") == 0 && k + 1 < argc) options.threads = std::atoi(argv[++k]);
    if (std::strcmp(argv[k], "--only") == 0 && k + 1 < argc) options.only = argv[++k];
    if (std::strcmp(argv[k], "--ours") == 0) options.ours = true;
  }
  omp_set_num_threads(options.threads);
  graphblas::check(GrB_init(GrB_NONBLOCKING), "init");
  graphblas::check(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, options.threads), "threads");
  std::printf("%-16s %-14s %10s %12s %8s\n", "graph", "search", "ours ms", "GraphBLAS ms", "ratio");
  compare(
      "rmat20", [] { return generate_rmat(20, 16, 1); }, options);
  compare(
      "uniform18", [] { return generate_uniform(1U << 18, std::size_t{16} << 18, 1); }, options);
  compare(
      "grid1000", [] { return generate_grid(1000, 1000); }, options);
  compare(
      "debruijn20", [] { return generate_de_bruijn(20); }, options);
  compare(
      "mycielskian15", [] { return generate_mycielskian(15); }, options);
  compare("delaunay_n14", delaunay, options);
  compare_multi_source(
      "rmat18_multi", [] { return generate_rmat(18, 16, 1); }, options);
  GrB_finalize();
  return 0;
}

}  // namespace
}  // namespace bitgraph

int main(int argc, char** argv) { return bitgraph::run(argc, argv); }
