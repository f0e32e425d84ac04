// SPDX-License-Identifier: Apache-2.0
// Matrix times vector, every scheme, beside SuiteSparse:GraphBLAS's GrB_mxv over the matching semiring, in one run.
//
// Usage: mxv_versus_graphblas [GRAPH...] [--threads N] [--ms M]
// The graphs are files; none means all of $BITGRAPH_DATA, and R-MAT 18. M is how long each cell is measured. Times are
// lower quartiles in microseconds; packing is not counted. SuiteSparse gets its matrix by row with one value for all
// entries, finished (GrB_wait), vectors full or bitmap, and the best of the semirings and vector forms that give the
// result.
#include "graphblas/suitesparse.hpp"
#include "ops/mxv/mxv_cases.hpp"
#include "support/datasets.hpp"

#include <bitgraph/graph/generate.hpp>
#include <bitgraph/io/graph.hpp>
#include <bitgraph/ops/mxv.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace bitgraph;
using bench::BlasMatrix;
using bench::BlasVector;

struct Settings {
  int threads = 2;
  double seconds = 0.01;
};

/// Lower quartile of the time of a call in microseconds, the same for both sides: what other work on the machine costs
/// is left out. Short calls are timed in batches.
double quartile_us(const Settings& settings, const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  const auto time = [&](int calls) {
    const auto start = Clock::now();
    for (int n = 0; n < calls; ++n) call();
    return std::chrono::duration<double>(Clock::now() - start).count() / calls;
  };
  double once = time(1);
  for (int n = 0; n < 4; ++n) once = std::min(once, time(1));  // another program may have been in the way
  const int batch = std::max(1, static_cast<int>(2e-5 / std::max(once, 1e-8)));
  const int samples = std::clamp(static_cast<int>(settings.seconds / (once * batch)), 15, 101);
  std::vector<double> times;
  for (int n = 0; n < samples; ++n) times.push_back(time(batch));
  std::nth_element(times.begin(), times.begin() + samples / 4, times.end());
  return 1e6 * times[static_cast<std::size_t>(samples / 4)];
}

/// A graph in all its forms, and the vectors that are multiplied.
struct Operands {
  Operands(const CsrPattern& pattern, const Device& device)
      : csr(pattern.to(device)), half(bits(0.5)), few(bits(1.0 / 16)), x(pattern.ncols()) {
    for (const int k : tile_dims) tiles.push_back(pack(csr, {.tile_dim = k}, device));
    visited = test::random_vector_bits(pattern.nrows(), 0.5, 3);
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = static_cast<float>(random_below({4, 0, 0}, j, 1000));
  }
  [[nodiscard]] BitVector bits(double share) const { return test::random_vector_bits(csr.ncols(), share, 1); }

  CsrPattern csr;
  std::vector<BitTileMatrix> tiles;
  BitVector half, few, visited;
  Buffer<float> x;
};

struct Times {
  double suitesparse = 0;
  double csr = 0;
  double tiles = 0;
  int best_side = 0;
  [[nodiscard]] double ratio() const { return suitesparse / std::min(csr, tiles); }
};

double sum_of(const BitVector& x) {
  double sum = 0;
  for (const std::uint64_t word : x.words()) sum += static_cast<double>(__builtin_popcountll(word));
  return sum;
}
double sum_of(const Buffer<float>& x) {
  double sum = 0;
  for (const float value : x) sum += std::isinf(value) ? 0 : static_cast<double>(value);
  return sum;
}

