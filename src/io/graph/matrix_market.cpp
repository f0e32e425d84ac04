// SPDX-License-Identifier: Apache-2.0
// Matrix Market coordinate files (Boisvert, Pozo, Remington 1996).
#include "io/graph/entry_weights.hpp"
#include "io/graph/graph_readers.hpp"
#include "io/graph/pair_list.hpp"
#include "io/text/text_output.hpp"

#include <fmt/format.h>

#include <cctype>

namespace bitgraph {

namespace {

enum class Field { pattern, integer, real };

struct Header {
  Field field = Field::pattern;
  bool mirrored = false;  ///< symmetric or skew-symmetric: one triangle is stored
  bool skew = false;      ///< the other triangle has the opposite values
  NodeId nrows = 0;
  NodeId ncols = 0;
  std::uint64_t entries = 0;
};

std::string lower_word(TextCursor& cursor) {
  cursor.skip_blanks();
  std::string word;
  while (!cursor.at_line_end() && std::isspace(static_cast<unsigned char>(*cursor.at)) == 0) {
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(*cursor.at++)));
  }
  return word;
}

void read_banner(TextCursor& cursor, const std::string& name, std::string_view text, Header& header) {
  const auto refuse = [&](const char* expected) { fail_in_text(name, text, {text.data(), expected}); };
  if (lower_word(cursor) != "%%matrixmarket" || lower_word(cursor) != "matrix")
    refuse("a %%MatrixMarket matrix header");
  if (lower_word(cursor) != "coordinate") refuse("a coordinate matrix");
  const std::string field = lower_word(cursor);
  if (field == "integer") {
    header.field = Field::integer;
  } else if (field == "real" || field == "double") {
    header.field = Field::real;
  } else if (field != "pattern") {
    refuse("the field pattern, integer or real");
  }
  const std::string symmetry = lower_word(cursor);
  if (symmetry != "general" && symmetry != "symmetric" && symmetry != "skew-symmetric") {
    refuse("the symmetry general, symmetric or skew-symmetric");
  }
  header.mirrored = symmetry != "general";
  header.skew = symmetry == "skew-symmetric";
  cursor.skip_blanks();
  if (!cursor.at_line_end()) refuse("nothing behind the symmetry");
  cursor.skip_line();
}

bool find_line(TextCursor& cursor) { return cursor.find_line('%', '%'); }

Header read_header(TextCursor& cursor, const std::string& name, std::string_view text) {
  Header header;
  read_banner(cursor, name, text, header);
  find_line(cursor);
  const char* line = cursor.at;
  const auto refuse = [&](const char* expected) { fail_in_text(name, text, {line, expected}); };
  std::uint64_t sizes[3] = {0, 0, 0};
  for (std::uint64_t& size : sizes) {
    const bool apart = cursor.skip_blanks() || &size == &sizes[0];
    if (!apart || !cursor.take_integer(size)) refuse("the size line: rows, columns, entries");
  }
  cursor.skip_blanks();
  if (!cursor.at_line_end()) refuse("the size line: rows, columns, entries, and nothing more");
  check_node_count(name, text, line, std::max(sizes[0], sizes[1]));
  // A line of an entry has at least four characters, the last one perhaps without its end.
  if (sizes[2] > text.size() / 4 + 1) refuse("no more entries than the file has room for");
  cursor.skip_line();
  header.nrows = static_cast<NodeId>(sizes[0]);
  header.ncols = static_cast<NodeId>(sizes[1]);
  header.entries = sizes[2];
  if (header.mirrored && header.nrows != header.ncols) refuse("a square matrix where it is symmetric");
  return header;
}

const char* expected_line(Field field) {
  switch (field) {
    case Field::pattern: return "row and column, and nothing more";
    case Field::integer: return "row, column, a whole number, and nothing more";
    case Field::real: break;
  }
  return "row, column, a number, and nothing more";
}

template <Field field>
bool take_value(TextCursor& cursor, bool& weighted, bool keep, float& kept) {
  if constexpr (field == Field::pattern) return true;
  if (!cursor.skip_blanks()) return false;
  if constexpr (field == Field::real) return keep ? cursor.take_weight(weighted, kept) : cursor.take_weight(weighted);
  if (keep) {
    TextCursor ahead = cursor;
    ahead.take_weight(weighted, kept);
  }
  const bool negative = !cursor.at_line_end() && *cursor.at == '-';
  if (negative || (!cursor.at_line_end() && *cursor.at == '+')) ++cursor.at;
  const char* digits = cursor.at;
  std::uint64_t value = 0;
  if (!cursor.take_integer(value) && !cursor.skip_number()) return false;  // perhaps beyond 64 bits
  weighted |= negative || value != 1;
  return std::all_of(digits, cursor.at, [](char c) { return c >= '0' && c <= '9'; });
}

