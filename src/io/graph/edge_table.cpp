// SPDX-License-Identifier: Apache-2.0
// Edge lists as tables: chosen columns, one delimiter, quoted fields (RFC 4180, within a line), ids that are words. The
// reader of plain lists (edge_list.cpp) is several times as fast and takes what needs none of this.
#include "io/file/file.hpp"
#include "io/graph/entry_weights.hpp"
#include "io/graph/graph_readers.hpp"
#include "io/graph/ids/compact_ids.hpp"
#include "io/graph/ids/word_ids.hpp"
#include "io/text/text_scanner.hpp"

#include "core/threads/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph {

namespace {

/// A field as it stands in the text; of a quoted one what is between the quotes.
struct Field {
  std::string_view text;
  bool quoted = false;
  bool doubled_quotes = false;  ///< it has "" in it, which means "
};

/// The fields of a line, one after another.
class Fields {
 public:
  Fields(std::string_view line, char delimiter) : rest_(line), delimiter_(delimiter) {
    if (rest_.ends_with('\r')) rest_.remove_suffix(1);
    if (delimiter_ == ' ') skip_blanks();
  }

  /// False behind the last one, and where a quote is not closed: see broken().
  bool next(Field& field) {
    if (done_) return false;
    if (delimiter_ == ' ' && rest_.empty()) return false;
    field = {};
    std::string_view start = rest_;
    trim_front(start);
    if (start.starts_with('"')) return quoted(start.substr(1), field);
    const std::size_t end = delimiter_ == ' ' ? rest_.find_first_of(" \t") : rest_.find(delimiter_);
    field.text = rest_.substr(0, end);
    trim(field.text);
    pass(end);
    return true;
  }
  [[nodiscard]] bool broken() const noexcept { return broken_; }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t'; }
  void trim_front(std::string_view& text) const {
    while (!text.empty() && is_blank(text.front()) && text.front() != delimiter_) text.remove_prefix(1);
  }
  void trim(std::string_view& text) const {
    trim_front(text);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  }
  void skip_blanks() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
  }
  void pass(std::size_t end) {
    if (end == std::string_view::npos) {
      done_ = true;
      return;
    }
    rest_.remove_prefix(end + 1);
    if (delimiter_ == ' ') skip_blanks();
  }
  bool quoted(std::string_view text, Field& field) {
    std::size_t at = text.find('"');
    while (at != std::string_view::npos && at + 1 < text.size() && text[at + 1] == '"') {
      field.doubled_quotes = true;
      at = text.find('"', at + 2);
    }
    if (at == std::string_view::npos) return fail_here();
    field.text = text.substr(0, at);
    field.quoted = true;
    rest_ = text.substr(at + 1);
    if (!rest_.empty() && !is_blank(rest_.front()) && rest_.front() != delimiter_) return fail_here();
    trim_front(rest_);
    if (rest_.empty()) {
      done_ = true;
      return true;
    }
    if (delimiter_ == ' ') {
      skip_blanks();
      return true;
    }
    if (rest_.front() != delimiter_) return fail_here();
    rest_.remove_prefix(1);
    return true;
  }
  bool fail_here() {
    broken_ = done_ = true;
    return false;
  }

  std::string_view rest_;
  char delimiter_;
  bool done_ = false, broken_ = false;
};

/// Which columns an edge is in, from 0; no weight column: none.
struct Columns {
  static constexpr std::size_t none = ~std::size_t{0};
  std::size_t source = 0, target = 1, weight = none;
  bool chosen = false;

  [[nodiscard]] std::size_t last() const {
    return std::max({source, target, weight == none ? std::size_t{0} : weight});
  }
};

/// What is known of a list when its lines are parsed.
struct Table {
  std::string_view text;  ///< all of it, for messages
  std::string_view body;  ///< behind comments and the header
  std::string header;
  char delimiter = ' ';
  Columns columns;
  bool words = false;
};

std::string_view line_at(std::string_view text, std::size_t from) {
  return text.substr(from, text.find('\n', from) - from);
}

/// Where the first line begins that is neither empty nor a comment.
std::size_t first_line(std::string_view text) {
  TextCursor cursor(text);
  while (!cursor.done()) {
    const char* const line = cursor.at;
    cursor.skip_blanks();
    if (!cursor.at_line_end() && *cursor.at != '#' && *cursor.at != '%') {
      return static_cast<std::size_t>(line - text.data());
    }
    cursor.skip_line();
  }
  return text.size();
}

char seen_delimiter(std::string_view line) {
  for (const char mark : {'\t', ';', ','}) {
    if (line.find(mark) != std::string_view::npos) return mark;
  }
  return ' ';
}