/// Times one scheme in every format against the best of the rival's ways, and compares the results.
template <class S, class Out, class X>
Times measure(const Settings& settings, const Operands& g, S semiring, const X& x, const MxvOptions& options,
              const std::vector<bench::BlasProduct>& rivals) {
  Times result;
  Out out(g.csr.nrows(), g.csr.device());
  const auto time_format = [&](const auto& a) {
    const double us = quartile_us(settings, [&] { mxv_into(out, semiring, a, x, options); });
    for (const bench::BlasProduct& rival : rivals) {
      const double ours = sum_of(out);
      const double theirs = rival.run_and_sum();
      if (std::abs(ours - theirs) > 1e-4 * (1 + std::abs(theirs))) {
        fail(ErrorCode::internal, fmt::format("the results differ: {} and {}", ours, theirs));
      }
    }
    return us;
  };
  for (const bench::BlasProduct& rival : rivals) {
    const double us = quartile_us(settings, [&] { rival.run(); });
    if (result.suitesparse == 0 || us < result.suitesparse) result.suitesparse = us;
  }
  result.csr = time_format(g.csr);
  for (const BitTileMatrix& tiles : g.tiles) {
    const double us = time_format(tiles);
    if (result.best_side == 0 || us < result.tiles) {
      result.tiles = us;
      result.best_side = tiles.tile_dim();
    }
  }
  return result;
}

struct Scheme {
  const char* name;
  std::function<Times(const Settings&, const Operands&)> run;
};

MxvOptions unvisited(const Operands& g) { return {.mask = ~g.visited, .replace = true}; }

Times reach(const Settings& settings, const Operands& g, const BitVector& x, bool masked) {
  const BlasMatrix a(g.csr, GrB_BOOL);
  const BlasVector full(x, GrB_BOOL, bench::Form::full), present(x, GrB_BOOL, bench::Form::bitmap);
  const BlasVector visited(g.visited, GrB_BOOL, bench::Form::bitmap);
  const BlasVector* mask = masked ? &visited : nullptr;
  return measure<OrAnd, BitVector>(settings, g, or_and, x, masked ? unvisited(g) : MxvOptions{},
                                   {{GrB_LOR_LAND_SEMIRING_BOOL, a, full, mask},
                                    {GrB_LOR_LAND_SEMIRING_BOOL, a, present, mask},
                                    {GxB_ANY_PAIR_BOOL, a, present, mask}});
}

Times neighbours(const Settings& settings, const Operands& g) {
  const BlasMatrix a(g.csr, GrB_FP32);
  const BlasVector full(g.half, GrB_FP32, bench::Form::full), present(g.half, GrB_FP32, bench::Form::bitmap);
  return measure<PlusTimes, Buffer<float>>(
      settings, g, plus_times, g.half, {},
      {{GrB_PLUS_TIMES_SEMIRING_FP32, a, full}, {GxB_PLUS_SECOND_FP32, a, full}, {GxB_PLUS_PAIR_FP32, a, present}});
}

template <class S>
Times values(const Settings& settings, const Operands& g, S semiring, const std::vector<GrB_Semiring>& rivals,
             bool masked = false) {
  const BlasMatrix a(g.csr, GrB_FP32);
  const BlasVector x(g.x);
  const BlasVector visited(g.visited, GrB_BOOL, bench::Form::bitmap);
  std::vector<bench::BlasProduct> products;
  for (const GrB_Semiring rival : rivals) products.push_back({rival, a, x, masked ? &visited : nullptr});
  return measure<S, Buffer<float>>(settings, g, semiring, g.x, masked ? unvisited(g) : MxvOptions{}, products);
}

