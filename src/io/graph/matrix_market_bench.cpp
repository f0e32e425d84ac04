// SPDX-License-Identifier: Apache-2.0
// Reading Matrix Market files, from the file to the CSR. BITGRAPH_BENCH_MTX names a file of your own
// (scripts/bench_mmread.py does, and puts SciPy's reader beside it); else a random pattern is written and read.
#include <bitgraph/io/graph.hpp>

#include "support/random_matrices.hpp"
#include "support/temporary_folder.hpp"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>

namespace bitgraph {
namespace {

/// The file told, or one that is written once and goes with the process.
std::filesystem::path input() {
  if (const char* told = std::getenv("BITGRAPH_BENCH_MTX")) return told;
  static const test::TemporaryFolder folder;
  const auto path = folder / "rmat.mtx";
  if (!std::filesystem::exists(path)) {
    const int scale = std::getenv("BITGRAPH_BENCH_SMOKE") == nullptr ? 18 : 8;
    save_graph(test::rmat_pattern(scale, std::size_t{16} << scale, 1), path);
  }
  return path;
}

void load_matrix_market(benchmark::State& state) {
  const Device device = Device::host(static_cast<int>(state.range(0)));
  const auto path = input();
  EdgeOffset entries = 0;
  for (auto _ : state) entries = load_graph(path, {}, device).pattern.nvals();
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(std::filesystem::file_size(path)));
  state.counters["entries"] = static_cast<double>(entries);
}
BENCHMARK(load_matrix_market)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace bitgraph
