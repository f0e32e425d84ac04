// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 beside those of float32, with the same shapes: sums of neighbors, which move half the bytes, and
// dense products. "cuda:1" runs on cuda:0; a time is that of one call among many in a stream.
#include "support/random_matrices.hpp"

#include <bitgraph/core/device.hpp>
#include <bitgraph/formats/bfloat16.hpp>
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/spmm.hpp>

#include <benchmark/benchmark.h>

#include <cstdlib>

namespace bitgraph {
namespace {

constexpr int calls = 20;  // in one measured iteration: waiting for the device counts once

/// One benchmark for the host, and one for a CUDA device where there is one.
void devices(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("cuda")->Arg(0)->UseRealTime()->Unit(benchmark::kMicrosecond);
  if (!Device::best().is_host()) benchmark->Arg(1);
}

Device device_of(const benchmark::State& state) { return state.range(0) == 0 ? Device::host() : Device::cuda(); }

template <class T>
DenseMatrix<T> random_values(std::size_t nrows, std::size_t ncols) {
  const DenseMatrix<float> wide = test::random_dense(nrows, ncols, 1);
  DenseMatrix<T> x(nrows, ncols);
  for (std::size_t n = 0; n < nrows * ncols; ++n) x.values()[n] = wide.values()[n];
  return x;
}

template <class Body>
void run(benchmark::State& state, const Device& device, const Body& body) {
  body();  // compiles, allocates, plans
  device.synchronize();
  for (auto _ : state) {
    for (int n = 0; n < calls; ++n) body();
    device.synchronize();
  }
  state.counters["per_call"] =
      benchmark::Counter(calls, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

/// Sums of 64 features over an R-MAT graph: of 2^18 nodes and 4.2 million edges, or of 2^10 for a smoke test.
template <class T>
void sum_of_neighbors(benchmark::State& state) {
  const Device device = device_of(state);
  const int scale = std::getenv("BITGRAPH_BENCH_SMOKE") != nullptr ? 10 : 18;
  const CsrPattern a = generate_rmat(scale, 16, 1).to(device);
  const auto x = random_values<T>(a.ncols(), 64).to(device);
  DenseMatrix<T> out(a.nrows(), 64, device);
  run(state, device, [&] { spmm_into(out, a, x); });
}
BENCHMARK(sum_of_neighbors<float>)->Apply(devices);
BENCHMARK(sum_of_neighbors<Bfloat16>)->Apply(devices);

/// N x 512 by 512 x 256, with N of Flickr's 89,250 nodes, or 100 for a smoke test.
template <class T>
void dense_product(benchmark::State& state) {
  const Device device = device_of(state);
  const std::size_t nrows = std::getenv("BITGRAPH_BENCH_SMOKE") != nullptr ? 100 : 89'250;
  const auto x = random_values<T>(nrows, 512).to(device);
  const auto w = random_values<T>(256, 512).to(device);
  DenseMatrix<T> out(nrows, 256, device);
  run(state, device, [&] { gemm_into(out, x, w); });
}
BENCHMARK(dense_product<float>)->Apply(devices);
BENCHMARK(dense_product<Bfloat16>)->Apply(devices);

}  // namespace
}  // namespace bitgraph
