// SPDX-License-Identifier: Apache-2.0
// Triangle counting beside SuiteSparse:GraphBLAS in one process: both triangles of the matrix selected, L U' masked by
// L over plus_pair (LAGraph's method Sandia_LUT), and the sum of its entries. Where LAGraph would sort by degree first,
// that is done by our own reordering and shown beside. Ours starts from the packed graph and pays for all it needs.
//
//     triangles_versus_graphblas [--threads N] [--repeats N] [--peer-repeats N] [GRAPH ...]
//
// A GRAPH is a file, or rmat:SCALE, uniform:SCALE, grid:SIDE, bruijn:SCALE, mycielskian:ORDER.
#include "graphblas/suitesparse.hpp"

#include <bitgraph/formats/reorder.hpp>
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/graph/triangles.hpp>
#include <bitgraph/io/graph.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace bitgraph;

struct Options {
  int threads = 2;
  int repeats = 9;
  int peer_repeats = 3;
  std::vector<std::string> graphs;
};

Options options_of(int argc, char** argv) {
  Options options;
  for (int n = 1; n < argc; ++n) {
    const std::string name = argv[n];
    if (name.rfind("--", 0) != 0) {
      options.graphs.push_back(name);
    } else if (n + 1 < argc) {
      const int value = std::atoi(argv[++n]);
      if (name == "--threads") options.threads = value;
      if (name == "--repeats") options.repeats = value;
      if (name == "--peer-repeats") options.peer_repeats = value;
    }
  }
  if (!options.graphs.empty()) return options;
  if (std::getenv("BITGRAPH_BENCH_SMOKE") != nullptr) {
    options.graphs = {"rmat:8", "grid:20"};
  } else {
    options.graphs = {"rmat:20", "uniform:18", "grid:1000", "bruijn:20", "mycielskian:15"};
  }
  return options;
}

CsrPattern graph_of(const std::string& name, const Device& device) {
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos) return symmetrized(load_graph(name, {.ignore_weights = true}).pattern);
  const std::string kind = name.substr(0, colon);
  const int size = std::stoi(name.substr(colon + 1));
  const auto side = static_cast<NodeId>(size);
  if (kind == "rmat") return generate_rmat(size, 16, 1, device);
  if (kind == "uniform") return generate_uniform(NodeId{1} << size, std::size_t{16} << size, 1, device);
  if (kind == "grid") return generate_grid(side, side, device);
  if (kind == "bruijn") return generate_de_bruijn(size, device);
  if (kind == "mycielskian") return generate_mycielskian(size, device);
  fail(ErrorCode::usage, "no graph is called " + name);
}

/// Milliseconds, the median of several calls.
template <class Call>
double median_time(int repeats, const Call& call) {
  std::vector<double> times;
  for (int n = 0; n < repeats; ++n) {
    const auto start = std::chrono::steady_clock::now();
    call();
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// LAGraph sorts by degree where the mean degree is more than four times the median.
bool peer_sorts(const CsrPattern& a) {
  std::vector<std::size_t> degrees(a.nrows());
  for (NodeId i = 0; i < a.nrows(); ++i) degrees[i] = a.row(i).size();
  const auto middle = degrees.begin() + static_cast<std::ptrdiff_t>(degrees.size() / 2);
  std::nth_element(degrees.begin(), middle, degrees.end());
  return static_cast<double>(a.nvals()) / a.nrows() > 4 * static_cast<double>(*middle);
}

std::uint64_t count_of_peer(const bench::BlasMatrix& a) {
  using bench::require_success;
  GrB_Matrix lower = nullptr;
  GrB_Matrix upper = nullptr;
  GrB_Matrix product = nullptr;
  GrB_Index n = 0;
  std::int64_t count = 0;
  require_success(GrB_Matrix_nrows(&n, a.get()));
  for (GrB_Matrix* triangle : {&lower, &upper}) require_success(GrB_Matrix_new(triangle, GrB_BOOL, n, n));
  require_success(GrB_Matrix_new(&product, GrB_INT64, n, n));
  require_success(GrB_Matrix_select_INT64(lower, nullptr, nullptr, GrB_TRIL, a.get(), std::int64_t{-1}, nullptr));
  require_success(GrB_Matrix_select_INT64(upper, nullptr, nullptr, GrB_TRIU, a.get(), std::int64_t{1}, nullptr));
  require_success(GrB_mxm(product, lower, nullptr, GxB_PLUS_PAIR_INT64, lower, upper, GrB_DESC_ST1));
  require_success(GrB_Matrix_reduce_INT64(&count, nullptr, GrB_PLUS_MONOID_INT64, product, nullptr));
  for (GrB_Matrix* matrix : {&lower, &upper, &product}) require_success(GrB_Matrix_free(matrix));
  return static_cast<std::uint64_t>(count);
}

void compare(const std::string& name, const Options& options) {
  const Device device = Device::host(options.threads);
  const CsrPattern a = graph_of(name, device);
  const PackedGraph graph = pack_graph(a, {.tile_dim = csr_tile}, device);
  std::uint64_t ours = 0;
  const double our_time = median_time(options.repeats, [&] { ours = count_triangles(graph); });
  if (options.peer_repeats == 0) {
    std::printf("%-28s %12llu %10.3f\n", name.c_str(), static_cast<unsigned long long>(ours), our_time);
    return;
  }
  double sorting = 0;
  CsrPattern sorted = a.clone();
  if (peer_sorts(a)) {
    sorting = median_time(1, [&] {
      Buffer<NodeId> rising = reorder(a, Order::degree);
      for (NodeId& id : rising) id = a.nrows() - 1 - id;
      sorted = permuted(a, rising.span());
    });
  }
  const bench::BlasMatrix peer(sorted, GrB_BOOL);
  std::uint64_t theirs = 0;
  const double their_time = median_time(options.peer_repeats, [&] { theirs = count_of_peer(peer); });
  std::printf("%-28s %12llu %10.3f %12.3f %12.3f %8.2f%s\n", name.c_str(), static_cast<unsigned long long>(ours),
              our_time, their_time, sorting, their_time / our_time, ours == theirs ? "" : "  COUNTS DIFFER");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = options_of(argc, argv);
  const bench::BlasSession session(options.threads);
  std::printf("%s, %d threads\n", bench::BlasSession::version().c_str(), options.threads);
  std::printf("%-28s %12s %10s %12s %12s %8s\n", "graph", "triangles", "ms", "GraphBLAS ms", "its sort ms", "ratio");
  for (const std::string& name : options.graphs) compare(name, options);
  return 0;
}