std::vector<std::string> all_fields(std::string_view line, char delimiter) {
  std::vector<std::string> found;
  Fields fields(line, delimiter);
  for (Field field; fields.next(field);) found.emplace_back(field.text);
  return found;
}

class TableReader {
 public:
  TableReader(std::string_view text, const std::string& name, const ListOptions& options)
      : name_(name), options_(options) {
    table_.text = text;
  }

  Table look() {
    const std::size_t at = first_line(table_.text);
    const std::string_view line = line_at(table_.text, at);
    table_.delimiter = options_.delimiter != 0 ? options_.delimiter : seen_delimiter(line);
    std::size_t begin = at;
    const std::vector<std::string> names = all_fields(line, table_.delimiter);
    const bool named = find_columns(names, line);
    if (has_header(named, names)) {
      table_.header = printable(line.substr(0, line.find('\r')), 160);
      begin = std::min(table_.text.size(), at + line.size() + 1);
    }
    table_.body = table_.text.substr(begin);
    table_.words = are_words();
    return std::move(table_);
  }

 private:
  /// True where a column has a name.
  bool find_columns(const std::vector<std::string>& names, std::string_view line) {
    const auto& wanted = options_.columns;
    if (wanted.empty()) return false;
    if (wanted.size() != 2 && wanted.size() != 3)
      fail(ErrorCode::usage,
           fmt::format("{} columns are named, expected source, target and perhaps weight", wanted.size()));
    bool named = false;
    const auto place = [&](const std::string& column) {
      std::size_t number = 0;
      const auto [stop, error] = std::from_chars(column.data(), column.data() + column.size(), number);
      if (error == std::errc() && stop == column.data() + column.size() && number != 0) return number - 1;
      named = true;
      const auto found = std::find(names.begin(), names.end(), column);
      if (found == names.end()) {
        fail_on_line(name_, line_of(table_.text, line.data()),
                     fmt::format("no column '{}' in the header '{}'", column, printable(line, 80)));
      }
      return static_cast<std::size_t>(found - names.begin());
    };
    Columns& columns = table_.columns;
    columns = {place(wanted[0]), place(wanted[1]), wanted.size() == 3 ? place(wanted[2]) : Columns::none, true};
    if (columns.source == columns.target || columns.weight == columns.source || columns.weight == columns.target)
      fail(ErrorCode::usage, "one column is named twice");
    return named;
  }

  [[nodiscard]] bool has_header(bool named, const std::vector<std::string>& names) const {
    if (named || options_.header == ListHeader::present) return true;
    if (options_.header == ListHeader::absent || names.empty()) return false;
    const std::string& first = names[std::min(table_.columns.source, names.size() - 1)];
    // Numbers and words alike may stand below names; a list with blanks has no header unless the caller says so.
    return table_.delimiter != ' ' && !is_number(first);
  }

  [[nodiscard]] bool are_words() const {
    if (options_.ids != ListIds::automatic) return options_.ids == ListIds::words;
    Fields fields(line_at(table_.body, first_line(table_.body)), table_.delimiter);
    Field field;
    for (std::size_t column = 0; fields.next(field); ++column) {
      const bool of_an_id = column == table_.columns.source || column == table_.columns.target;
      if (of_an_id && (field.quoted || (!field.text.empty() && !is_number(field.text)))) return true;
    }
    return false;
  }

  const std::string& name_;
  const ListOptions& options_;
  Table table_;
};

/// The edges of one piece of the body.
struct Piece {
  std::vector<std::uint64_t> first, second;     ///< ids that are numbers, as they stand
  std::vector<NodeId> first_word, second_word;  ///< else numbers of the piece's words
  std::vector<float> weight;
  WordTable words;
  bool weighted = false;
  TextError error;

  [[nodiscard]] std::size_t size() const noexcept { return first.size() + first_word.size(); }
};

class PieceParser {
 public:
  PieceParser(const Table& table, bool keep_weights, Piece& out)
      : table_(table), keep_weights_(keep_weights), out_(out) {}

  void parse(std::string_view text) {
    // As many edges as lines of the first one's length would be.
    const std::size_t usual = line_at(text, 0).size() + 1;
    for (auto* ids : {&out_.first, &out_.second}) ids->reserve(table_.words ? 0 : text.size() / usual);
    for (auto* ids : {&out_.first_word, &out_.second_word}) ids->reserve(table_.words ? text.size() / usual : 0);
    while (!text.empty()) {
      const std::string_view line = line_at(text, 0);
      if (!is_empty(line) && !parse_line(line)) return;
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      if (coming_.size() >= batch) number_some();
    }
    number_some();
    number_some();
  }

 private:
  /// Of numbers, comments may stand anywhere; of words, in front alone: an id may begin so.
  [[nodiscard]] bool is_empty(std::string_view line) const {
    const std::size_t at = line.find_first_not_of(" \t\r");
    return at == std::string_view::npos || (!table_.words && (line[at] == '#' || line[at] == '%'));
  }

