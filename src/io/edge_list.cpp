// SPDX-License-Identifier: Apache-2.0
// SNAP-style edge lists: two ids a line, blanks, tabs, commas or semicolons between them, '#' or '%' comments, perhaps
// a header line of names, perhaps a weight. Ids may have gaps and be as large as 2^64 - 1.
#include "io/graph_readers.hpp"
#include "io/text_scanner.hpp"

#include <fmt/format.h>

namespace bitgraph {

namespace {

void parse_pairs(std::string_view piece, ParsedPairs<std::uint64_t>& out) {
  TextCursor cursor{piece.data(), piece.data() + piece.size()};
  out.first.reserve(piece.size() / 10);
  out.second.reserve(piece.size() / 10);
  while (!cursor.done()) {
    const char* line = cursor.at;
    cursor.skip_blanks();
    if (cursor.at_line_end() || *cursor.at == '#' || *cursor.at == '%') {
      cursor.skip_line();
      continue;
    }
    std::uint64_t i = 0;
    std::uint64_t j = 0;
    if (!(cursor.take_integer(i) && (cursor.skip_separators(), cursor.take_integer(j)))) {
      out.error = {line, "two ids, whole numbers from 0 to 2^64 - 1"};
      return;
    }
    cursor.skip_separators();
    if (!cursor.at_line_end()) {
      double weight = 0;
      if (!cursor.take_number(weight)) {
        out.error = {line, "two ids and perhaps a weight"};
        return;
      }
      out.weighted |= weight != 1;
      cursor.skip_separators();
    }
    if (!cursor.at_line_end()) {
      out.error = {line, "two ids, perhaps a weight, and nothing more"};
      return;
    }
    if (!cursor.done()) ++cursor.at;
    out.first.push_back(i);
    out.second.push_back(j);
  }
}

/// A first line such as `id_1,id_2`, or `source target`: letters where an id should be.
std::string_view without_header(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  TextCursor cursor{text.data(), text.data() + text.size()};
  cursor.skip_blanks();
  const bool letter =
      !cursor.done() && ((*cursor.at >= 'a' && *cursor.at <= 'z') || (*cursor.at >= 'A' && *cursor.at <= 'Z') ||
                         *cursor.at == '"' || *cursor.at == '_');
  if (letter) cursor.skip_line();
  return {cursor.at, static_cast<std::size_t>(cursor.end - cursor.at)};
}

/// The distinct ids in increasing order.
std::vector<std::uint64_t> distinct_ids(const JoinedPairs<std::uint64_t>& edges) {
  std::uint64_t largest = 0;
  for (const auto id : edges.first.span()) largest = std::max(largest, id);
  for (const auto id : edges.second.span()) largest = std::max(largest, id);
  std::vector<std::uint64_t> ids;
  if (edges.first.empty()) return ids;
  if (largest < 64 * edges.first.size() + 1024) {  // few enough to mark
    std::vector<std::uint64_t> seen(largest / 64 + 1, 0);
    for (const auto id : edges.first.span()) seen[id / 64] |= std::uint64_t{1} << (id % 64);
    for (const auto id : edges.second.span()) seen[id / 64] |= std::uint64_t{1} << (id % 64);
    for (std::size_t w = 0; w < seen.size(); ++w) {
      for (std::uint64_t bits = seen[w]; bits != 0; bits &= bits - 1) {
        ids.push_back(w * 64 + static_cast<std::uint64_t>(std::countr_zero(bits)));
      }
    }
    return ids;
  }
  ids.assign(edges.first.begin(), edges.first.end());
  ids.insert(ids.end(), edges.second.begin(), edges.second.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

/// The position of every id among the distinct ones.
Buffer<NodeId> positions(const Buffer<std::uint64_t>& values, const std::vector<std::uint64_t>& ids,
                         const Device& device) {
  Buffer<NodeId> to(values.size(), device);
  const bool contiguous = ids.empty() || ids.back() == ids.size() - 1;
  std::vector<NodeId> table;
  if (!contiguous && ids.back() < 64 * values.size() + 1024) {
    table.resize(ids.back() + 1);
    for (std::size_t n = 0; n < ids.size(); ++n) table[ids[n]] = static_cast<NodeId>(n);
  }
  parallel_for(device, values.size(), std::size_t{1} << 14, [&](std::size_t e) {
    if (contiguous) {
      to[e] = static_cast<NodeId>(values[e]);
    } else if (!table.empty()) {
      to[e] = table[values[e]];
    } else {
      to[e] = static_cast<NodeId>(std::lower_bound(ids.begin(), ids.end(), values[e]) - ids.begin());
    }
  });
  return to;
}

}  // namespace

Graph read_edge_list(std::string_view text, const std::string& name, const LoadOptions& options, const Device& device) {
  auto pieces = parse_pieces<std::uint64_t>(name, text, without_header(text), device,
                                            [&](std::string_view piece, auto& out) { parse_pairs(piece, out); });
  auto edges = join(pieces, device);
  const std::vector<std::uint64_t> ids = distinct_ids(edges);
  if (ids.size() >= std::numeric_limits<NodeId>::max()) fail_in(name, "found 2^32 - 1 or more different ids");
  Graph graph;
  graph.weighted = edges.weighted;
  const auto n = static_cast<NodeId>(ids.size());
  const Buffer<NodeId> rows = positions(edges.first, ids, device);
  const Buffer<NodeId> cols = positions(edges.second, ids, device);
  edges = {};
  graph.pattern = csr_from_edges(n, n, rows.span(), cols.span(), {.symmetrize = options.undirected}, device);
  if (!ids.empty() && ids.back() != ids.size() - 1) graph.ids = Buffer<std::uint64_t>::copy_of(ids);
  return graph;
}

std::string write_edge_list(const CsrPattern& a) {
  std::string text = fmt::format("# {} nodes, {} entries\n", a.nrows(), a.nvals());
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (const NodeId j : a.row(i)) fmt::format_to(std::back_inserter(text), "{} {}\n", i, j);
  }
  return text;
}

}  // namespace bitgraph
