// SPDX-License-Identifier: Apache-2.0
// How large a graph or a data set is, seen in the header of its file and a sample of at most some megabytes.
#pragma once

#include <bitgraph/graph/generate.hpp>
#include <bitgraph/io/graph.hpp>

#include "cli/graph_command/graph_input.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace bitgraph::cli {

/// Sizes as numbers that never overflow; some are guesses, and `assumptions` says which.
struct GraphSize {
  GraphFileFormat format = GraphFileFormat::b2sr;
  bool gzipped = false;
  bool symmetric = false;  ///< both directions of every edge will be there
  bool weighted = false;
  bool gaps = false;      ///< an edge list whose ids are compacted
  int tile_dim = 0;       ///< of a .b2sr file; 0: pattern CSR
  double file_bytes = 0;  ///< 0 for a graph that no file holds
  double text_bytes = 0;  ///< of a text format, unpacked
  double nodes = 0;
  double listed = 0;   ///< entries as the file lists them
  double entries = 0;  ///< entries of the matrix
  double tiles = 0;    ///< of a .b2sr file of tiles
  double skew = 1;     ///< mean of the squared degrees over the square of their mean; 1: all alike
  std::vector<std::string> assumptions;

  [[nodiscard]] double degree() const noexcept { return nodes > 0 ? entries / nodes : 0; }
};

/// Bytes of a pattern CSR, and of tiles whose number is guessed.
[[nodiscard]] double pattern_bytes(const GraphSize& size);
[[nodiscard]] double guessed_tile_bytes(const GraphSize& size, int tile_dim);

/// Reads the header, and the first megabyte where the header does not tell. Throws usage for an unknown ending, and
/// bad_input where the file is missing or its header is none. O(1) in the file's size.
[[nodiscard]] GraphSize graph_size_of(const std::filesystem::path& path, bool undirected,
                                      std::optional<GraphFileFormat> format = {});

/// The same as a command's options say. Throws usage for standard input, whose size nothing tells.
[[nodiscard]] GraphSize graph_size_of(const GraphInput& input);

/// A data set's graph and features.
struct DatasetSize {
  GraphSize graph;
  double features = 0;        ///< columns
  double feature_values = 0;  ///< that are held
  bool dense = false;
  double classes = 0;
  bool planted = false;  ///< made, not read
};

/// The same for a data set, by name or path (planted:NAME too). Throws bad_input where it is missing: a name that would
/// be downloaded is not.
[[nodiscard]] DatasetSize dataset_size_of(const std::string& name);

}  // namespace bitgraph::cli