  bool refuse(std::string_view line, const char* expected) {
    out_.error = {line.data(), expected};
    return false;
  }

  /// A line of two plain fields, which most are: without quotes, a third column or blanks around.
  bool take_plain_pair(std::string_view line, Field& source, Field& target) const {
    if (table_.columns.chosen || table_.delimiter == ' ') return false;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t middle = line.find(table_.delimiter);
    if (middle == std::string_view::npos) return false;
    source.text = line.substr(0, middle);
    target.text = line.substr(middle + 1);
    const auto plain = [](std::string_view text) {
      return !text.empty() && text.front() > ' ' && text.front() != '"' && text.back() > ' ';
    };
    return plain(source.text) && plain(target.text) && target.text.find(table_.delimiter) == std::string_view::npos;
  }

  bool parse_line(std::string_view line) {
    const Columns& columns = table_.columns;
    if (Field source, target; take_plain_pair(line, source, target)) {
      if (keep_weights_) out_.weight.push_back(1);
      return take_ids(source, target, line);
    }
    Field source, target, weight, field;
    Fields fields(line, table_.delimiter);
    std::size_t count = 0;
    const std::size_t enough = columns.chosen ? columns.last() + 1 : 4;
    for (; count < enough && fields.next(field); ++count) {
      if (count == columns.source) source = field;
      if (count == columns.target) target = field;
      if (count == (columns.chosen ? columns.weight : 2)) weight = field;
    }
    if (fields.broken()) return refuse(line, "a closing quote, and a delimiter behind it");
    if (count <= (columns.chosen ? columns.last() : 1)) return refuse(line, "all columns of an edge");
    if (!columns.chosen && count > 3) return refuse(line, "two ids and perhaps a weight; --columns chooses among more");
    if (!take_ids(source, target, line)) return false;
    float value = 1;
    const bool has_weight = columns.chosen ? columns.weight != Columns::none : count == 3 && !weight.text.empty();
    if (has_weight && !weight_of(weight, value)) return refuse(line, "a number as weight");
    out_.weighted |= value != 1;
    if (keep_weights_) out_.weight.push_back(value);
    return true;
  }

  bool take_ids(const Field& source, const Field& target, std::string_view line) {
    if (source.text.empty() || target.text.empty()) return refuse(line, "an id that is not empty");
    if (!table_.words) return take_number(source, line, out_.first) && take_number(target, line, out_.second);
    take_word(source, out_.first_word);
    take_word(target, out_.second_word);
    return true;
  }

  /// Words are numbered some at a time: while their places in the table are fetched, others are read.
  void take_word(const Field& field, std::vector<NodeId>& ids) {
    if (field.doubled_quotes) {
      ids.push_back(out_.words.number(unquoted(field.text)));
      return;
    }
    coming_.push_back({{field.text, WordTable::hash_of(field.text)}, &ids, ids.size()});
    out_.words.fetch_slot(coming_.back().query);
    ids.push_back(0);
  }

  bool take_number(const Field& field, std::string_view line, std::vector<std::uint64_t>& ids) {
    std::uint64_t id = 0;
    const char* const end = field.text.data() + field.text.size();
    const auto [stop, error] = std::from_chars(field.text.data(), end, id);
    if (error != std::errc() || stop != end)
      return refuse(line, "two ids, whole numbers from 0 to 2^64 - 1 (--ids words takes others)");
    ids.push_back(id);
    return true;
  }

  void number_some() {
    for (const Pending& word : coming_) out_.words.fetch_record(word.query);
    for (const Pending& word : due_) (*word.ids)[word.place] = out_.words.number(word.query.text, word.query.hash);
    due_.clear();
    std::swap(due_, coming_);
  }

  static std::string unquoted(std::string_view text) {
    std::string word;
    for (std::size_t n = 0; n < text.size(); ++n) {
      word += text[n];
      if (text[n] == '"') ++n;
    }
    return word;
  }

  static bool weight_of(const Field& field, float& weight) {
    TextCursor cursor(field.text);
    double value = 0;
    if (!cursor.take_number(value) || !cursor.done()) return false;
    weight = static_cast<float>(value);
    return true;
  }

  static constexpr std::size_t batch = 32;
  struct Pending {
    WordQuery query;
    std::vector<NodeId>* ids;  ///< where its number goes
    std::size_t place;
  };

  const Table& table_;
  bool keep_weights_;
  Piece& out_;
  std::vector<Pending> coming_, due_;  ///< words whose slot, and whose record, are being fetched
};

/// The edges of all pieces, as numbers of nodes.
struct TableEdges {
  Buffer<NodeId> rows, cols;
  Buffer<float> weights;
  bool weighted = false;
};

