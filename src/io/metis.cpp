// SPDX-License-Identifier: Apache-2.0
// METIS graph files (METIS 5.1 manual, section 4.1.1): line 1 `n m [fmt [ncon]]`, then the neighbours of node i in line
// i.
#include "io/graph_readers.hpp"
#include "io/text_scanner.hpp"

#include <fmt/format.h>

namespace bitgraph {

namespace {

struct Header {
  NodeId nodes = 0;
  std::uint64_t edges = 0;
  bool edge_weights = false;
  std::uint64_t numbers_before = 0;  ///< vertex size and weights in front of a node's neighbours
};

Header read_header(TextCursor& cursor, const std::string& name, std::string_view text) {
  while (!cursor.done() && *cursor.at == '%') cursor.skip_line();
  const char* line = cursor.at;
  const auto refuse = [&](const char* expected) { fail_in_text(name, text, {line, expected}); };
  if (cursor.done()) fail_in(name, "found no header, expected 'nodes edges [format [weights]]'");
  std::uint64_t numbers[4] = {0, 0, 0, 1};
  for (std::size_t n = 0; n < 4; ++n) {
    cursor.skip_blanks();
    if (cursor.at_line_end() && n >= 2) break;
    if (!cursor.take_integer(numbers[n])) refuse("nodes edges [format [weights]]");
  }
  cursor.skip_blanks();
  if (!cursor.at_line_end()) refuse("at most four numbers");
  cursor.skip_line();
  check_node_count(name, text, line, numbers[0]);
  if (numbers[1] > text.size()) refuse("no more edges than the file has room for");
  const std::uint64_t format = numbers[2];
  if (format % 10 > 1 || format / 10 % 10 > 1 || format / 100 > 1) refuse("a format of three digits, each 0 or 1");
  if (numbers[3] > 64) refuse("at most 64 weights a node");
  Header header;
  header.nodes = static_cast<NodeId>(numbers[0]);
  header.edges = numbers[1];
  header.edge_weights = format % 10 == 1;
  header.numbers_before = format / 100 + (format / 10 % 10 == 1 ? numbers[3] : 0);
  return header;
}

struct Rows {
  std::vector<NodeId> degrees;
  std::vector<NodeId> neighbors;
  bool weighted = false;
  TextError error;
};

/// One node's line, up to its end.
void parse_line(TextCursor& cursor, const Header& header, Rows& out) {
  const char* line = cursor.at;
  const std::size_t before = out.neighbors.size();
  std::uint64_t skip = header.numbers_before;
  for (cursor.skip_blanks(); !cursor.at_line_end(); cursor.skip_blanks()) {
    std::uint64_t j = 0;
    if (!cursor.take_integer(j) || (skip == 0 && (j == 0 || j > header.nodes))) {
      out.error = {line, "neighbours between 1 and the number of nodes"};
      return;
    }
    if (skip != 0) {
      --skip;
      continue;
    }
    out.neighbors.push_back(static_cast<NodeId>(j - 1));
    if (!header.edge_weights) continue;
    double weight = 0;
    cursor.skip_blanks();
    if (!cursor.take_number(weight)) {
      out.error = {line, "a weight behind every neighbour"};
      return;
    }
    out.weighted |= weight != 1;
  }
  if (skip != 0) {
    out.error = {line, "the node's weights"};
    return;
  }
  out.degrees.push_back(static_cast<NodeId>(out.neighbors.size() - before));
}

void parse_rows(std::string_view piece, const Header& header, Rows& out) {
  TextCursor cursor{piece.data(), piece.data() + piece.size()};
  out.neighbors.reserve(piece.size() / 6);
  while (!cursor.done() && out.error.at == nullptr) {
    if (*cursor.at == '%') {
      cursor.skip_line();
      continue;
    }
    parse_line(cursor, header, out);
    if (!cursor.done()) ++cursor.at;
  }
}

/// Rows in file order to a pattern; what stands behind the last node may only be empty lines.
CsrPattern assemble(const std::vector<Rows>& pieces, const Header& header, const std::string& name,
                    const Device& device) {
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  std::size_t node = 0;
  for (const Rows& piece : pieces) {
    std::size_t next = 0;
    for (const NodeId degree : piece.degrees) {
      if (node >= header.nodes && degree != 0)
        fail_in(name, fmt::format("found more than the {} nodes of the header", header.nodes));
      rows.insert(rows.end(), degree, static_cast<NodeId>(node));
      next += degree;
      ++node;
    }
    cols.insert(cols.end(), piece.neighbors.begin(), piece.neighbors.begin() + static_cast<std::ptrdiff_t>(next));
  }
  if (node < header.nodes)
    fail_in(name, fmt::format("found {} node lines, expected {} as the header says", node, header.nodes));
  if (cols.size() != 2 * header.edges) {
    fail_in(name, fmt::format("found {} neighbours, expected {}: twice the {} edges of the header", cols.size(),
                              2 * header.edges, header.edges));
  }
  return csr_from_edges(header.nodes, header.nodes, rows, cols, {}, device);
}

}  // namespace

Graph read_metis(std::string_view text, const std::string& name, const LoadOptions&, const Device& device) {
  TextCursor cursor{text.data(), text.data() + text.size()};
  const Header header = read_header(cursor, name, text);
  const auto cut = cut_at_lines({cursor.at, static_cast<std::size_t>(cursor.end - cursor.at)},
                                static_cast<std::size_t>(device.threads()) * 4);
  std::vector<Rows> pieces(cut.size());
  parallel_chunks(device, cut.size(), cut.size() > 1 ? 1 : 2, [&](Range range) {
    for (std::size_t p = range.begin; p < range.end; ++p) parse_rows(cut[p], header, pieces[p]);
  });
  Graph graph;
  for (const Rows& piece : pieces) {
    if (piece.error.at != nullptr) fail_in_text(name, text, piece.error);
    graph.weighted |= piece.weighted;
  }
  graph.pattern = assemble(pieces, header, name, device);
  if (!is_symmetric(graph.pattern)) fail_in(name, "found an edge in one direction only, expected both");
  return graph;
}

std::string write_metis(const CsrPattern& a) {
  if (!is_symmetric(a))
    fail(ErrorCode::usage, "METIS files hold undirected graphs: the pattern is not symmetric (see --undirected)");
  if (num_self_loops(a) != 0) fail(ErrorCode::usage, "METIS files hold no self loops: the pattern has some");
  std::string text = fmt::format("{} {}\n", a.nrows(), a.nvals() / 2);
  for (NodeId i = 0; i < a.nrows(); ++i) {
    const char* separator = "";
    for (const NodeId j : a.row(i)) {
      fmt::format_to(std::back_inserter(text), "{}{}", separator, std::uint64_t{j} + 1);
      separator = " ";
    }
    text += '\n';
  }
  return text;
}

}  // namespace bitgraph
