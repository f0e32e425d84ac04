// SPDX-License-Identifier: Apache-2.0
#include "io/musae.hpp"

#include "io/csv.hpp"
#include "io/dataset.hpp"
#include "io/file.hpp"
#include "io/graph_readers.hpp"
#include "io/gzip.hpp"
#include "io/text_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

namespace bitgraph {

namespace {

namespace fs = std::filesystem;

/// A whole number and nothing else.
std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The table of targets, by rising id.
struct Targets {
  std::vector<std::uint64_t> ids;
  std::vector<std::string> values;

  [[nodiscard]] NodeId size() const { return static_cast<NodeId>(ids.size()); }
  [[nodiscard]] std::optional<NodeId> node_of(std::uint64_t id) const {
    const auto found = std::lower_bound(ids.begin(), ids.end(), id);
    if (found == ids.end() || *found != id) return std::nullopt;
    return static_cast<NodeId>(found - ids.begin());
  }
};

Targets read_targets(const NamedText& file) {
  CsvReader reader(file.text, file.name);
  std::vector<std::string> fields;
  if (!reader.next(fields)) fail_in(file.name, "an empty file, expected a header");
  const std::size_t columns = fields.size();
  if (columns < 2) fail_on_line(file.name, reader.line(), "found one column, expected a node and a class at least");
  struct Row {
    std::uint64_t id;
    std::size_t line;
    std::string value;
  };
  std::vector<Row> rows;
  while (reader.next(fields)) {
    if (fields.size() != columns) {
      fail_on_line(file.name, reader.line(),
                   fmt::format("found {} fields, expected {} as in the header", fields.size(), columns));
    }
    const auto id = whole_number(fields.front());
    if (!id) fail_at_line(file.name, reader.line(), fields.front(), "a node, a whole number from 0 to 2^64 - 1");
    rows.push_back({*id, reader.line(), std::move(fields.back())});
  }
  if (rows.empty()) fail_in(file.name, "holds no node");
  if (rows.size() >= std::numeric_limits<NodeId>::max()) fail_in(file.name, "2^32 - 1 or more nodes");
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.id < b.id; });
  Targets targets;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    if (n > 0 && rows[n].id == rows[n - 1].id) {
      fail_on_line(file.name, rows[n].line,
                   fmt::format("node {} stands on line {} before", rows[n].id, rows[n - 1].line));
    }
    targets.ids.push_back(rows[n].id);
    targets.values.push_back(std::move(rows[n].value));
  }
  return targets;
}

/// Each value's place among the different ones, in order.
template <class T>
void number_values(Dataset& dataset, const std::vector<std::optional<T>>& values, const std::string& name) {
  std::vector<T> different;
  for (const auto& value : values) {
    if (value) different.push_back(*value);
  }
  std::sort(different.begin(), different.end());
  different.erase(std::unique(different.begin(), different.end()), different.end());
  if (different.empty()) fail_in(name, "no node has a class");
  if (different.size() > most_classes)
    fail_in(name, fmt::format("{} different classes, expected at most {}", different.size(), most_classes));
  for (const auto& value : values) {
    dataset.labels.push_back(value
                                 ? static_cast<std::int32_t>(
                                       std::lower_bound(different.begin(), different.end(), *value) - different.begin())
                                 : unlabelled);
  }
  dataset.num_classes = static_cast<std::int32_t>(different.size());
}

/// Five classes of nearly equal size; equal numbers are of one class.
std::vector<std::optional<std::uint64_t>> cut_in_five(const std::vector<std::optional<std::uint64_t>>& numbers) {
  constexpr std::size_t bins = 5;
  std::vector<std::uint64_t> sorted;
  for (const auto& number : numbers) {
    if (number) sorted.push_back(*number);
  }
  std::sort(sorted.begin(), sorted.end());
  std::array<std::uint64_t, bins - 1> limits{};
  for (std::size_t k = 1; k < bins; ++k) limits[k - 1] = sorted[sorted.size() * k / bins];
  std::vector<std::optional<std::uint64_t>> cut;
  cut.reserve(numbers.size());
  for (const auto& number : numbers) {
    cut.push_back(
        number ? std::optional<std::uint64_t>(std::upper_bound(limits.begin(), limits.end(), *number) - limits.begin())
               : std::nullopt);
  }
  return cut;
}

