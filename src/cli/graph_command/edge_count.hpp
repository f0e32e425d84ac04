// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>

#include "cli/command.hpp"

#include <string>

namespace bitgraph::cli {

/// The edges that a matrix stands for. Where it is symmetric, (i, j) and (j, i) are one undirected edge; else
/// every entry is a directed edge. A loop counts once.
struct EdgeCount {
  EdgeOffset entries = 0;
  EdgeOffset loops = 0;
  bool undirected = false;

  [[nodiscard]] EdgeOffset edges() const noexcept { return undirected ? (entries - loops) / 2 + loops : entries; }
  /// "edges 2742 (undirected)" or "entries 103689 (directed)".
  [[nodiscard]] std::string text() const;
  /// Sets num_edges, num_entries and undirected.
  void put(Json& result) const;
};

/// O(entries).
[[nodiscard]] EdgeCount count_edges(const CsrPattern& a);

}  // namespace bitgraph::cli
