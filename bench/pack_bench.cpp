// SPDX-License-Identifier: Apache-2.0
// Pattern CSR to B2SR and back, and transposes, on the host and on a CUDA device where there is one. Bytes are those of
// the input and the output.
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/graph/generate.hpp>

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <string>

namespace {

using namespace bitgraph;

CsrPattern make_graph(const std::string& name) {
  const bool small = std::getenv("BITGRAPH_BENCH_SMOKE") != nullptr;
  if (name == "rmat") return generate_rmat(small ? 8 : 20, 16, 1);
  if (name == "grid") return small ? generate_grid(20, 20) : generate_grid(1000, 1000);
  return small ? generate_uniform(256, 2000, 1) : generate_uniform(NodeId{1} << 20, std::size_t{16} << 20, 1);
}

/// Made once, on the host and on the device.
const CsrPattern& graph_on(const std::string& name, const Device& device) {
  static std::map<std::string, CsrPattern> made;
  if (!made.contains(name)) made.emplace(name, make_graph(name));
  if (device.is_host()) return made.at(name);
  const std::string there = name + " " + device.name();
  if (!made.contains(there)) made.emplace(there, made.at(name).to(device));
  return made.at(there);
}

template <class Run>
void convert(benchmark::State& state, std::size_t input_bytes, const Device& device, Run&& run) {
  std::size_t output_bytes = 0;
  for (auto _ : state) {
    const auto output = run();
    device.synchronize();
    output_bytes = output.bytes();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(input_bytes + output_bytes));
}

void bench_packing(benchmark::State& state, const std::string& graph, int tile_dim, const Device& device) {
  const CsrPattern& a = graph_on(graph, device);
  convert(state, a.bytes(), device, [&] { return pack(a, {.tile_dim = tile_dim}, device); });
}

void bench_unpacking(benchmark::State& state, const std::string& graph, int tile_dim, const Device& device) {
  const BitTileMatrix tiles = pack(graph_on(graph, device), {.tile_dim = tile_dim}, device);
  convert(state, tiles.bytes(), device, [&] { return unpack(tiles); });
}

void bench_turning_tiles(benchmark::State& state, const std::string& graph, int tile_dim, const Device& device) {
  const BitTileMatrix tiles = pack(graph_on(graph, device), {.tile_dim = tile_dim}, device);
  convert(state, tiles.bytes(), device, [&] { return transpose(tiles); });
}

void bench_turning(benchmark::State& state, const std::string& graph, const Device& device) {
  const CsrPattern& a = graph_on(graph, device);
  convert(state, a.bytes(), device, [&] { return transpose(a); });
}

void add(const std::string& name, const std::function<void(benchmark::State&)>& run) {
  benchmark::RegisterBenchmark(name.c_str(), run)->UseRealTime()->Unit(benchmark::kMillisecond);
}

void add_all(const Device& device) {
  for (const std::string graph : {"rmat", "grid", "uniform"}) {
    const std::string where = "/" + graph + "/" + device.name();
    for (const int k : tile_dims) {
      const std::string side = where + "/tiles" + std::to_string(k);
      add("pack" + side, [=](benchmark::State& state) { bench_packing(state, graph, k, device); });
      add("unpack" + side, [=](benchmark::State& state) { bench_unpacking(state, graph, k, device); });
      add("transpose" + side, [=](benchmark::State& state) { bench_turning_tiles(state, graph, k, device); });
    }
    add("transpose" + where + "/csr", [=](benchmark::State& state) { bench_turning(state, graph, device); });
  }
}

const bool registered = [] {
  add_all(Device{});
  if (const Device device = Device::best(); !device.is_host()) add_all(device);
  return true;
}();

}  // namespace
