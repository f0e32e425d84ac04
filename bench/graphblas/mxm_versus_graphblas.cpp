// SPDX-License-Identifier: Apache-2.0
// Matrix times matrix beside SuiteSparse:GraphBLAS's GrB_mxm over the matching semiring, in one run: A A, within A
// where there is a mask, and L L^T within L.
//
// Usage: mxm_versus_graphblas [GRAPH...] [--threads N] [--ms M]
// The graphs are files; none means all square ones of $BITGRAPH_DATA and generated ones. M is how long each cell is
// measured. Times are medians in microseconds; packing is not counted, what a call prepares for itself is. SuiteSparse
// gets its matrices by row with one value for all entries, finished (GrB_wait), and its result is finished too, as ours
// is; a sum is GrB_mxm and GrB_reduce. The best of the semirings that give the result counts.
#include "graphblas/suitesparse.hpp"
#include "support/datasets.hpp"

#include <bitgraph/graph/generate.hpp>
#include <bitgraph/io/graph.hpp>
#include <bitgraph/ops/mxm.hpp>
#include <bitgraph/ops/select.hpp>

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
using bench::require_success;

struct Settings {
  int threads = 2;
  double seconds = 0.2;
};

/// Median of the time of a call in microseconds, after one that does not count.
double median_us(const Settings& settings, const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  double all = 0;
  call();
  while (times.size() < 3 || (times.size() < 31 && all < settings.seconds)) {
    const auto start = Clock::now();
    call();
    times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    all += times.back();
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return 1e6 * times[times.size() / 2];
}

/// GrB_mxm of a matrix with itself.
class BlasSquare {
 public:
  BlasSquare(GrB_Type type, GrB_Semiring semiring, const CsrPattern& a, bool masked, bool transposed)
      : type_(type), semiring_(semiring), a_(a, type), masked_(masked), transposed_(transposed) {}

  /// How many entries the result has.
  [[nodiscard]] std::uint64_t entries() const {
    GrB_Index count = 0;
    with_result([&](GrB_Matrix c) { require_success(GrB_Matrix_nvals(&count, c)); });
    return count;
  }
  [[nodiscard]] std::uint64_t sum() const {
    std::uint64_t sum = 0;
    with_result([&](GrB_Matrix c) {
      require_success(GrB_Matrix_reduce_UINT64(&sum, nullptr, GrB_PLUS_MONOID_UINT64, c, nullptr));
    });
    return sum;
  }

 private:
  template <class Fn>
  void with_result(const Fn& fn) const {
    GrB_Matrix c = nullptr;
    GrB_Index n = 0;
    require_success(GrB_Matrix_nrows(&n, a_.get()));
    require_success(GrB_Matrix_new(&c, type_, n, n));
    const GrB_Descriptor with_mask = transposed_ ? GrB_DESC_ST1 : GrB_DESC_S;
    require_success(GrB_mxm(c, masked_ ? a_.get() : nullptr, nullptr, semiring_, a_.get(), a_.get(),
                            masked_ ? with_mask : nullptr));
    require_success(GrB_Matrix_wait(c, GrB_MATERIALIZE));
    fn(c);
    require_success(GrB_Matrix_free(&c));
  }

  GrB_Type type_;
  GrB_Semiring semiring_;
  bench::BlasMatrix a_;
  bool masked_;
  bool transposed_;
};

struct Times {
  double suitesparse = 0;
  double csr = 0;
  double tiles = 0;
  int best_side = 0;
  [[nodiscard]] double ratio() const { return suitesparse / (best_side == 0 ? csr : std::min(csr, tiles)); }
};

/// What is measured: `ours` of a matrix in either format, and `theirs`, which give the same number.
template <class Ours, class Theirs>
Times measure(const Settings& settings, const CsrPattern& a, const Ours& ours, const std::vector<Theirs>& theirs) {
  Times result;
  std::uint64_t expected = 0;
  for (const auto& rival : theirs) {
    const double us = median_us(settings, [&] { expected = rival(); });
    if (result.suitesparse == 0 || us < result.suitesparse) result.suitesparse = us;
  }
  const auto time_format = [&](const auto& matrix) {
    std::uint64_t actual = 0;
    const double us = median_us(settings, [&] { actual = ours(matrix); });
    if (actual != expected) fail(ErrorCode::internal, fmt::format("the results differ: {} and {}", actual, expected));
    return us;
  };
  result.csr = time_format(a);
  for (const int k : {8, 64}) {
    if (b2sr_bytes(a.nrows(), count_tiles(a, k), k) > 2 * a.bytes()) continue;
    const double us = time_format(pack(a, {.tile_dim = k}, a.device()));
    if (result.best_side == 0 || us < result.tiles) {
      result.tiles = us;
      result.best_side = k;
    }
  }
  return result;
}

using Rival = std::function<std::uint64_t()>;

Times sums(const Settings& settings, const CsrPattern& a, bool masked, bool transposed) {
  const BlasSquare rival(GrB_UINT64, GxB_PLUS_PAIR_UINT64, a, masked, transposed);
  const auto ours = [&](const auto& m) {
    return masked ? mxm_sum(m, m, m, {.transpose_b = transposed}) : mxm_sum(m, m);
  };
  return measure(settings, a, ours, std::vector<Rival>{[&] { return rival.sum(); }});
}

template <class Semiring>
Times products(const Settings& settings, const CsrPattern& a, Semiring semiring, bool masked, GrB_Type type,
               GrB_Semiring first, GrB_Semiring second) {
  const BlasSquare one(type, first, a, masked, false), other(type, second, a, masked, false);
  const auto ours = [&](const auto& m) {
    return masked ? mxm(semiring, m, m, m).nvals() : mxm(semiring, m, m).nvals();
  };
  return measure(settings, a, ours, std::vector<Rival>{[&] { return one.entries(); }, [&] { return other.entries(); }});
}

struct Scheme {
  const char* name;
  std::function<Times(const Settings&, const CsrPattern&)> run;
};

std::vector<Scheme> schemes() {
  using Set = const Settings&;
  using Matrix = const CsrPattern&;
  const auto bits = [](Set s, Matrix a, bool masked) {
    return products(s, a, or_and, masked, GrB_BOOL, GrB_LOR_LAND_SEMIRING_BOOL, GxB_ANY_PAIR_BOOL);
  };
  const auto counts = [](Set s, Matrix a, bool masked) {
    return products(s, a, plus_pair, masked, GrB_UINT32, GxB_PLUS_PAIR_UINT32, GrB_PLUS_TIMES_SEMIRING_UINT32);
  };
  return {
      {"sum of A A", [](Set s, Matrix a) { return sums(s, a, false, false); }},
      {"sum of A A within A", [](Set s, Matrix a) { return sums(s, a, true, false); }},
      {"sum of L L^T within L", [](Set s, Matrix a) { return sums(s, tril(a, -1), true, true); }},
      {"or_and, A A", [=](Set s, Matrix a) { return bits(s, a, false); }},
      {"or_and, A A within A", [=](Set s, Matrix a) { return bits(s, a, true); }},
      {"plus_pair, A A", [=](Set s, Matrix a) { return counts(s, a, false); }},
      {"plus_pair, A A within A", [=](Set s, Matrix a) { return counts(s, a, true); }},
  };
}

struct NamedGraph {
  std::string name;
  CsrPattern pattern;
};

/// The files that are square matrices; what else lies in the folder is passed over.
std::vector<NamedGraph> graphs_of(const std::vector<std::string>& named, const Device& device) {
  std::vector<NamedGraph> graphs;
  if (std::getenv("BITGRAPH_BENCH_SMOKE") != nullptr) {
    graphs.push_back({"rmat8", generate_rmat(8, 8, 1, device)});
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
      CsrPattern pattern = load_graph(file, {.ignore_weights = true}).pattern.to(device);
      if (pattern.nrows() == pattern.ncols()) graphs.push_back({name, std::move(pattern)});
    } catch (const Error&) {
      if (!named.empty()) throw;
    }
  }
  if (!named.empty()) return graphs;
  graphs.push_back({"R-MAT 14", generate_rmat(14, 16, 1, device)});
  graphs.push_back({"R-MAT 16", generate_rmat(16, 16, 1, device)});
  graphs.push_back({"grid 1000^2", generate_grid(1000, 1000, device)});
  graphs.push_back({"uniform 2^16", generate_uniform(1U << 16U, std::size_t{1} << 20U, 1, device)});
  return graphs;
}

void print_table(const Settings& settings, const Scheme& scheme, const std::vector<NamedGraph>& graphs) {
  fmt::print("\n{}\n\n| graph | nodes | entries | SuiteSparse | CSR | tiles, best side | ratio |\n", scheme.name);
  fmt::print("|---|---|---|---|---|---|---|\n");
  double logs = 0, least = 1e9;
  for (const NamedGraph& graph : graphs) {
    const Times t = scheme.run(settings, graph.pattern);
    const std::string tiles = t.best_side == 0 ? "" : fmt::format("{:.1f}, {}", t.tiles, t.best_side);
    fmt::print("| {} | {} | {} | {:.1f} | {:.1f} | {} | {:.2f} |\n", graph.name, graph.pattern.nrows(),
               graph.pattern.nvals(), t.suitesparse, t.csr, tiles, t.ratio());
    std::fflush(stdout);
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
    fmt::print("Microseconds, medians, {} threads; {}\n", settings.threads, session.version());
    const std::vector<NamedGraph> graphs = graphs_of(named, Device::host(settings.threads));
    for (const Scheme& scheme : schemes()) print_table(settings, scheme, graphs);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
