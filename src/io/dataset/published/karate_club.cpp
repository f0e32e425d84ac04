// SPDX-License-Identifier: Apache-2.0
#include "io/dataset/published/karate_club.hpp"

#include "io/dataset/published/graph_list.hpp"
#include "io/dataset/published/targets.hpp"
#include "io/text/json_cursor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace bitgraph {

namespace {

namespace fs = std::filesystem;

/// One graph, by nodes of its own.
struct ListedGraph {
  bool there = false;
  std::uint64_t nodes = 0;
  std::vector<std::pair<NodeId, NodeId>> edges;
};

/// The object of graphs, each at the place that its id has among the targets.
class GraphLists {
 public:
  GraphLists(const NamedText& file, const Targets& targets, const std::string& target)
      : file_(file),
        targets_(targets),
        target_(target),
        json_(file),
        graphs_(targets.size()),
        most_nodes_(std::min<std::uint64_t>(file.text.size(), std::numeric_limits<NodeId>::max() - 1)) {}

  GraphList read() {
    json_.expect('{', "an object of graphs");
    for (bool first = true; !json_.take('}'); first = false) {
      if (!first) json_.expect(',', "a comma or the object's end");
      const std::uint64_t id = json_.take_key("a graph");
      const auto place = targets_.row_of(id);
      if (!place) json_.refuse(fmt::format("graph {} has no row in {}", id, target_));
      ListedGraph& graph = graphs_[*place];
      if (std::exchange(graph.there, true)) json_.refuse(fmt::format("graph {} stands before", id));
      json_.expect(':', "a colon");
      read_edges(graph);
      if (graph.nodes == 0) json_.refuse(fmt::format("graph {} has no edges", id));
      nodes_ += graph.nodes;
      if (nodes_ > most_nodes_)
        json_.refuse(fmt::format("{} nodes so far, expected at most {} in a file of this size", nodes_, most_nodes_));
    }
    json_.expect_end();
    return joined();
  }

 private:
  void read_edges(ListedGraph& graph) {
    json_.expect('[', "a list of edges");
    for (bool first = true; !json_.take(']'); first = false) {
      if (!first) json_.expect(',', "a comma or the list's end");
      json_.expect('[', "an edge, a list of two nodes");
      const std::uint64_t from = json_.take_whole(most_nodes_, "a node");
      json_.expect(',', "a comma between two nodes");
      const std::uint64_t to = json_.take_whole(most_nodes_, "a node");
      json_.expect(']', "the end of an edge");
      graph.nodes = std::max({graph.nodes, from + 1, to + 1});
      graph.edges.emplace_back(static_cast<NodeId>(from), static_cast<NodeId>(to));
    }
  }

  GraphList joined() const {
    GraphList list;
    for (std::size_t g = 0; g < graphs_.size(); ++g) {
      const ListedGraph& graph = graphs_[g];
      if (!graph.there) fail_in(file_.name, fmt::format("lacks graph {} of {}", targets_.ids[g], target_));
      const NodeId first = list.add_graph(graph.nodes, file_.name);
      for (const auto& [from, to] : graph.edges) {
        list.from.push_back(first + from);
        list.to.push_back(first + to);
      }
    }
    return list;
  }

  const NamedText& file_;
  const Targets& targets_;
  const std::string& target_;
  JsonCursor json_;
  std::vector<ListedGraph> graphs_;
  std::uint64_t most_nodes_;  ///< of all graphs together
  std::uint64_t nodes_ = 0;
};

/// The file of a folder, or the same gzipped.
std::optional<fs::path> file_of(const fs::path& folder, const std::string& name) {
  std::error_code ignored;
  for (const char* packing : {"", ".gz"}) {
    fs::path file = folder / (name + packing);
    if (fs::is_regular_file(file, ignored)) return file;
  }
  return std::nullopt;
}

}  // namespace

std::optional<KarateClubFiles> find_karate_club(const fs::path& path) {
  std::error_code ignored;
  fs::path folder = path;
  if (!fs::is_directory(path, ignored)) {
    constexpr std::array<std::string_view, 4> names{"graphs.json", "graphs.json.gz", "target.csv", "target.csv.gz"};
    if (std::find(names.begin(), names.end(), path.filename().string()) == names.end()) return std::nullopt;
    folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  }
  const auto graphs = file_of(folder, "graphs.json");
  if (!graphs) return std::nullopt;
  const auto target = file_of(folder, "target.csv");
  if (!target) fail_in(folder.string(), "lacks target.csv, which graphs.json needs");
  const fs::path whole = fs::absolute(folder, ignored).lexically_normal();
  return KarateClubFiles{(whole.has_filename() ? whole : whole.parent_path()).filename().string(), *graphs, *target};
}

Dataset read_karate_club(const NamedText& graphs, const NamedText& target, const Device& device) {
  const Targets targets = read_targets(target, "graph");
  Dataset dataset = dataset_of(GraphLists(graphs, targets, target.name).read(), device);
  read_classes(dataset, targets, target, "graph");
  return dataset;
}

Dataset load_karate_club(const KarateClubFiles& files, const Device& device) {
  const UnpackedText graphs(files.graphs, device);
  const UnpackedText target(files.target, device);
  Dataset dataset = read_karate_club(graphs.named, target.named, device);
  dataset.name = files.name;
  return dataset;
}

}  // namespace bitgraph
