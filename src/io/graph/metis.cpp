// SPDX-License-Identifier: Apache-2.0
// METIS graph files (METIS 5.1 manual, section 4.1.1): line 1 `n m [fmt [ncon]]`, then the neighbours of node i in line
// i.
#include "io/graph/entry_weights.hpp"
#include "io/graph/graph_readers.hpp"
#include "io/graph/pair_list.hpp"
#include "io/text/text_output.hpp"

#include <fmt/format.h>

namespace bitgraph {

namespace {

struct Header {
  const char* line = nullptr;
  NodeId nodes = 0;
  std::uint64_t edges = 0;
  bool edge_weights = false;
  std::uint64_t numbers_before = 0;  ///< vertex size and weights in front of a node's neighbours
};

Header read_header(TextCursor& cursor, const std::string& name, std::string_view text) {
  while (!cursor.done() && *cursor.at == '%') cursor.skip_line();
  Header header;
  header.line = cursor.at;
  const auto refuse = [&](const char* expected) { fail_in_text(name, text, {header.line, expected}); };
  std::uint64_t numbers[4] = {0, 0, 0, 1};
  for (std::size_t n = 0; n < 4; ++n) {
    const bool apart = cursor.skip_blanks() || n == 0;
    if (cursor.at_line_end() && n >= 2) break;
    if (!apart || !cursor.take_integer(numbers[n])) refuse("nodes edges [format [weights]]");
  }
  cursor.skip_blanks();
  if (!cursor.at_line_end()) refuse("at most four numbers");
  cursor.skip_line();
  check_node_count(name, text, header.line, numbers[0]);
  if (numbers[1] > text.size()) refuse("no more edges than the file has room for");
  const std::uint64_t format = numbers[2];
  if (format % 10 > 1 || format / 10 % 10 > 1 || format / 100 > 1) refuse("a format of three digits, each 0 or 1");
  if (numbers[3] > 64) refuse("at most 64 weights a node");
  header.nodes = static_cast<NodeId>(numbers[0]);
  header.edges = numbers[1];
  header.edge_weights = format % 10 == 1;
  header.numbers_before = format / 100 + (format / 10 % 10 == 1 ? std::max<std::uint64_t>(numbers[3], 1) : 0);
  return header;
}

/// One node's line, up to its end: pairs of its number within the piece and a neighbour. False at an error.
bool parse_line(TextCursor& cursor, const Header& header, PairSink<NodeId>& out) {
  const char* line = cursor.at;
  const auto refuse = [&](const char* expected) {
    out.error = {line, expected};
    return false;
  };
  std::uint64_t skip = header.numbers_before;
  bool apart = true;
  for (cursor.skip_blanks(); !cursor.at_line_end(); apart = cursor.skip_blanks()) {
    std::uint64_t j = 0;
    if (!apart || !cursor.take_integer(j)) return refuse("whole numbers with blanks between them");
    if (skip != 0) {
      --skip;
      continue;
    }
    if (j - 1 >= header.nodes) return refuse("neighbours between 1 and the number of nodes");
    if (out.nodes >= header.nodes) return refuse("no more lines than nodes");
    float weight = 1;
    if (header.edge_weights &&
        !(cursor.skip_blanks() &&
          (out.value == nullptr ? cursor.take_weight(out.weighted) : cursor.take_weight(out.weighted, weight)))) {
      return refuse("a weight behind every neighbour");
    }
    out.put(static_cast<NodeId>(out.nodes), static_cast<NodeId>(j - 1), weight);
  }
  // A line without anything is taken for a node without anything, whatever should stand in front.
  if (skip != 0 && skip != header.numbers_before) return refuse("all weights of the node");
  ++out.nodes;
  return true;
}

void parse_lines(std::string_view piece, const Header& header, PairSink<NodeId>& out) {
  TextCursor cursor(piece);
  while (!cursor.done()) {
    if (*cursor.at == '%') {
      cursor.skip_line();
      continue;
    }
    if (!parse_line(cursor, header, out)) return;
    if (!cursor.done()) ++cursor.at;
  }
}

/// The line of a node, counted from 0; the end of the text where there is none.
TextCursor line_of_node(std::string_view body, std::uint64_t node) {
  TextCursor cursor(body);
  while (!cursor.done()) {
    const bool comment = *cursor.at == '%';
    if (!comment && node == 0) break;
    if (!comment) --node;
    cursor.skip_line();
  }
  return cursor;
}

[[noreturn]] void refuse_surplus(const std::string& name, std::string_view text, std::string_view body, NodeId nodes) {
  TextCursor cursor = line_of_node(body, nodes);
  while (!cursor.done() && (*cursor.at == '%' || (cursor.skip_blanks(), cursor.at_line_end()))) cursor.skip_line();
  fail_in_text(name, text, {cursor.at, "no more lines than nodes"});
}

/// Node numbers within a piece become numbers within the file.
void number_nodes(std::span<PairSink<NodeId>> pieces, const Header& header, const std::string& name,
                  std::string_view text, std::string_view body, const Device& device) {
  std::vector<std::uint64_t> before(pieces.size());
  std::uint64_t nodes = 0;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    before[p] = nodes;
    nodes += pieces[p].nodes;
    const PairSink<NodeId>& piece = pieces[p];
    if (piece.size != 0 && before[p] + piece.first[piece.size - 1] >= header.nodes)
      refuse_surplus(name, text, body, header.nodes);
  }
  if (nodes < header.nodes) {
    fail_on_line(name, line_of(text, text.data() + text.size()),
                 fmt::format("found {} lines of nodes, expected {} as the header says", nodes, header.nodes));
  }
  parallel_chunks(device, pieces.size(), pieces.size() > 1 ? 1 : 2, [&](Range range) {
    for (std::size_t p = range.begin; p < range.end; ++p) {
      for (std::size_t e = 0; e < pieces[p].size; ++e) pieces[p].first[e] += static_cast<NodeId>(before[p]);
    }
  });
}

/// Names the first edge that stands in one direction only.
[[noreturn]] void refuse_one_way(const std::string& name, std::string_view text, std::string_view body,
                                 const CsrPattern& a) {
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (const NodeId j : a.row(i)) {
      const auto back = a.row(j);
      if (std::binary_search(back.begin(), back.end(), i)) continue;
      fail_on_line(name, line_of(text, line_of_node(body, i).at),
                   fmt::format("found node {0} with the neighbour {1}, expected node {1} to have the neighbour {0}",
                               std::uint64_t{i} + 1, std::uint64_t{j} + 1));
    }
  }
  fail(ErrorCode::internal, "a pattern is neither symmetric nor not");
}

}  // namespace