/// fn(piece, e, place): edge e of a piece goes to `place`.
template <class Fn>
void for_each_edge(const std::vector<Piece>& pieces, const Device& device, const Fn& fn) {
  std::vector<std::size_t> start(pieces.size() + 1, 0);
  for (std::size_t p = 0; p < pieces.size(); ++p) start[p + 1] = start[p] + pieces[p].size();
  parallel_chunks(device, pieces.size(), pieces.size() > 1 ? 1 : 2, [&](Range range) {
    for (std::size_t p = range.begin; p < range.end; ++p) {
      for (std::size_t e = 0; e < pieces[p].size(); ++e) fn(p, e, start[p] + e);
    }
  });
}

NodeIds number_nodes(std::vector<Piece>& pieces, const Table& table, TableEdges& edges, const std::string& name,
                     const Device& device) {
  if (table.words) {
    std::vector<WordTable> tables;
    tables.reserve(pieces.size());
    for (Piece& piece : pieces) tables.push_back(std::move(piece.words));
    WordIds words = unite_words(tables, device);
    for_each_edge(pieces, device, [&](std::size_t p, std::size_t e, std::size_t place) {
      edges.rows[place] = words.of_piece[p][pieces[p].first_word[e]];
      edges.cols[place] = words.of_piece[p][pieces[p].second_word[e]];
    });
    return std::move(words.ids);
  }
  Buffer<std::uint64_t> first(edges.rows.size(), device);
  Buffer<std::uint64_t> second(edges.rows.size(), device);
  for_each_edge(pieces, device, [&](std::size_t p, std::size_t e, std::size_t place) {
    first[place] = pieces[p].first[e];
    second[place] = pieces[p].second[e];
  });
  const std::span<const std::uint64_t> from = std::as_const(first).span();
  const std::span<const std::uint64_t> to = std::as_const(second).span();
  CompactIds nodes = compact_ids(from, to, device);
  if (nodes.num_nodes >= std::numeric_limits<NodeId>::max()) fail_in(name, "found 2^32 - 1 or more different ids");
  renumber(nodes, from, edges.rows.data(), device);
  renumber(nodes, to, edges.cols.data(), device);
  if (!nodes.ids.empty()) return NodeIds::of_numbers(std::move(nodes.ids));
  return NodeIds::counted_from(0);
}

NodeId num_nodes(const TableEdges& edges, const NodeIds& ids) {
  if (ids.size() != 0) return static_cast<NodeId>(ids.size());
  NodeId n = 0;
  for (const auto* side : {&edges.rows, &edges.cols}) {
    for (const NodeId node : *side) n = std::max(n, node + 1);
  }
  return n;
}

}  // namespace

Graph read_edge_table(std::string_view text, const std::string& name, const LoadOptions& options,
                      const Device& device) {
  const Table table = TableReader(text, name, options.list).look();
  const auto cut = cut_at_lines(table.body, static_cast<std::size_t>(device.threads()));
  std::vector<Piece> pieces(cut.size());
  parallel_chunks(device, cut.size(), cut.size() > 1 ? 1 : 2, [&](Range range) {
    device.throw_if_stopped();
    for (std::size_t p = range.begin; p < range.end; ++p)
      PieceParser(table, options.keep_weights, pieces[p]).parse(cut[p]);
  });
  std::size_t total = 0;
  TableEdges edges;
  for (const Piece& piece : pieces) {
    if (piece.error.at != nullptr) fail_in_text(name, text, piece.error);
    total += piece.size();
    edges.weighted |= piece.weighted;
  }
  edges.rows = Buffer<NodeId>(total, device);
  edges.cols = Buffer<NodeId>(total, device);
  Graph graph;
  graph.header = table.header;
  graph.ids = number_nodes(pieces, table, edges, name, device);
  graph.renumbered = !graph.ids.are_counted();
  graph.weighted = edges.weighted;
  const NodeId n = num_nodes(edges, graph.ids);
  const std::span<const NodeId> rows = std::as_const(edges.rows).span();
  const std::span<const NodeId> cols = std::as_const(edges.cols).span();
  graph.pattern = csr_from_edges(n, n, rows, cols, {.symmetrize = options.undirected}, device);
  if (options.keep_weights && graph.weighted) {
    edges.weights = Buffer<float>(total, device);
    for_each_edge(pieces, device,
                  [&](std::size_t p, std::size_t e, std::size_t place) { edges.weights[place] = pieces[p].weight[e]; });
    graph.weights = weights_of_entries(graph.pattern, rows, cols, std::as_const(edges.weights).span(),
                                       options.undirected ? Mirror::same : Mirror::none, device);
  }
  return graph;
}

}  // namespace bitgraph
