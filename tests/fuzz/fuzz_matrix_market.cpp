// SPDX-License-Identifier: Apache-2.0
#include "fuzz_text_graph.hpp"
#include "io/graph/graph_readers.hpp"
#include "support/text_of.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace bitgraph;
  const Device device = Device::host(1);
  const auto read = [&](std::string_view text) { return read_matrix_market(text, fuzz::file_name, {}, device); };
  fuzz::read_text_graph({reinterpret_cast<const char*>(data), size}, read, [&](const Graph& graph) {
    if (graph.pattern.nrows() > (1U << 16)) return;
    fuzz::expect(
        read(test::text_of([&](TextOutput& out) { write_matrix_market(graph.pattern, out); })).pattern == graph.pattern,
        "written and read again");
  });
  return 0;
}
