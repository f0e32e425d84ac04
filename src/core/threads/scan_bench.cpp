// SPDX-License-Identifier: Apache-2.0
// exclusive_scan beside the standard library's, on row lengths as building a CSR meets them.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "core/threads/parallel.hpp"

namespace bitgraph {
namespace {

std::vector<std::uint64_t> row_lengths(std::int64_t n) {
  std::vector<std::uint64_t> lengths(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = i % 17;
  return lengths;
}

void report(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * state.range(0) * 2 * static_cast<std::int64_t>(sizeof(std::uint64_t)));
}

void scan_standard(benchmark::State& state) {
  auto lengths = row_lengths(state.range(0));
  for (auto _ : state) {
    std::exclusive_scan(lengths.begin(), lengths.end(), lengths.begin(), std::uint64_t{0});
    benchmark::DoNotOptimize(lengths.data());
  }
  report(state);
}
BENCHMARK(scan_standard)->Arg(1 << 14)->Arg(1 << 22);

void scan_parallel(benchmark::State& state) {
  auto lengths = row_lengths(state.range(0));
  const Device device = Device::host(static_cast<int>(state.range(1)));
  for (auto _ : state) benchmark::DoNotOptimize(exclusive_scan<std::uint64_t>(device, lengths));
  report(state);
}
BENCHMARK(scan_parallel)->ArgNames({"n", "threads"})->ArgsProduct({{1 << 14, 1 << 22}, {1, 2}})->UseRealTime();

}  // namespace
}  // namespace bitgraph