void read_classes(Dataset& dataset, const Targets& targets, const std::string& name) {
  constexpr std::size_t most_numbers = 64;
  std::vector<std::optional<std::string>> words;
  std::vector<std::optional<std::uint64_t>> numbers;
  bool all_numbers = true;
  std::vector<std::uint64_t> different;
  for (const std::string& value : targets.values) {
    words.push_back(value.empty() ? std::nullopt : std::optional(value));
    numbers.push_back(value.empty() ? std::nullopt : whole_number(value));
    all_numbers &= value.empty() || numbers.back().has_value();
    if (numbers.back()) different.push_back(*numbers.back());
  }
  if (!all_numbers) return number_values(dataset, words, name);
  std::sort(different.begin(), different.end());
  different.erase(std::unique(different.begin(), different.end()), different.end());
  number_values(dataset, different.size() > most_numbers ? cut_in_five(numbers) : numbers, name);
}

/// Throws bad_input with the line of the first edge that names node `id`.
[[noreturn]] void refuse_unknown_node(const NamedText& file, std::uint64_t id, const std::string& target) {
  std::size_t line = 1;
  for (TextCursor cursor(file.text); !cursor.done(); cursor.skip_line(), ++line) {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    cursor.skip_blanks();
    if (!cursor.take_integer(first) || !cursor.skip_separator() || !cursor.take_integer(second)) continue;
    if (first == id || second == id) break;
  }
  fail_on_line(file.name, line, fmt::format("node {} has no row in {}", id, target));
}

CsrPattern read_edges(const NamedText& file, const Targets& targets, const std::string& target, const Device& device) {
  const Graph graph =
      read_edge_list(file.text, file.name, {.ignore_weights = true, .list = {.ids = ListIds::numbers}}, device);
  std::vector<NodeId> node(graph.pattern.nrows());
  for (NodeId i = 0; i < node.size(); ++i) {
    const std::uint64_t id = graph.ids.number(i);
    const auto found = targets.node_of(id);
    if (!found) refuse_unknown_node(file, id, target);
    node[i] = *found;
  }
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  for (NodeId i = 0; i < node.size(); ++i) {
    for (const NodeId j : graph.pattern.row(i)) {
      rows.push_back(node[i]);
      cols.push_back(node[j]);
    }
  }
  return csr_from_edges(targets.size(), targets.size(), rows, cols, {.symmetrize = true, .drop_loops = true}, device);
}

/// {"node": [feature, ...], ...}: the little of JSON that the features are.
class FeatureLists {
 public:
  FeatureLists(const NamedText& file, const Targets& targets, const std::string& target)
      : file_(file), targets_(targets), target_(target), cursor_(without_byte_order_mark(file.text)) {}

  /// The features, one row a node.
  SparseFeatures read(const Device& device) {
    expect('{', "an object of lists");
    std::vector<bool> seen(targets_.size(), false);
    for (bool first = true; !take('}'); first = false) {
      if (!first) expect(',', "a comma or the object's end");
      const NodeId node = read_key();
      if (seen[node]) refuse(fmt::format("node {} stands before", targets_.ids[node]));
      seen[node] = true;
      expect(':', "a colon");
      read_list(node);
    }
    skip_space();
    if (!cursor_.done()) refuse_found("the end of the file");
    auto pattern = csr_from_edges(targets_.size(), width_, rows_, cols_, {}, device);
    Buffer<float> values(pattern.nvals(), 1.0F, device);
    return {std::move(pattern), std::move(values)};
  }

 private:
  void skip_space() {
    while (!cursor_.done() && (*cursor_.at == ' ' || *cursor_.at == '\t' || *cursor_.at == '\r' || *cursor_.at == '\n'))
      ++cursor_.at;
  }
  bool take(char mark) {
    skip_space();
    if (cursor_.done() || *cursor_.at != mark) return false;
    ++cursor_.at;
    return true;
  }
  void expect(char mark, const char* what) {
    if (!take(mark)) refuse_found(what);
  }
  [[noreturn]] void refuse(const std::string& what) const {
    fail_at_byte(file_.name, static_cast<std::uint64_t>(cursor_.at - file_.text.data()), what);
  }
  [[noreturn]] void refuse_found(const char* expected) const {
    constexpr std::size_t longest = 20;
    if (cursor_.done()) refuse(fmt::format("found the end of the file, expected {}", expected));
    refuse(fmt::format("found '{}', expected {}", printable(cursor_.rest(), longest), expected));
  }

  NodeId read_key() {
    std::uint64_t id = 0;
    expect('"', "a node in quotes");
    if (!cursor_.take_integer(id) || cursor_.done() || *cursor_.at != '"')
      refuse_found("a node, a whole number in quotes");
    ++cursor_.at;
    const auto node = targets_.node_of(id);
    if (!node) refuse(fmt::format("node {} has no row in {}", id, target_));
    return *node;
  }

