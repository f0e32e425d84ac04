// SPDX-License-Identifier: Apache-2.0
// Graphs that every algorithm is tried on, and every way to pack them.
#pragma once

#include <bitgraph/graph/generate.hpp>
#include <bitgraph/graph/packed_graph.hpp>

#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::test {

struct GraphCase {
  std::string name;
  CsrPattern pattern;
};

inline CsrPattern pattern_of(NodeId n, std::initializer_list<std::pair<NodeId, NodeId>> entries,
                             const EdgeListOptions& options = {}) {
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  for (const auto& [i, j] : entries) rows.push_back(i), cols.push_back(j);
  return csr_from_edges(n, n, rows, cols, options);
}

/// A path 0 - 1 - ... - n-1.
inline CsrPattern path_pattern(NodeId n) { return grid_pattern(n, 1); }

/// Node 0 tied to all others.
inline CsrPattern star_pattern(NodeId n) {
  std::vector<NodeId> rows(n - 1, 0);
  std::vector<NodeId> cols;
  for (NodeId i = 1; i < n; ++i) cols.push_back(i);
  return csr_from_edges(n, n, rows, cols, {.symmetrize = true});
}

/// Symmetric: nothing, one node, loops, isolated nodes, several components, long and short distances, skewed degrees.
inline std::vector<GraphCase> undirected_cases() {
  std::vector<GraphCase> cases;
  cases.push_back({"no nodes", pattern_of(0, {})});
  cases.push_back({"one node", pattern_of(1, {})});
  cases.push_back({"one node with a loop", pattern_of(1, {{0, 0}})});
  cases.push_back({"70 nodes, no edges", pattern_of(70, {})});
  cases.push_back({"one edge between the last nodes", pattern_of(66, {{64, 65}}, {.symmetrize = true})});
  cases.push_back(
      {"loops and two triangles",
       pattern_of(9, {{0, 0}, {1, 2}, {2, 7}, {7, 1}, {3, 4}, {4, 5}, {5, 3}, {8, 8}}, {.symmetrize = true})});
  cases.push_back({"path", path_pattern(131)});
  cases.push_back({"star", star_pattern(100)});
  cases.push_back({"grid", grid_pattern(33, 17)});
  cases.push_back({"shuffled mesh", generate_mesh(40, 25, 3, true)});
  cases.push_back({"mycielskian", generate_mycielskian(7)});
  cases.push_back({"de Bruijn", generate_de_bruijn(9)});
  cases.push_back({"sparse, many components", symmetrized(random_pattern(700, 700, 0.0008, 5))});
  cases.push_back({"dense", symmetrized(random_pattern(65, 65, 0.5, 6))});
  cases.push_back({"R-MAT", rmat_pattern(10, 5000, 1)});
  return cases;
}

/// Where the directions differ.
inline std::vector<GraphCase> directed_cases() {
  std::vector<GraphCase> cases;
  cases.push_back({"one arc up", pattern_of(2, {{0, 1}})});
  cases.push_back({"one arc down", pattern_of(2, {{1, 0}})});
  cases.push_back({"a cycle and a tail", pattern_of(6, {{0, 1}, {1, 2}, {2, 0}, {2, 3}, {3, 4}, {4, 4}})});
  cases.push_back(
      {"two cycles joined by an arc", pattern_of(8, {{7, 6}, {6, 5}, {5, 7}, {5, 1}, {1, 2}, {2, 3}, {3, 1}, {0, 0}})});
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  for (NodeId i = 1; i < 200; ++i) rows.push_back(i), cols.push_back(i - 1);
  cases.push_back({"falling path", csr_from_edges(200, 200, rows, cols)});
  cases.push_back({"sparse", random_pattern(500, 500, 0.002, 8)});
  cases.push_back({"sparser", random_pattern(900, 900, 0.0009, 9)});
  cases.push_back({"dense", random_pattern(70, 70, 0.4, 10)});
  return cases;
}

/// fn(packed) for every format of a pattern and some orders.
template <class Fn>
void for_each_packing(const CsrPattern& pattern, const Device& device, Fn&& fn) {
  for (const int tile_dim : {csr_tile, 4, 8, 16, 32, 64}) {
    SCOPED_TRACE("tile side " + std::to_string(tile_dim));
    fn(pack_graph(pattern, {.tile_dim = tile_dim}, device));
  }
  for (const Order order : {Order::degree, Order::reverse_cuthill_mckee}) {
    for (const int tile_dim : {csr_tile, 8}) {
      SCOPED_TRACE(std::string(to_string(order)) + ", tile side " + std::to_string(tile_dim));
      fn(pack_graph(pattern, {.tile_dim = tile_dim, .order = order}, device));
    }
  }
}

}  // namespace bitgraph::test
