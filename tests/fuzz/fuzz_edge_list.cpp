// SPDX-License-Identifier: Apache-2.0
// The first byte chooses how the list behind it is read: plainly, or with words, columns, a delimiter, a header.
#include "fuzz_text_graph.hpp"
#include "io/graph/graph_readers.hpp"
#include "support/text_of.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace bitgraph;
  const Device device = Device::host(1);
  LoadOptions options;
  // Digits, comments and letters leave the list as it is: seeds are lists.
  if (size != 0 && data[0] < 32 && data[0] != '\n' && data[0] != '\t') {
    const unsigned how = data[0];
    if ((how & 1U) != 0) options.list.ids = ListIds::words;
    if ((how & 2U) != 0) options.list.columns = {"2", "1"};
    if ((how & 4U) != 0) options.list.delimiter = ';';
    if ((how & 8U) != 0) options.list.header = ListHeader::present;
    if ((how & 16U) != 0) options.keep_weights = true;
    ++data;
    --size;
  }
  const auto read = [&](std::string_view text) { return read_edge_list(text, fuzz::file_name, options, device); };
  fuzz::read_text_graph({reinterpret_cast<const char*>(data), size}, read, [&](const Graph& graph) {
    const NodeId n = graph.pattern.nrows();
    fuzz::expect(graph.ids.are_counted() || graph.ids.size() == n, "an id for every node");
    for (NodeId i = 1; i < n; ++i) {
      const bool rises = graph.ids.are_words() ? graph.ids.word(i - 1) < graph.ids.word(i)
                                               : graph.ids.number(i - 1) < graph.ids.number(i);
      fuzz::expect(rises, "ids increase");
    }
    // Every node of a list has an edge, so that it comes back with its id.
    const auto text = test::text_of([&](TextOutput& out) { write_edge_list(graph.pattern, graph.ids, ',', out); });
    LoadOptions again_options;
    again_options.list = {.delimiter = ',',
                          .ids = graph.ids.are_words() ? ListIds::words : ListIds::numbers,
                          .header = ListHeader::present};
    const Graph again = read_edge_list(text, fuzz::file_name, again_options, device);
    fuzz::expect(again.pattern == graph.pattern, "written and read again");
    for (NodeId i = 0; i < n; ++i) fuzz::expect(again.ids.text(i) == graph.ids.text(i), "the ids come back");
  });
  return 0;
}
