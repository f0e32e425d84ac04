// SPDX-License-Identifier: Apache-2.0
// The vote (BSpMM.BBB), over pattern CSR and over SELL, and sums of levels, levels out, beside the float32 product of
// the same width on the same graph. scripts/spmm_table.py prints the ratios.
#include "ops/spmm/spmm_cases.hpp"
#include "support/datasets.hpp"
#include "support/random_levels.hpp"

#include <bitgraph/graph/generate.hpp>
#include <bitgraph/io/graph.hpp>
#include <bitgraph/ops/level_spmm.hpp>
#include <bitgraph/ops/spmm.hpp>

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <map>
#include <string>

namespace {

using namespace bitgraph;

/// The graphs of the data folder that is there, and one that is generated.
CsrPattern bench_graph(const std::string& name) {
  if (name == "rmat18") return generate_rmat(18, 16, 1);
  if (name == "rmat12") return generate_rmat(12, 16, 1);
  const auto folder = test::dataset_dir();
  const bool listed_once = name == "snap/MIT8.edgelist.gz";
  return load_graph(*folder / name, {.undirected = listed_once}).pattern;
}

const CsrPattern& cached_graph(const std::string& name) {
  static std::map<std::string, CsrPattern> graphs;
  auto found = graphs.find(name);
  if (found == graphs.end()) found = graphs.emplace(name, bench_graph(name)).first;
  return found->second;
}

void count_entries(benchmark::State& state, EdgeOffset entries) {
  state.counters["entries/s"] = benchmark::Counter(
      static_cast<double>(entries) * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void vote(benchmark::State& state, const std::string& name, std::size_t width, int threads) {
  const Device device = Device::host(threads);
  const CsrPattern a = cached_graph(name).to(device);
  const auto x = test::random_bits(a.ncols(), width, 1).to(device);
  BitMatrix<PlusMinusOne> out(a.nrows(), width, device);
  for (auto _ : state) spmm_into(out, a, x);
  count_entries(state, a.nvals());
}

void sell_vote(benchmark::State& state, const std::string& name, std::size_t width, int threads) {
  const Device device = Device::host(threads);
  const SellPattern a = to_sell(cached_graph(name).to(device), device);
  const auto x = test::random_bits(a.ncols(), width, 1).to(device);
  BitMatrix<PlusMinusOne> out(a.nrows(), width, device);
  for (auto _ : state) spmm_into(out, a, x);
  count_entries(state, a.nvals());
}

/// Making a SellPattern: what is paid once.
void to_sell_of(benchmark::State& state, const std::string& name, int threads) {
  const Device device = Device::host(threads);
  const CsrPattern& a = cached_graph(name);
  for (auto _ : state) benchmark::DoNotOptimize(to_sell(a, device));
  count_entries(state, a.nvals());
}

void float_sum(benchmark::State& state, const std::string& name, std::size_t width, int threads) {
  const Device device = Device::host(threads);
  const CsrPattern a = cached_graph(name).to(device);
  const auto x = test::random_dense(a.ncols(), width, 1).to(device);
  DenseMatrix<float> out(a.nrows(), width, device);
  for (auto _ : state) spmm_into(out, a, x);
  count_entries(state, a.nvals());
}

/// Sums of levels with a step and an offset a column and a factor a row.
void level_sum(benchmark::State& state, const std::string& name, std::size_t width, int bits, int threads) {
  const Device device = Device::host(threads);
  const CsrPattern a = cached_graph(name).to(device);
  QuantizedMatrix x = test::random_levels(a.ncols(), width, bits, 1).to(device), out(a.nrows(), width, bits, device);
  x.set_scale(test::random_scale(ScaleExtent::column, width, true, 3).to(device));
  out.set_scale(test::random_scale(ScaleExtent::column, width, true, 4).to(device));
  const std::vector<float> row_scale = test::random_floats(a.nrows(), 5, 0.1F, 1);
  for (auto _ : state) level_spmm_into(out, a, x, {.row_scale = row_scale});
  count_entries(state, a.nvals());
}

}  // namespace

int main(int argc, char** argv) {
  const bool smoke = std::getenv("BITGRAPH_BENCH_SMOKE") != nullptr;
  std::vector<std::string> graphs{smoke ? "rmat12" : "rmat18"};
  if (!smoke && test::dataset_dir()) {
    graphs.insert(graphs.end(), {"suitesparse/delaunay_n14.mtx", "metis/wave.graph.gz", "snap/wiki-Vote.txt.gz",
                                 "snap/MIT8.edgelist.gz"});
  }
  for (const std::string& graph : graphs) {
    for (const int threads : {1, 2}) {
      benchmark::RegisterBenchmark(("to_sell/" + graph + "/cpus:" + std::to_string(threads)).c_str(), to_sell_of, graph,
                                   threads)
          ->UseRealTime()
          ->Unit(benchmark::kMicrosecond);
    }
    for (const std::size_t width : {64U, 128U, 256U}) {
      for (const int threads : {1, 2}) {
        const std::string tail = graph + "/width:" + std::to_string(width) + "/cpus:" + std::to_string(threads);
        benchmark::RegisterBenchmark(("vote/" + tail).c_str(), vote, graph, width, threads)
            ->UseRealTime()
            ->Unit(benchmark::kMicrosecond);
        benchmark::RegisterBenchmark(("sell_vote/" + tail).c_str(), sell_vote, graph, width, threads)
            ->UseRealTime()
            ->Unit(benchmark::kMicrosecond);
        benchmark::RegisterBenchmark(("float/" + tail).c_str(), float_sum, graph, width, threads)
            ->UseRealTime()
            ->Unit(benchmark::kMicrosecond);
        for (const int bits : {2, 4, 8}) {
          benchmark::RegisterBenchmark(("levels" + std::to_string(bits) + "/" + tail).c_str(), level_sum, graph, width,
                                       bits, threads)
              ->UseRealTime()
              ->Unit(benchmark::kMicrosecond);
        }
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
