// SPDX-License-Identifier: Apache-2.0
// Matrix Market coordinate files (Boisvert, Pozo, Remington 1996).
#include "io/graph_readers.hpp"
#include "io/text_scanner.hpp"

#include <fmt/format.h>

#include <cctype>

namespace bitgraph {

namespace {

struct Header {
  bool has_values = false;
  bool integer = false;
  bool mirrored = false;  ///< symmetric or skew-symmetric: one triangle is stored
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
  if (field != "pattern" && field != "integer" && field != "real" && field != "double") {
    refuse("the field pattern, integer or real");
  }
  header.has_values = field != "pattern";
  header.integer = field == "integer";
  const std::string symmetry = lower_word(cursor);
  if (symmetry != "general" && symmetry != "symmetric" && symmetry != "skew-symmetric") {
    refuse("the symmetry general, symmetric or skew-symmetric");
  }
  header.mirrored = symmetry != "general";
  cursor.skip_line();
}

void skip_comments(TextCursor& cursor) {
  while (!cursor.done()) {
    TextCursor peek = cursor;
    peek.skip_blanks();
    if (!peek.at_line_end() && *peek.at != '%') return;
    cursor.skip_line();
  }
}

Header read_header(TextCursor& cursor, const std::string& name, std::string_view text) {
  Header header;
  read_banner(cursor, name, text, header);
  skip_comments(cursor);
  const char* line = cursor.at;
  std::uint64_t sizes[3] = {0, 0, 0};
  for (std::uint64_t& size : sizes) {
    cursor.skip_blanks();
    if (!cursor.take_integer(size)) {
      fail_in_text(name, text, {std::min(line, text.data() + text.size()), "the size line: rows, columns, entries"});
    }
  }
  cursor.skip_blanks();
  if (!cursor.at_line_end()) fail_in_text(name, text, {line, "nothing behind the three sizes"});
  check_node_count(name, text, line, std::max(sizes[0], sizes[1]));
  // A line of an entry has at least four characters, the last one perhaps without its end.
  if (sizes[2] > text.size() / 4 + 1) fail_in_text(name, text, {line, "no more entries than the file has room for"});
  cursor.skip_line();
  header.nrows = static_cast<NodeId>(sizes[0]);
  header.ncols = static_cast<NodeId>(sizes[1]);
  header.entries = sizes[2];
  if (header.mirrored && header.nrows != header.ncols)
    fail_in_text(name, text, {line, "a square matrix where it is symmetric"});
  return header;
}

/// Reads one value; false where there is none.
bool take_value(TextCursor& cursor, bool& weighted) {
  if (cursor.at_line_end()) return false;
  double value = 0;
  if (*cursor.at == '1' && (cursor.at + 1 == cursor.end || cursor.at[1] == '\n' || cursor.at[1] == '\r')) {
    ++cursor.at;
    return true;
  }
  if (!cursor.take_number(value)) return false;
  weighted |= value != 1;
  return true;
}

void parse_entries(std::string_view piece, const Header& header, ParsedPairs<NodeId>& out) {
  TextCursor cursor{piece.data(), piece.data() + piece.size()};
  const std::size_t guess = piece.size() / (header.has_values ? 12 : 8);
  out.first.reserve(guess);
  out.second.reserve(guess);
  while (!cursor.done()) {
    const char* line = cursor.at;
    cursor.skip_blanks();
    if (cursor.at_line_end() || *cursor.at == '%') {
      cursor.skip_line();
      continue;
    }
    std::uint64_t i = 0;
    std::uint64_t j = 0;
    const bool two = cursor.take_integer(i) && (cursor.skip_blanks(), cursor.take_integer(j));
    if (!two || i == 0 || i > header.nrows || j == 0 || j > header.ncols) {
      out.error = {line, "a row and a column within the sizes, counted from 1"};
      return;
    }
    cursor.skip_blanks();
    if (header.has_values && !take_value(cursor, out.weighted)) {
      out.error = {line, "a value behind row and column"};
      return;
    }
    cursor.skip_blanks();
    if (!cursor.at_line_end()) {
      out.error = {line, header.has_values ? "row, column, value and nothing more" : "row and column and nothing more"};
      return;
    }
    if (!cursor.done()) ++cursor.at;
    out.first.push_back(static_cast<NodeId>(i - 1));
    out.second.push_back(static_cast<NodeId>(j - 1));
  }
}

}  // namespace

Graph read_matrix_market(std::string_view text, const std::string& name, const LoadOptions& options,
                         const Device& device) {
  TextCursor cursor{text.data(), text.data() + text.size()};
  const Header header = read_header(cursor, name, text);
  const std::string_view body(cursor.at, static_cast<std::size_t>(cursor.end - cursor.at));
  auto pieces = parse_pieces<NodeId>(name, text, body, device,
                                     [&](std::string_view piece, auto& out) { parse_entries(piece, header, out); });
  auto edges = join(pieces, device);
  if (edges.first.size() != header.entries) {
    fail_in(name, fmt::format("found {} entries, expected {} as the header says", edges.first.size(), header.entries));
  }
  if (options.undirected && header.nrows != header.ncols)
    fail_in(name, "found a rectangular matrix, expected a square one for an undirected graph");
  Graph graph;
  graph.weighted = edges.weighted;
  graph.pattern = csr_from_edges(header.nrows, header.ncols, edges.first.span(), edges.second.span(),
                                 {.symmetrize = header.mirrored || options.undirected}, device);
  return graph;
}

std::string write_matrix_market(const CsrPattern& a) {
  const bool symmetric = is_symmetric(a);
  EdgeOffset entries = 0;
  std::string body;
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (const NodeId j : a.row(i)) {
      if (symmetric && j > i) break;
      fmt::format_to(std::back_inserter(body), "{} {}\n", std::uint64_t{i} + 1, std::uint64_t{j} + 1);
      ++entries;
    }
  }
  return fmt::format("%%MatrixMarket matrix coordinate pattern {}\n{} {} {}\n", symmetric ? "symmetric" : "general",
                     a.nrows(), a.ncols(), entries) +
         body;
}

}  // namespace bitgraph
