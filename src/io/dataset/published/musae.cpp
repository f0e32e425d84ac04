// SPDX-License-Identifier: Apache-2.0
#include "io/dataset/published/musae.hpp"

#include "io/dataset/published/targets.hpp"
#include "io/file/file.hpp"
#include "io/graph/graph_readers.hpp"
#include "io/text/json_cursor.hpp"
#include "io/text/text_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace bitgraph {

namespace {

namespace fs = std::filesystem;

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
    const auto found = targets.row_of(id);
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

/// {"node": [feature, ...], ...}.
class FeatureLists {
 public:
  FeatureLists(const NamedText& file, const Targets& targets, const std::string& target)
      : file_(file), targets_(targets), target_(target), json_(file) {}

  /// The features, one row a node.
  SparseFeatures read(const Device& device) {
    json_.expect('{', "an object of lists");
    std::vector<bool> seen(targets_.size(), false);
    for (bool first = true; !json_.take('}'); first = false) {
      if (!first) json_.expect(',', "a comma or the object's end");
      const std::uint64_t id = json_.take_key("a node");
      const auto node = targets_.row_of(id);
      if (!node) json_.refuse(fmt::format("node {} has no row in {}", id, target_));
      if (seen[*node]) json_.refuse(fmt::format("node {} stands before", id));
      seen[*node] = true;
      json_.expect(':', "a colon");
      read_list(*node);
    }
    json_.expect_end();
    auto pattern = csr_from_edges(targets_.size(), width_, rows_, cols_, {}, device);
    Buffer<float> values(pattern.nvals(), 1.0F, device);
    return {std::move(pattern), std::move(values)};
  }

 private:
  void read_list(NodeId node) {
    // A feature costs memory in every layer that is as wide as all of them: a small file cannot mean a large one.
    const std::uint64_t most = std::min<std::uint64_t>(64 * file_.text.size() + (std::uint64_t{1} << 20),
                                                       std::numeric_limits<NodeId>::max() - 1);
    json_.expect('[', "a list");
    for (bool first = true; !json_.take(']'); first = false) {
      if (!first) json_.expect(',', "a comma or the list's end");
      const std::uint64_t feature = json_.take_whole(most, "a feature");
      rows_.push_back(node);
      cols_.push_back(static_cast<NodeId>(feature));
      width_ = std::max(width_, static_cast<NodeId>(feature + 1));
    }
  }

  const NamedText& file_;
  const Targets& targets_;
  const std::string& target_;
  JsonCursor json_;
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
  const Targets targets = read_targets(target, "node");
  Dataset dataset;
  read_classes(dataset, targets, target, "node");
  dataset.graph = read_edges(edges, targets, target.name, device);
  dataset.features = FeatureLists(features, targets, target.name).read(device);
  return dataset;
}

Dataset load_musae(const MusaeFiles& files, const Device& device) {
  const UnpackedText edges(files.edges, device);
  const UnpackedText features(files.features, device);
  const UnpackedText target(files.target, device);
  Dataset dataset = read_musae(edges.named, features.named, target.named, device);
  dataset.name = files.name;
  return dataset;
}

}  // namespace bitgraph
