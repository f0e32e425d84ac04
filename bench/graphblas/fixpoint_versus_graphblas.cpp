// SPDX-License-Identifier: Apache-2.0
// Twenty iterations of PageRank beside the same loop in SuiteSparse:GraphBLAS, as LAGraph writes it (mxv over
// plus-second in single precision), and components. Times are medians, in milliseconds; packing is not counted.
//
//     fixpoint_versus_graphblas [--threads N] [--repeats N] [--only GRAPH] [--ours]
#include <bitgraph/graph/components.hpp>
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/graph/pagerank.hpp>
#include <bitgraph/io/graph.hpp>

#include "graphblas/suitesparse.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bitgraph::bench {
namespace {

constexpr int iterations = 20;
constexpr float damping = 0.85F;

struct Options {
  int threads = 2;
  int repeats = 9;
  std::string only;
  bool ours = false;  ///< without the rival
  bool smoke = std::getenv("BITGRAPH_BENCH_SMOKE") != nullptr;
};

double median_ms(int repeats, const std::function<void()>& body) {
  std::vector<double> times;
  for (int k = 0; k <= repeats; ++k) {
    const auto start = std::chrono::steady_clock::now();
    body();
    if (k != 0)
      times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// The rival's loop: w = rank / (degree / damping), rank = teleport + A w, and the change of the ranks.
class BlasPageRank {
 public:
  explicit BlasPageRank(const CsrPattern& a) : a_(a, GrB_FP32), n_(a.nrows()), degree_(degrees(a)) {}

  void run() const {
    const float teleport = (1 - damping) / static_cast<float>(n_);
    GrB_Vector rank = make();
    GrB_Vector before = make();
    GrB_Vector w = make();
    require_success(
        GrB_Vector_assign_FP32(rank, nullptr, nullptr, 1.0F / static_cast<float>(n_), GrB_ALL, n_, nullptr));
    for (int k = 0; k < iterations; ++k) {
      std::swap(rank, before);
      require_success(GrB_Vector_eWiseMult_BinaryOp(w, nullptr, nullptr, GrB_DIV_FP32, before, degree_.get(), nullptr));
      require_success(GrB_Vector_assign_FP32(rank, nullptr, nullptr, teleport, GrB_ALL, n_, nullptr));
      require_success(GrB_mxv(rank, nullptr, GrB_PLUS_FP32, GxB_PLUS_SECOND_FP32, a_.get(), w, nullptr));
      require_success(GrB_Vector_assign(before, nullptr, GrB_MINUS_FP32, rank, GrB_ALL, n_, nullptr));
      require_success(GrB_Vector_apply(before, nullptr, nullptr, GrB_ABS_FP32, before, nullptr));
      float change = 0;
      require_success(GrB_Vector_reduce_FP32(&change, nullptr, GrB_PLUS_MONOID_FP32, before, nullptr));
    }
    for (GrB_Vector* vector : {&rank, &before, &w}) GrB_Vector_free(vector);
  }

 private:
  static Buffer<float> degrees(const CsrPattern& a) {
    Buffer<float> degree(a.nrows());
    for (NodeId i = 0; i < a.nrows(); ++i) {
      degree[i] = static_cast<float>(std::max<std::size_t>(a.row(i).size(), 1)) / damping;
    }
    return degree;
  }
  [[nodiscard]] GrB_Vector make() const {
    GrB_Vector vector = nullptr;
    require_success(GrB_Vector_new(&vector, GrB_FP32, n_));
    return vector;
  }

  BlasMatrix a_;
  GrB_Index n_;
  BlasVector degree_;
};

void compare(const std::string& name, const std::function<CsrPattern()>& make, const Options& options) {
  if (!options.only.empty() && options.only != name) return;
  const Device device = Device::host(options.threads);
  const CsrPattern a = make();
  if (a.nrows() == 0) return;
  double rival = 0;
  if (!options.ours) {
    const BlasPageRank blas(a);
    rival = median_ms(options.repeats, [&] { blas.run(); });
  }
  fmt::print("{:<14} GraphBLAS pagerank {:>8.2f}\n", name, rival);
  for (const int tile_dim : {auto_tile, csr_tile, 4, 8, 16}) {
    const PackedGraph graph = pack_graph(a, {.tile_dim = tile_dim, .workload = Workload::values}, device);
    PageRank search(graph, {.tolerance = 0, .max_iterations = iterations});
    const double ours = median_ms(options.repeats, [&] { search.run(); });
    ComponentSearch components(graph);
    const double connected = median_ms(options.repeats, [&] { components.run(); });
    fmt::print("  {:<12} pagerank {:>8.2f}  {:>6.2f}x   components {:>8.3f}\n",
               tile_dim == auto_tile ? fmt::format("auto: {}", graph.tile_dim()) : fmt::format("tile {}", tile_dim),
               ours, rival / ours, connected);
  }
}

int run(int argc, char** argv) {
  Options options;
  for (int k = 1; k < argc; ++k) {
    const std::string_view word = argv[k];
    if (word == "--ours") options.ours = true;
    if (k + 1 == argc) continue;
    if (word == "--threads") options.threads = std::atoi(argv[k + 1]);
    if (word == "--repeats") options.repeats = std::atoi(argv[k + 1]);
    if (word == "--only") options.only = argv[k + 1];
  }
  omp_set_num_threads(options.threads);
  const BlasSession session(options.threads);
  fmt::print("{}, {} threads, {} iterations, ms\n", BlasSession::version(), options.threads, iterations);
  if (options.smoke) {
    compare(
        "grid", [] { return generate_grid(30, 30); }, options);
    return 0;
  }
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
  if (const char* data = std::getenv("BITGRAPH_DATA"); data != nullptr) {
    compare(
        "delaunay_n14", [&] { return load_graph(std::string(data) + "/suitesparse/delaunay_n14.mtx").pattern; },
        options);
  }
  return 0;
}

}  // namespace
}  // namespace bitgraph::bench

int main(int argc, char** argv) { return bitgraph::bench::run(argc, argv); }