  void read_list(NodeId node) {
    expect('[', "a list");
    for (bool first = true; !take(']'); first = false) {
      if (!first) expect(',', "a comma or the list's end");
      skip_space();
      std::uint64_t feature = 0;
      const TextCursor before = cursor_;
      // A feature costs memory in every layer that is as wide as all of them: a small file cannot mean a large one.
      const std::uint64_t most = std::min<std::uint64_t>(64 * file_.text.size() + (std::uint64_t{1} << 20),
                                                         std::numeric_limits<NodeId>::max() - 1);
      if (!cursor_.take_integer(feature) ||
          (!cursor_.done() && (*cursor_.at == '.' || *cursor_.at == 'e' || *cursor_.at == 'E')) || feature >= most) {
        cursor_ = before;
        refuse_found(feature >= most ? "a feature that a file of this size can mean" : "a feature, a whole number");
      }
      rows_.push_back(node);
      cols_.push_back(static_cast<NodeId>(feature));
      width_ = std::max(width_, static_cast<NodeId>(feature + 1));
    }
  }

  const NamedText& file_;
  const Targets& targets_;
  const std::string& target_;
  TextCursor cursor_;
  std::vector<NodeId> rows_, cols_;
  NodeId width_ = 0;
};

constexpr std::array<std::string_view, 2> packings{"", ".gz"};

/// The part of a file name before `ending`, which may be gzipped.
std::optional<std::string> stem_before(const fs::path& path, std::string_view ending) {
  const std::string name = path.filename().string();
  for (const std::string_view packing : packings) {
    const std::string whole = std::string(ending) + std::string(packing);
    if (name.size() > whole.size() && name.ends_with(whole)) return name.substr(0, name.size() - whole.size());
  }
  return std::nullopt;
}

fs::path require_file(const fs::path& folder, const std::string& name, std::initializer_list<const char*> endings) {
  std::error_code ignored;
  for (const char* ending : endings) {
    for (const std::string_view packing : packings) {
      fs::path file = folder / (name + ending + std::string(packing));
      if (fs::is_regular_file(file, ignored)) return file;
    }
  }
  fail_in(folder.string(), fmt::format("lacks {}{}, which {}_edges.csv needs", name, *endings.begin(), name));
}

/// The one set of a folder.
std::string name_of_set(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (const auto stem = stem_before(entry.path(), "_edges.csv")) names.push_back(*stem);
  }
  if (names.empty())
    fail_in(folder.string(), "a folder without a data set: NAME_edges.csv, NAME.json, NAME_target.csv");
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.size() > 1) {
    fail_in(folder.string(),
            fmt::format("holds several data sets ({}): name one of its files", fmt::join(names, ", ")));
  }
  return names.front();
}

}  // namespace

std::optional<MusaeFiles> find_musae(const fs::path& path) {
  std::error_code ignored;
  std::optional<std::string> name;
  fs::path folder = path;
  if (fs::is_directory(path, ignored)) {
    name = name_of_set(path);
  } else {
    folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    for (const char* ending : {"_edges.csv", "_target.csv", "_features.json", ".json"}) {
      if (!name) name = stem_before(path, ending);
    }
    if (!name) return std::nullopt;
  }
  return MusaeFiles{*name, require_file(folder, *name, {"_edges.csv"}),
                    require_file(folder, *name, {".json", "_features.json"}),
                    require_file(folder, *name, {"_target.csv"})};
}

Dataset read_musae(const NamedText& edges, const NamedText& features, const NamedText& target, const Device& device) {
  const Targets targets = read_targets(target);
  Dataset dataset;
  read_classes(dataset, targets, target.name);
  dataset.graph = read_edges(edges, targets, target.name, device);
  dataset.features = FeatureLists(features, targets, target.name).read(device);
  return dataset;
}

Dataset load_musae(const MusaeFiles& files, const Device& device) {
  struct Text {
    std::shared_ptr<MappedFile> file;
    Buffer<std::byte> plain;
    NamedText named;

    Text(const fs::path& path, const Device& on) : file(MappedFile::open(path)) {
      named = {file->text(), path.string()};
      if (!is_gzip(file->bytes())) return;
      plain = gunzip(file->bytes(), named.name, on);
      named.text = {reinterpret_cast<const char*>(plain.data()), plain.size()};
    }
  };
  const Text edges(files.edges, device);
  const Text features(files.features, device);
  const Text target(files.target, device);
  Dataset dataset = read_musae(edges.named, features.named, target.named, device);
  dataset.name = files.name;
  return dataset;
}

}  // namespace bitgraph
