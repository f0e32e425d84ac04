// SPDX-License-Identifier: Apache-2.0
// A layer's product at Flickr's size in levels, levels out, beside OpenBLAS in floats.
#include "support/random_levels.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/level_gemm.hpp>

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>
#include <utility>

namespace bitgraph {
namespace {

constexpr std::size_t depth = 512, outputs = 256;
const std::size_t rows = std::getenv("BITGRAPH_BENCH_SMOKE") == nullptr ? 89250 : 100;

void levels(benchmark::State& state, int bits, int weight_bits) {
  QuantizedMatrix x = test::random_levels(rows, depth, bits, 1),
                  w = test::random_levels(outputs, depth, weight_bits, 2);
  x.set_scale(test::random_scale(ScaleExtent::tensor, 1, true, 3));
  w.set_scale(test::random_scale(ScaleExtent::row, outputs, true, 4));
  const LevelWeights prepared = prepare_level_weights(w);
  QuantizedMatrix out(rows, outputs, bits);
  out.set_scale(test::random_scale(ScaleExtent::tensor, 1, true, 5));
  for (auto _ : state) {
    level_gemm_into(out, x, prepared);
    benchmark::ClobberMemory();
  }
}

void floats(benchmark::State& state) {
  const DenseMatrix<float> x = test::random_dense(rows, depth, 1), w = test::random_dense(outputs, depth, 2);
  DenseMatrix<float> out(rows, outputs);
  for (auto _ : state) {
    float_gemm(out, x, false, w, true);
    benchmark::ClobberMemory();
  }
}

[[maybe_unused]] const bool registered = [] {
  benchmark::RegisterBenchmark("level_gemm/OpenBLAS float32", floats)->UseRealTime()->Unit(benchmark::kMillisecond);
  for (const auto& [bits, weight_bits] : {std::pair{1, 1}, {2, 2}, {4, 4}, {4, 8}, {8, 8}, {16, 16}}) {
    const std::string name = "level_gemm/" + std::to_string(bits) + " by " + std::to_string(weight_bits) + " bits";
    benchmark::RegisterBenchmark(name.c_str(), levels, bits, weight_bits)->UseRealTime()->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
}  // namespace bitgraph
