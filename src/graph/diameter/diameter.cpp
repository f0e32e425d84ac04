// SPDX-License-Identifier: Apache-2.0
// The diameter, by few breadth-first searches (Takes and Kosters, "Determining the diameter of small world networks",
// CIKM 2011).
//
// The idea. Let a search from v find the eccentricity e of v, and let w be a node at the distance d from v. The
// eccentricity of w is then at least max(d, e - d) and at most e + d. The search keeps a lower and an upper bound for
// each node. A node is closed when its upper bound does not exceed the longest distance found. If the caller wants
// eccentricities, a node is closed when its two bounds are equal. On small-world graphs few searches close all nodes.
//
// The next source is in turn an open node with the largest upper bound and one with the smallest lower bound. The
// first can prove a longer distance, the second lowers many upper bounds.
//
// Encoding. The graph is symmetric: a directed graph is symmetrized and packed again. The bounds are two arrays of
// 32-bit numbers. The connected components are handled one after another, the largest first. A component is skipped if
// it has too few nodes to contain a longer distance.
//
// CUDA (cuda.cu). The searches run on the device, on symmetric pattern CSR. One pass over the nodes after each search
// tightens the bounds and finds the two candidates for the next source. The host chooses the source.
#include <bitgraph/graph/diameter.hpp>

#include <bitgraph/graph/bfs.hpp>
#include <bitgraph/graph/components.hpp>

#include "graph/diameter/diameter.hpp"
#include "graph/packed_graph/pattern.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

namespace bitgraph {

namespace {

/// Nodes by component, the largest one first.
struct Parts {
  std::vector<NodeId> nodes;
  std::vector<std::span<NodeId>> parts;

  explicit Parts(const PackedGraph& graph) : nodes(graph.num_nodes()) {
    const Components components = connected_components(graph);
    std::iota(nodes.begin(), nodes.end(), NodeId{0});
    std::stable_sort(nodes.begin(), nodes.end(),
                     [&](NodeId i, NodeId j) { return components.label[i] < components.label[j]; });
    for (std::size_t begin = 0; begin < nodes.size();) {
      std::size_t end = begin;
      while (end < nodes.size() && components.label[nodes[end]] == components.label[nodes[begin]]) ++end;
      parts.emplace_back(nodes.data() + begin, end - begin);
      begin = end;
    }
    std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  }
};

class Bounds {
 public:
  Bounds(const PackedGraph& graph, const DiameterOptions& options)
      : options_(options), search_(graph), lower_(graph.num_nodes(), 0), upper_(graph.num_nodes(), 0), parts_(graph) {}

  Diameter run() {
    for (const auto part : parts_.parts) {
      const auto most = static_cast<std::int32_t>(part.size() - 1);
      for (const NodeId node : part) upper_[node] = most;
      if (most <= result_.lower && !options_.eccentricities) continue;
      if (most == 0) continue;
      close(part);
    }
    result_.upper = std::max(result_.lower, rest_);
    if (options_.eccentricities) {
      result_.eccentricity_lower = Buffer<std::int32_t>::copy_of(lower_);
      result_.eccentricity_upper = Buffer<std::int32_t>::copy_of(upper_);
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool out_of_searches() const {
    return options_.max_searches != 0 && result_.searches >= options_.max_searches;
  }

  /// Searches from nodes of a component until its bounds meet, or cannot make a difference.
  void close(std::span<NodeId> part) {
    std::vector<NodeId> open(part.begin(), part.end());
    // The first one is not known to be good; the farthest node from it is.
    NodeId next = open.front();
    for (bool widest = true;; widest = !widest) {
      if (out_of_searches()) {
        for (const NodeId node : open) rest_ = std::max(rest_, upper_[node]);
        return;
      }
      search_from(next, part);
      std::erase_if(open, [&](NodeId node) {
        return options_.eccentricities ? lower_[node] == upper_[node] : upper_[node] <= result_.lower;
      });
      if (open.empty()) return;
      next =
          widest
              ? *std::max_element(open.begin(), open.end(), [&](NodeId a, NodeId b) { return upper_[a] < upper_[b]; })
              : *std::min_element(open.begin(), open.end(), [&](NodeId a, NodeId b) { return lower_[a] < lower_[b]; });
    }
  }

  void search_from(NodeId source, std::span<NodeId> part) {
    const BfsResult& found = search_.run({.source = source});
    ++result_.searches;
    const std::int32_t eccentricity = found.num_levels - 1;
    for (const NodeId node : part) {
      const std::int32_t level = found.level[node];
      lower_[node] = std::max({lower_[node], level, eccentricity - level});
      upper_[node] = std::min(upper_[node], eccentricity + level);
      if (level > result_.lower) {
        result_.lower = level;
        result_.from = source;
        result_.to = node;
      }
    }
    lower_[source] = upper_[source] = eccentricity;
  }

  DiameterOptions options_;
  BreadthFirstSearch search_;
  std::vector<std::int32_t> lower_, upper_;
  Parts parts_;
  std::int32_t rest_ = 0;  ///< upper bound of what was not closed
  Diameter result_;
};

/// On the host.
template <class Backend>
Diameter find_diameter(const Backend&, const PackedGraph& graph, const DiameterOptions& options) {
  if (graph.symmetric()) return Bounds(graph, options).run();
  const PackedGraph both = pack_graph(symmetrized(pattern_of(graph)), {.tile_dim = graph.tile_dim()}, graph.device());
  Diameter found = Bounds(both, options).run();
  renumber(graph, found);
  return found;
}

}  // namespace

void renumber(const PackedGraph& graph, Diameter& found) {
  found.from = graph.node_of(found.from);
  found.to = graph.node_of(found.to);
  for (Buffer<std::int32_t>* bounds : {&found.eccentricity_lower, &found.eccentricity_upper}) {
    if (bounds->empty() || graph.new_id().empty()) continue;
    const Buffer<std::int32_t> by_row = bounds->to(Device{});
    Buffer<std::int32_t> by_node(by_row.size());
    for (NodeId row = 0; row < graph.num_nodes(); ++row) by_node[graph.node_of(row)] = by_row[row];
    *bounds = graph.device().is_host() ? std::move(by_node) : by_node.to(graph.device());
  }
}

Diameter diameter(const PackedGraph& graph, const DiameterOptions& options) {
  if (graph.num_nodes() == 0) return {};
  return with_backend(graph.device(), "diameter",
                      [&](const auto& backend) { return find_diameter(backend, graph, options); });
}

}  // namespace bitgraph