Graph read_metis(std::string_view text, const std::string& name, const LoadOptions& options, const Device& device) {
  text = without_byte_order_mark(text);
  TextCursor cursor(text);
  const Header header = read_header(cursor, name, text);
  const std::string_view body = cursor.rest();
  auto pairs = parse_pairs<NodeId>(
      body, device, count_words, [&](std::string_view piece, auto& out) { parse_lines(piece, header, out); },
      [&](auto pieces) { number_nodes(pieces, header, name, text, body, device); }, options.keep_weights);
  if (pairs.error.at != nullptr) fail_in_text(name, text, pairs.error);
  if (pairs.size != 2 * header.edges) {
    fail_on_line(name, line_of(text, header.line),
                 fmt::format("found {} edges in the header, expected {}: half of the {} neighbours", header.edges,
                             static_cast<double>(pairs.size) / 2, pairs.size));
  }
  Graph graph;
  graph.ids = NodeIds::counted_from(1);
  graph.weighted = pairs.weighted;
  graph.pattern = csr_from_edges(header.nodes, header.nodes, pairs.firsts(), pairs.seconds(), {}, device);
  if (!is_symmetric(graph.pattern)) refuse_one_way(name, text, body, graph.pattern);
  if (options.keep_weights && graph.weighted) {
    graph.weights =
        weights_of_entries(graph.pattern, pairs.firsts(), pairs.seconds(), pairs.values(), Mirror::none, device);
  }
  return graph;
}

void write_metis(const CsrPattern& a, TextOutput& out) {
  if (!is_symmetric(a))
    fail(ErrorCode::usage, "METIS files hold undirected graphs: the pattern is not symmetric (see --undirected)");
  if (num_self_loops(a) != 0) fail(ErrorCode::usage, "METIS files hold no self loops: the pattern has some");
  out.put(fmt::format("{} {}\n", a.nrows(), a.nvals() / 2));
  put_rows(out, a, [&](NodeId i, std::string& text) {
    for (const NodeId j : a.row(i)) {
      append_number(text, std::uint64_t{j} + 1);
      text += ' ';
    }
    if (!a.row(i).empty()) text.pop_back();
    text += '\n';
  });
}

}  // namespace bitgraph
