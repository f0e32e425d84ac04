// SPDX-License-Identifier: Apache-2.0
// A layer's product at Flickr's size in levels, levels or floats out, beside OpenBLAS in floats; and smaller ones.
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

/// Rows and columns of X, and outputs.
struct Shape {
  std::size_t rows, columns, outputs;
};

constexpr std::size_t depth = 512, outputs = 256;
const bool smoke = std::getenv("BITGRAPH_BENCH_SMOKE") != nullptr;
const std::size_t rows = smoke ? 100 : 89250;

void levels(benchmark::State& state, const Shape& shape, int bits, int weight_bits, bool floats_out) {
  QuantizedMatrix x = test::random_levels(shape.rows, shape.columns, bits, 1),
                  w = test::random_levels(shape.outputs, shape.columns, weight_bits, 2);
  x.set_scale(test::random_scale(ScaleExtent::tensor, 1, true, 3));
  w.set_scale(test::random_scale(ScaleExtent::row, shape.outputs, true, 4));
  const LevelWeights prepared = prepare_level_weights(w);
  QuantizedMatrix out(shape.rows, shape.outputs, bits);
  out.set_scale(test::random_scale(ScaleExtent::tensor, 1, true, 5));
  DenseMatrix<float> values(floats_out ? shape.rows : 0, shape.outputs);
  for (auto _ : state) {
    if (floats_out) {
      level_gemm_into(values, x, prepared);
    } else {
      level_gemm_into(out, x, prepared);
    }
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
  const auto add = [](const std::string& what, const Shape& shape, int bits, int weight_bits, bool floats_out) {
    const std::string name =
        "level_gemm/" + what + std::to_string(bits) + " by " + std::to_string(weight_bits) + " bits";
    benchmark::RegisterBenchmark((name + (floats_out ? ", floats out" : "")).c_str(), levels, shape, bits, weight_bits,
                                 floats_out)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  };
  const Shape layer{rows, depth, outputs};
  for (const auto& widths : {std::pair{1, 1}, {2, 2}, {4, 4}, {4, 8}, {8, 8}, {16, 16}})
    add("", layer, widths.first, widths.second, false);
  for (const int bits : {2, 4, 8}) add("", layer, bits, bits, true);
  for (const Shape& shape : {Shape{64, 64, 7},
                             {64, 512, 8},
                             {32, 512, 32},
                             {32, 512, 256},
                             {2708, 64, 7},
                             {2708, 1433, 64},
                             {19717, 500, 64}}) {
    if (smoke && shape.rows > 64) continue;
    const std::string what = std::to_string(shape.rows) + " x " + std::to_string(shape.columns) + " by " +
                             std::to_string(shape.outputs) + ", ";
    for (const int bits : {4, 8}) add(what, shape, bits, bits, false);
  }
  return true;
}();

}  // namespace
}  // namespace bitgraph