template <Field field>
void parse_entries(std::string_view piece, const Header& header, PairSink<NodeId>& out) {
  TextCursor cursor(piece);
  while (find_line(cursor)) {
    const char* line = cursor.at;
    std::uint64_t i = 0;
    std::uint64_t j = 0;
    const bool pair =
        cursor.take_short_pair(i, j) || (cursor.take_integer(i) && cursor.skip_blanks() && cursor.take_integer(j));
    if (!pair || i - 1 >= header.nrows || j - 1 >= header.ncols) {
      out.error = {line, "a row and a column within the sizes, counted from 1"};
      return;
    }
    float kept = 1;
    const bool value = take_value<field>(cursor, out.weighted, out.value != nullptr, kept);
    if (!cursor.at_line_end()) cursor.skip_blanks();
    if (!value || !cursor.at_line_end()) {
      out.error = {line, expected_line(field)};
      return;
    }
    if (!cursor.done()) ++cursor.at;
    out.put(static_cast<NodeId>(i - 1), static_cast<NodeId>(j - 1), kept);
  }
}

/// Says where the entries end too early, or the first one too many.
[[noreturn]] void refuse_count(const std::string& name, std::string_view text, std::string_view body,
                               std::uint64_t found, std::uint64_t promised) {
  TextCursor cursor(body);
  for (std::uint64_t entry = 0; find_line(cursor) && entry < promised; ++entry) cursor.skip_line();
  fail_on_line(name, line_of(text, cursor.at),
               fmt::format("found {} entries, expected {} as the size line says", found, promised));
}

}  // namespace

Graph read_matrix_market(std::string_view text, const std::string& name, const LoadOptions& options,
                         const Device& device) {
  text = without_byte_order_mark(text);
  TextCursor cursor(text);
  const Header header = read_header(cursor, name, text);
  const std::string_view body = cursor.rest();
  const auto parse = [&](std::string_view piece, PairSink<NodeId>& out) {
    switch (header.field) {
      case Field::pattern: return parse_entries<Field::pattern>(piece, header, out);
      case Field::integer: return parse_entries<Field::integer>(piece, header, out);
      case Field::real: return parse_entries<Field::real>(piece, header, out);
    }
  };
  auto entries = parse_pairs<NodeId>(
      body, device, most_lines_of_pairs, parse, [](auto&&) {}, options.keep_weights);
  if (entries.error.at != nullptr) fail_in_text(name, text, entries.error);
  if (entries.size != header.entries) refuse_count(name, text, body, entries.size, header.entries);
  if (options.undirected && header.nrows != header.ncols)
    fail_in(name, "found a rectangular matrix, expected a square one for an undirected graph");
  Graph graph;
  graph.ids = NodeIds::counted_from(1);
  graph.weighted = entries.weighted;
  graph.pattern = csr_from_edges(header.nrows, header.ncols, entries.firsts(), entries.seconds(),
                                 {.symmetrize = header.mirrored || options.undirected}, device);
  if (options.keep_weights && graph.weighted) {
    const Mirror mirror = header.skew                             ? Mirror::negative
                          : header.mirrored || options.undirected ? Mirror::same
                                                                  : Mirror::none;
    graph.weights =
        weights_of_entries(graph.pattern, entries.firsts(), entries.seconds(), entries.values(), mirror, device);
  }
  return graph;
}

void write_matrix_market(const CsrPattern& a, TextOutput& out) {
  const bool symmetric = is_symmetric(a);
  const EdgeOffset entries = symmetric ? (a.nvals() + num_self_loops(a)) / 2 : a.nvals();
  out.put(fmt::format("%%MatrixMarket matrix coordinate pattern {}\n{} {} {}\n", symmetric ? "symmetric" : "general",
                      a.nrows(), a.ncols(), entries));
  put_rows(out, a, [&](NodeId i, std::string& text) {
    for (const NodeId j : a.row(i)) {
      if (symmetric && j > i) break;
      append_number(text, std::uint64_t{i} + 1);
      text += ' ';
      append_number(text, std::uint64_t{j} + 1);
      text += '\n';
    }
  });
}

}  // namespace bitgraph
