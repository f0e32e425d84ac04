// SPDX-License-Identifier: Apache-2.0
// Sums of levels over neighbours, levels out, beside the float32 CSR product.
#include "support/random_levels.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/ops/level_spmm.hpp>
#include <bitgraph/ops/spmm.hpp>

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

struct Graph {
  const char* name;
  CsrPattern (*make)();
};

const bool smoke = std::getenv("BITGRAPH_BENCH_SMOKE") != nullptr;

const Graph graphs[] = {
    {"R-MAT 16", [] { return test::rmat_pattern(smoke ? 6 : 16, smoke ? 256 : 1 << 20, 1); }},
    {"grid 300", [] { return test::grid_pattern(300, smoke ? 3 : 300); }},
    {"uniform 65536 x 14", [] { return test::random_pattern(smoke ? 64 : 65536, 65536, 14.0 / 65536, 1); }}};

void levels(benchmark::State& state, const Graph& graph, int bits, std::size_t width) {
  const CsrPattern a = graph.make();
  QuantizedMatrix x = test::random_levels(a.ncols(), width, bits, 1), out(a.nrows(), width, bits);
  x.set_scale(test::random_scale(ScaleExtent::column, width, true, 3));
  out.set_scale(test::random_scale(ScaleExtent::column, width, true, 4));
  const std::vector<float> row_scale = test::random_floats(a.nrows(), 5, 0.1F, 1);
  for (auto _ : state) {
    level_spmm_into(out, a, x, {.row_scale = row_scale});
    benchmark::ClobberMemory();
  }
}

void floats(benchmark::State& state, const Graph& graph, std::size_t width) {
  const CsrPattern a = graph.make();
  const DenseMatrix<float> x = test::random_dense(a.ncols(), width, 1);
  DenseMatrix<float> out(a.nrows(), width);
  const std::vector<float> row_scale = test::random_floats(a.nrows(), 5, 0.1F, 1);
  for (auto _ : state) {
    spmm_into(out, a, x, {.row_scale = row_scale});
    benchmark::ClobberMemory();
  }
}

[[maybe_unused]] const bool registered = [] {
  for (const Graph& graph : graphs) {
    for (const std::size_t width : {64, 128, 256}) {
      const std::string shape = std::string("level_spmm/") + graph.name + "/" + std::to_string(width) + "/";
      benchmark::RegisterBenchmark((shape + "float32").c_str(), floats, graph, width)->UseRealTime();
      for (const int bits : {2, 4, 8}) {
        benchmark::RegisterBenchmark((shape + std::to_string(bits) + " bits").c_str(), levels, graph, bits, width)
            ->UseRealTime();
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace bitgraph
