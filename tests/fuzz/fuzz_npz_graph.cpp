// SPDX-License-Identifier: Apache-2.0
#include "fuzz_arrays.hpp"
#include "io/graph/graph_readers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace bitgraph;
  const auto archive = fuzz::with_checksums({reinterpret_cast<const std::byte*>(data), size});
  const Device device = Device::host(1);
  Graph graph;
  if (!fuzz::accepted([&] { graph = read_npz_graph(archive, fuzz::file_name, {}, device); })) return 0;
  graph.pattern.validate();
  fuzz::expect(graph.ids.are_counted() && graph.new_id.empty() && !graph.tiles, "nothing but a pattern");
  const auto undirected = [&] { graph = read_npz_graph(archive, fuzz::file_name, {.undirected = true}, device); };
  if (fuzz::accepted(undirected)) fuzz::expect(is_symmetric(graph.pattern), "both directions");
  return 0;
}
