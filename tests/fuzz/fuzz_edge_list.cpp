// SPDX-License-Identifier: Apache-2.0
#include "fuzz_text_graph.hpp"
#include "io/graph_readers.hpp"
#include "support/text_of.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace bitgraph;
  const Device device = Device::host(1);
  const auto read = [&](std::string_view text) { return read_edge_list(text, fuzz::file_name, {}, device); };
  fuzz::read_text_graph({reinterpret_cast<const char*>(data), size}, read, [&](const Graph& graph) {
    fuzz::expect(graph.ids.empty() || graph.ids.size() == graph.pattern.nrows(), "an id for every node");
    for (std::size_t n = 1; n < graph.ids.size(); ++n) {
      fuzz::expect(graph.ids[n - 1] < graph.ids[n], "ids increase");
    }
    // Every node of a list has an edge, so that its numbering comes back as it was.
    const Graph again = read(test::text_of([&](TextOutput& out) { write_edge_list(graph.pattern, ',', out); }));
    fuzz::expect(again.pattern == graph.pattern && again.ids.empty(), "written and read again");
  });
  return 0;
}