std::vector<Scheme> schemes() {
  using Set = const Settings&;
  using Ops = const Operands&;
  return {
      {"bin_bin_bin or_and, half set", [](Set s, Ops g) { return reach(s, g, g.half, false); }},
      {"bin_bin_bin or_and, 1/16 set", [](Set s, Ops g) { return reach(s, g, g.few, false); }},
      {"bin_bin_bin or_and, 1/16 set, masked", [](Set s, Ops g) { return reach(s, g, g.few, true); }},
      {"bin_bin_full plus_times, half set", [](Set s, Ops g) { return neighbours(s, g); }},
      {"bin_full_full plus_times",
       [](Set s, Ops g) {
         return values(s, g, plus_times, {GrB_PLUS_TIMES_SEMIRING_FP32, GxB_PLUS_SECOND_FP32});
       }},
      {"bin_full_full plus_times, masked",
       [](Set s, Ops g) {
         return values(s, g, plus_times, {GrB_PLUS_TIMES_SEMIRING_FP32, GxB_PLUS_SECOND_FP32}, true);
       }},
      {"bin_full_full min_plus", [](Set s, Ops g) { return values(s, g, min_plus, {GrB_MIN_PLUS_SEMIRING_FP32}); }},
      {"bin_full_full min_first", [](Set s, Ops g) { return values(s, g, min_first, {GxB_MIN_SECOND_FP32}); }},
      {"bin_full_full max_times",
       [](Set s, Ops g) {
         return values(s, g, max_times, {GrB_MAX_TIMES_SEMIRING_FP32, GxB_MAX_SECOND_FP32});
       }},
  };
}

struct NamedGraph {
  std::string name;
  CsrPattern pattern;
};

/// The files that are graphs; what else lies in the folder is passed over.
std::vector<NamedGraph> graphs_of(const std::vector<std::string>& named) {
  std::vector<NamedGraph> graphs;
  if (std::getenv("BITGRAPH_BENCH_SMOKE") != nullptr) {
    graphs.push_back({"rmat8", generate_rmat(8, 8, 1)});
    return graphs;
  }
  std::vector<std::filesystem::path> files(named.begin(), named.end());
  const auto folder = test::dataset_dir();
  if (files.empty() && folder) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(*folder)) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
  }
  for (const std::filesystem::path& file : files) {
    try {
      const std::string name = file.filename().string();
      if (named.empty() && name.find("target.csv") != std::string::npos) continue;  // labels, not edges
      if (named.empty() && graph_format_of(file) == GraphFormat::npz) continue;
      graphs.push_back({name, load_graph(file, {.ignore_weights = true}).pattern});
    } catch (const Error&) {
      if (!named.empty()) throw;
    }
  }
  if (named.empty()) graphs.push_back({"R-MAT 18", generate_rmat(18, 16, 1)});
  return graphs;
}

void print_table(const Settings& settings, const Scheme& scheme, const std::vector<NamedGraph>& graphs) {
  fmt::print("\n{}\n\n| graph | nodes | entries | SuiteSparse | CSR | tiles, best side | ratio |\n", scheme.name);
  fmt::print("|---|---|---|---|---|---|---|\n");
  double logs = 0, least = 1e9;
  const Device device = Device::host(settings.threads);
  for (const NamedGraph& graph : graphs) {
    const Times t = scheme.run(settings, Operands(graph.pattern, device));
    fmt::print("| {} | {} | {} | {:.2f} | {:.2f} | {:.2f}, {} | {:.2f} |\n", graph.name, graph.pattern.nrows(),
               graph.pattern.nvals(), t.suitesparse, t.csr, t.tiles, t.best_side, t.ratio());
    logs += std::log(t.ratio());
    least = std::min(least, t.ratio());
  }
  fmt::print("\ngeometric mean {:.2f}, least {:.2f}\n", std::exp(logs / static_cast<double>(graphs.size())), least);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Settings settings;
    std::vector<std::string> named;
    for (int n = 1; n < argc; ++n) {
      const std::string argument = argv[n];
      if (argument == "--threads" && n + 1 < argc) {
        settings.threads = std::atoi(argv[++n]);
      } else if (argument == "--ms" && n + 1 < argc) {
        settings.seconds = std::atof(argv[++n]) / 1000;
      } else {
        named.push_back(argument);
      }
    }
    const bench::BlasSession session(settings.threads);
    fmt::print("Microseconds, lower quartiles, {} threads; {}\n", settings.threads, session.version());
    const std::vector<NamedGraph> graphs = graphs_of(named);
    for (const Scheme& scheme : schemes()) print_table(settings, scheme, graphs);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
