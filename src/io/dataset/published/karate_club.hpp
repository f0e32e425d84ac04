// SPDX-License-Identifier: Apache-2.0
// Data sets of many graphs as Karate Club has them (Rozemberczki et al. 2020): graphs.json and target.csv in a folder,
// each perhaps gzipped.
#pragma once

#include <bitgraph/io/dataset.hpp>

#include "io/text/named_text.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace bitgraph {

struct KarateClubFiles {
  std::string name;  ///< of the folder
  std::filesystem::path graphs, target;
};

/// The two files of a folder, or those that one of them belongs to; empty where there is no graphs.json. Throws
/// bad_input where the target is missing.
[[nodiscard]] std::optional<KarateClubFiles> find_karate_club(const std::filesystem::path& path);

/// Reads {"graph": [[node, node], ...], ...} and a table of graphs and classes: as many graphs in both. Graphs are
/// numbered by rising id. A graph has the nodes 0 to the largest that it names; together they are at most as many as
/// the text has bytes. Features are degrees (dataset_of), classes as read_classes() says. Throws bad_input with file
/// and byte or line. O(size log size).
[[nodiscard]] Dataset read_karate_club(const NamedText& graphs, const NamedText& target, const Device& device);

[[nodiscard]] Dataset load_karate_club(const KarateClubFiles& files, const Device& device);

}  // namespace bitgraph
