// SPDX-License-Identifier: Apache-2.0
// Products of 0/1 matrices, over pattern CSR and tiles of side 8 and 64: the masked sum of the lower triangle with
// itself, and the square of the graph.
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/ops/mxm.hpp>
#include <bitgraph/ops/select.hpp>

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

namespace {

using namespace bitgraph;

CsrPattern graph_of(const std::string& kind) {
  const int less = std::getenv("BITGRAPH_BENCH_SMOKE") != nullptr ? 6 : 0;
  if (kind == "rmat") return generate_rmat(14 - less, 16, 1);
  if (kind == "mesh") return generate_mesh(NodeId{512} >> less, 512, 1);
  return generate_mycielskian(12 - less);
}

template <class Graph>
void masked_sum(benchmark::State& state, const Graph& lower) {
  for (auto _ : state) benchmark::DoNotOptimize(mxm_sum(lower, lower, lower, {.transpose_b = true}));
}

template <class Graph>
void square(benchmark::State& state, const Graph& a) {
  for (auto _ : state) benchmark::DoNotOptimize(mxm(or_and, a, a));
}

template <class Graph>
void square_counts(benchmark::State& state, const Graph& a) {
  for (auto _ : state) benchmark::DoNotOptimize(mxm(plus_pair, a, a, a));
}

/// Runs fn(matrix) with the matrix in the format.
template <class Fn>
void in_format(const CsrPattern& a, int tile_dim, const Device& device, const Fn& fn) {
  if (tile_dim == 0) return fn(a.to(device));
  fn(pack(a, {.tile_dim = tile_dim}, device).to(device));
}

[[maybe_unused]] const bool registered = [] {
  for (const std::string kind : {"rmat", "mesh", "mycielskian"}) {
    for (const int tile_dim : {0, 8, 64}) {
      const std::string tail = "/" + kind + (tile_dim == 0 ? "/csr" : "/tiles:" + std::to_string(tile_dim));
      const auto add = [&](const char* name, auto run, bool lower) {
        benchmark::RegisterBenchmark(("mxm_" + std::string(name) + tail).c_str(),
                                     [=](benchmark::State& state) {
                                       const CsrPattern a = graph_of(kind);
                                       in_format(lower ? tril(a, -1) : a.clone(), tile_dim, Device::host(2),
                                                 [&](const auto& matrix) { run(state, matrix); });
                                     })
            ->UseRealTime()
            ->Unit(benchmark::kMillisecond);
      };
      add(
          "masked_sum", [](benchmark::State& state, const auto& matrix) { masked_sum(state, matrix); }, true);
      add(
          "square", [](benchmark::State& state, const auto& matrix) { square(state, matrix); }, false);
      add(
          "counts_within", [](benchmark::State& state, const auto& matrix) { square_counts(state, matrix); }, false);
    }
  }
  return true;
}();

}  // namespace
