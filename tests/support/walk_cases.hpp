// SPDX-License-Identifier: Apache-2.0
// Graphs that searches are tested on, and the ways to pack them.
#pragma once

#include "support/random_matrices.hpp"

#include <bitgraph/graph/packed_graph.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace bitgraph::test {

struct GraphCase {
  std::string name;
  CsrPattern graph;
};

inline CsrPattern pattern_of(NodeId n, const std::vector<std::pair<NodeId, NodeId>>& edges, bool symmetric) {
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  for (const auto& [i, j] : edges) {
    rows.push_back(i);
    cols.push_back(j);
  }
  return csr_from_edges(n, n, rows, cols, {.symmetrize = symmetric});
}

/// One node with and without a loop, paths, a star, isolated nodes, several components, directed and not, narrow and
/// skewed, sides around those of words and tiles.
inline std::vector<GraphCase> small_graphs() {
  std::vector<GraphCase> cases;
  const auto add = [&](const char* name, CsrPattern graph) { cases.push_back({name, std::move(graph)}); };
  add("one node", pattern_of(1, {}, false));
  add("one node with a loop", pattern_of(1, {{0, 0}}, false));
  add("two nodes, one edge", pattern_of(2, {{1, 0}}, false));
  add("isolated nodes", pattern_of(70, {}, false));
  std::vector<std::pair<NodeId, NodeId>> path;
  std::vector<std::pair<NodeId, NodeId>> star;
  std::vector<std::pair<NodeId, NodeId>> parts{{0, 0}, {63, 64}, {64, 65}, {65, 63}, {10, 11}, {11, 11}};
  for (NodeId i = 0; i + 1 < 129; ++i) path.emplace_back(i, i + 1);
  for (NodeId i = 1; i < 130; ++i) star.emplace_back(77 % i, i), star.emplace_back(3, i);
  for (NodeId i = 70; i < 99; ++i) parts.emplace_back(i, i + 1);
  add("directed path", pattern_of(129, path, false));
  add("path", pattern_of(129, path, true));
  add("star", pattern_of(130, star, true));
  add("parts with loops", pattern_of(101, parts, true));
  add("directed parts with loops", pattern_of(101, parts, false));
  add("grid", grid_pattern(19, 13));
  add("random directed", random_pattern(200, 200, 0.012, 5));
  add("random dense", random_pattern(67, 67, 0.5, 6));
  add("skewed", rmat_pattern(8, 900, 7));
  return cases;
}

/// Large enough that levels go both ways and run on all threads.
inline std::vector<GraphCase> larger_graphs() {
  std::vector<GraphCase> cases;
  cases.push_back({"skewed, 2^13", rmat_pattern(13, std::size_t{13} << 13, 3)});
  cases.push_back({"directed, 20000", random_pattern(20000, 20000, 3e-4, 4)});
  cases.push_back({"grid 100 x 80", grid_pattern(100, 80)});
  return cases;
}

inline std::vector<int> all_tile_dims() { return {csr_tile, 4, 8, 16, 32, 64}; }

/// body(packed) for every format, as it is and in another order, with the edges' other direction and without.
template <class Body>
void every_packing(const GraphCase& test, const Device& device, Body&& body) {
  for (const int tile_dim : all_tile_dims()) {
    for (const Order order : {Order::original, Order::reverse_cuthill_mckee}) {
      for (const bool with_transpose : {true, false}) {
        SCOPED_TRACE(test.name + ", tile " + std::to_string(tile_dim) + ", " + std::string(to_string(order)) +
                     (with_transpose ? "" : ", one direction"));
        body(pack_graph(test.graph, {.tile_dim = tile_dim, .order = order, .with_transpose = with_transpose}, device));
      }
    }
  }
}

/// The same for some of the formats only, in one order: for graphs of a size.
template <class Body>
void some_packings(const GraphCase& test, const Device& device, Body&& body) {
  for (const int tile_dim : {csr_tile, 8, 64}) {
    for (const bool with_transpose : {true, false}) {
      SCOPED_TRACE(test.name + ", tile " + std::to_string(tile_dim) + (with_transpose ? "" : ", one direction"));
      body(pack_graph(test.graph, {.tile_dim = tile_dim, .with_transpose = with_transpose}, device));
    }
  }
}

/// A few nodes to start from.
inline std::vector<NodeId> some_sources(const CsrPattern& graph, std::size_t count = 3) {
  std::vector<NodeId> sources;
  for (std::size_t k = 0; k < count; ++k) {
    sources.push_back(static_cast<NodeId>(random_below({17, 9, 0}, k, graph.nrows())));
  }
  sources.push_back(graph.nrows() - 1);
  return sources;
}

}  // namespace bitgraph::test
