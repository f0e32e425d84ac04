// SPDX-License-Identifier: Apache-2.0
// SNAP-style edge lists: two ids a line, blanks, tabs, commas or semicolons between them, '#' or '%' comments, perhaps
// a header line of names, perhaps a weight. Ids may have gaps and be as large as 2^64 - 1.
#include "io/graph/entry_weights.hpp"
#include "io/graph/graph_readers.hpp"
#include "io/graph/ids/compact_ids.hpp"
#include "io/graph/pair_list.hpp"
#include "io/text/text_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace bitgraph {

namespace {

constexpr const char* expected_numbers = "two ids, whole numbers from 0 to 2^64 - 1";
constexpr const char* too_large_for_32_bits = "an id below 2^32";

bool find_line(TextCursor& cursor) { return cursor.find_line('#', '%'); }

template <class Id>
void parse_edges(std::string_view piece, PairSink<Id>& out) {
  TextCursor cursor(piece);
  while (find_line(cursor)) {
    const char* line = cursor.at;
    std::uint64_t i = 0;
    std::uint64_t j = 0;
    const bool pair =
        cursor.take_short_pair(i, j) || (cursor.take_integer(i) && cursor.skip_separator() && cursor.take_integer(j));
    if (!pair) {
      out.error = {line, expected_numbers};
      return;
    }
    float weight = 1;
    if (!cursor.at_line_end()) {
      const bool apart = cursor.skip_separator();
      if (!cursor.at_line_end() && !(apart && (out.value == nullptr ? cursor.take_weight(out.weighted)
                                                                    : cursor.take_weight(out.weighted, weight)))) {
        out.error = {line, "two ids and perhaps a weight"};
        return;
      }
      cursor.skip_separator();
      if (!cursor.at_line_end()) {
        out.error = {line, "two ids, perhaps a weight, and nothing more"};
        return;
      }
    }
    if (!cursor.done()) ++cursor.at;
    if (std::max(i, j) > std::numeric_limits<Id>::max()) {
      out.error = {line, too_large_for_32_bits};
      return;
    }
    out.put(static_cast<Id>(i), static_cast<Id>(j), weight);
  }
}

/// Passes a first line such as `id_1,id_2`, or `source target`: letters where an id should be. Where nothing follows it
/// must be that of a table, with names between commas, semicolons or tabs: one line of words is no list.
std::string_view without_header(std::string_view text) {
  TextCursor cursor(text);
  if (!find_line(cursor)) return cursor.rest();
  const char c = *cursor.at;
  const bool name = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '"' || c == '_';
  if (!name) return cursor.rest();
  TextCursor behind = cursor;
  behind.skip_line();
  const bool table =
      std::any_of(cursor.at, behind.at, [](char mark) { return mark == ',' || mark == ';' || mark == '\t'; });
  return table || find_line(behind) ? behind.rest() : cursor.rest();
}

template <class Id>
PairList<Id> parse_list(std::string_view body, const LoadOptions& options, const Device& device) {
  return parse_pairs<Id>(
      body, device, most_lines_of_pairs, parse_edges<Id>, [](auto&&) {}, options.keep_weights);
}

/// Throws the error, with what reads other ids where the caller did not ask for numbers.
[[noreturn]] void refuse(const std::string& name, std::string_view text, TextError error, const ListOptions& list) {
  if (error.expected == expected_numbers && list.ids == ListIds::automatic)
    error.expected = "two ids, whole numbers from 0 to 2^64 - 1 (--ids words takes others)";
  fail_in_text(name, text, error);
}

/// `rows` and `cols` may be the list's own arrays.
template <class Id>
Graph assemble(PairList<Id>& edges, NodeId* rows, NodeId* cols, const std::string& name, const LoadOptions& options,
               const Device& device) {
  const std::span<const Id> first = edges.firsts();
  const std::span<const Id> second = edges.seconds();
  CompactIds nodes = compact_ids(first, second, device);
  if (nodes.num_nodes >= std::numeric_limits<NodeId>::max()) fail_in(name, "found 2^32 - 1 or more different ids");
  renumber(nodes, first, rows, device);
  renumber(nodes, second, cols, device);
  const auto n = static_cast<NodeId>(nodes.num_nodes);
  Graph graph;
  graph.weighted = edges.weighted;
  graph.renumbered = !nodes.ids.empty();
  if (graph.renumbered) graph.ids = NodeIds::of_numbers(std::move(nodes.ids));
  graph.pattern =
      csr_from_edges(n, n, {rows, edges.size}, {cols, edges.size}, {.symmetrize = options.undirected}, device);
  if (options.keep_weights && graph.weighted) {
    graph.weights = weights_of_entries(graph.pattern, {rows, edges.size}, {cols, edges.size}, edges.values(),
                                       options.undirected ? Mirror::same : Mirror::none, device);
  }
  return graph;
}

/// Whether a field, with blanks around, is a word: in quotes, or no number.
bool is_word(std::string_view field) {
  constexpr std::string_view blanks = " \t";
  const std::size_t first = field.find_first_not_of(blanks);
  if (first == std::string_view::npos) return false;
  return !is_number(field.substr(first, field.find_last_not_of(blanks) + 1 - first));
}

/// A table whose first edge, behind the header, has a word where an id should be.
bool has_words(std::string_view body) {
  TextCursor cursor(body);
  if (!find_line(cursor)) return false;
  std::string_view line = cursor.rest().substr(0, cursor.rest().find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t first = line.find_first_of(",;\t");
  if (first == std::string_view::npos) return false;
  const std::size_t second = line.find(line[first], first + 1);
  return is_word(line.substr(0, first)) || is_word(line.substr(first + 1, second - first - 1));
}

/// The graph with the line that was passed as a header.
Graph with_header(Graph graph, std::string_view text, std::string_view body) {
  TextCursor cursor(text.substr(0, text.size() - body.size()));
  if (find_line(cursor)) {
    const std::string_view line = cursor.rest();
    graph.header = printable(line.substr(0, line.find_first_of("\r\n")), 160);
  }
  return graph;
}

}  // namespace

Graph read_edge_list(std::string_view text, const std::string& name, const LoadOptions& options, const Device& device) {
  text = without_byte_order_mark(text);
  const ListOptions& list = options.list;
  const bool plain =
      list.columns.empty() && list.delimiter == 0 && list.header == ListHeader::automatic && list.ids != ListIds::words;
  const std::string_view body = without_header(text);
  if (!plain || (list.ids == ListIds::automatic && has_words(body))) {
    return read_edge_table(text, name, options, device);
  }
  {
    auto edges = parse_list<std::uint32_t>(body, options, device);
    if (edges.error.at == nullptr) {
      return with_header(assemble(edges, edges.first.data(), edges.second.data(), name, options, device), text, body);
    }
    if (edges.error.expected != too_large_for_32_bits) refuse(name, text, edges.error, list);
  }
  auto edges = parse_list<std::uint64_t>(body, options, device);
  if (edges.error.at != nullptr) refuse(name, text, edges.error, list);
  Buffer<NodeId> rows(edges.size, device);
  Buffer<NodeId> cols(edges.size, device);
  return with_header(assemble(edges, rows.data(), cols.data(), name, options, device), text, body);
}

namespace {

void append_id(std::string& text, const NodeIds& ids, NodeId node, char separator) {
  if (!ids.are_words()) return append_number(text, ids.number(node));
  const std::string_view word = ids.word(node);
  // What looks like a number is quoted too, so that it is read as a word again.
  const bool like_a_number = word.find_first_not_of("+-.0123456789eE") == std::string_view::npos;
  const bool plain = !like_a_number && word.find_first_of(",;\t\r\" #%") == std::string_view::npos;
  if (plain) {
    text += word;
  } else if (separator == ' ') {
    fail(ErrorCode::usage, "the id '" + printable(word) + "' cannot stand in a list with blanks: write a .csv");
  } else {
    text += '"';
    for (const char c : word) {
      if (c == '"') text += c;
      text += c;
    }
    text += '"';
  }
}

}  // namespace

void write_edge_list(const CsrPattern& a, const NodeIds& ids, char separator, TextOutput& out) {
  if (a.nrows() != a.ncols()) {
    fail(ErrorCode::usage, fmt::format("edge lists hold square matrices: this one is {} x {}", a.nrows(), a.ncols()));
  }
  out.put(separator == ' ' ? fmt::format("# {} nodes, {} entries\n", a.nrows(), a.nvals())
                           : fmt::format("source{}target\n", separator));
  put_rows(out, a, [&](NodeId i, std::string& text) {
    for (const NodeId j : a.row(i)) {
      append_id(text, ids, i, separator);
      text += separator;
      append_id(text, ids, j, separator);
      text += '\n';
    }
  });
}

}  // namespace bitgraph
