// SPDX-License-Identifier: Apache-2.0
#include "fuzz_text_graph.hpp"
#include "io/graph/graph_readers.hpp"
#include "support/text_of.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace bitgraph;
  const Device device = Device::host(1);
  const auto read = [&](std::string_view text) { return read_metis(text, fuzz::file_name, {}, device); };
  fuzz::read_text_graph({reinterpret_cast<const char*>(data), size}, read, [&](const Graph& graph) {
    fuzz::expect(is_symmetric(graph.pattern), "both directions");
    if (num_self_loops(graph.pattern) != 0) return;
    fuzz::expect(
        read(test::text_of([&](TextOutput& out) { write_metis(graph.pattern, out); })).pattern == graph.pattern,
        "written and read again");
  });
  return 0;
}
