// SPDX-License-Identifier: Apache-2.0
// The schemes of mxv, and vxm, over every format of a skewed graph and a mesh. bench/graphblas has the comparison with
// another library over real graphs.
#include "ops/mxv/mxv_cases.hpp"

#include <bitgraph/ops/mxv.hpp>

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

namespace {

using namespace bitgraph;

const CsrPattern& bench_graph(bool skewed) {
  static const bool small = std::getenv("BITGRAPH_BENCH_SMOKE") != nullptr;
  static const CsrPattern rmat = small ? test::rmat_pattern(8, 2000, 1) : test::rmat_pattern(16, 1000000, 1);
  static const CsrPattern grid = small ? test::grid_pattern(20, 20) : test::grid_pattern(400, 400);
  return skewed ? rmat : grid;
}

struct Vectors {
  explicit Vectors(std::size_t n)
      : bits(test::random_vector_bits(n, 0.5, 1)),
        few(test::random_vector_bits(n, 0.01, 2)),
        values(test::random_values<float>(n, 0, 1)),
        out_bits(n),
        out(n) {}
  BitVector bits, few;
  Buffer<float> values;
  BitVector out_bits;
  Buffer<float> out;
};

template <class Graph>
void run_scheme(Vectors& v, const Graph& a, int scheme) {
  switch (scheme) {
    case 0: return mxv_into(v.out_bits, or_and, a, v.bits);
    case 1: return mxv_into(v.out, plus_times, a, v.bits);
    case 2: return mxv_into(v.out, plus_times, a, v.values);
    case 3: return mxv_into(v.out, min_plus, a, v.values);
    default: return vxm_into(v.out_bits, or_and, v.few, a);
  }
}

void mxv_scheme(benchmark::State& state, bool skewed, int tile_dim, int scheme) {
  const CsrPattern& csr = bench_graph(skewed);
  Vectors vectors(csr.nrows());
  if (tile_dim == 0) {
    for (auto _ : state) run_scheme(vectors, csr, scheme);
  } else {
    const BitTileMatrix tiles = pack(csr, {.tile_dim = tile_dim});
    for (auto _ : state) run_scheme(vectors, tiles, scheme);
  }
  state.counters["entries/s"] = benchmark::Counter(
      static_cast<double>(csr.nvals()) * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

const bool registered = [] {
  const char* schemes[] = {"or_and", "counts", "plus_times", "min_plus", "vxm_or_and"};
  for (const bool skewed : {true, false}) {
    for (const int k : {0, 4, 8, 16, 32, 64}) {
      for (int scheme = 0; scheme < 5; ++scheme) {
        const std::string name = std::string("mxv/") + (skewed ? "rmat" : "grid") + "/" + schemes[scheme] + "/" +
                                 (k == 0 ? "csr" : "tiles" + std::to_string(k));
        benchmark::RegisterBenchmark(name.c_str(),
                                     [=](benchmark::State& state) { mxv_scheme(state, skewed, k, scheme); })
            ->UseRealTime()
            ->Unit(benchmark::kMicrosecond);
      }
    }
  }
  return true;
}();

}  // namespace
