// SPDX-License-Identifier: Apache-2.0
// The data sets of MUSAE (Rozemberczki et al. 2021): NAME_edges.csv, NAME.json and NAME_target.csv, each perhaps
// gzipped.
#pragma once

#include <bitgraph/io/dataset.hpp>

#include "io/text/named_text.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace bitgraph {

struct MusaeFiles {
  std::string name;
  std::filesystem::path edges, features, target;
};

/// The three files of a folder, or of the set that one of them belongs to; empty where the path is neither. Throws
/// bad_input where one is missing, or where a folder has several sets.
[[nodiscard]] std::optional<MusaeFiles> find_musae(const std::filesystem::path& path);

/// Reads the three texts: edges as a list of pairs under a header; features as a JSON object of lists,
/// {"node": [feature, ...], ...}, all of value 1; the target as a table whose first column is the node and whose last
/// one the class. Nodes are numbered by rising id. Classes are in alphabetical order; whole numbers in rising order,
/// but where there are more than 64 different ones they are cut into five classes of nearly equal size. Throws
/// bad_input with file and line (byte for the features). O(size log nodes).
[[nodiscard]] Dataset read_musae(const NamedText& edges, const NamedText& features, const NamedText& target,
                                 const Device& device);

[[nodiscard]] Dataset load_musae(const MusaeFiles& files, const Device& device);

}  // namespace bitgraph
