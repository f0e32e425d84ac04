// SPDX-License-Identifier: Apache-2.0
// The classes of a data set's nodes or graphs, as files have them: a table of ids and targets, or numbers.
#pragma once

#include <bitgraph/io/dataset.hpp>

#include "io/dataset/dataset.hpp"
#include "io/file/file.hpp"
#include "io/text/named_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bitgraph {

/// The table of targets, by rising id.
struct Targets {
  std::vector<std::uint64_t> ids;
  std::vector<std::string> values;

  [[nodiscard]] NodeId size() const { return static_cast<NodeId>(ids.size()); }
  /// The place of an id; none where it is not there.
  [[nodiscard]] std::optional<NodeId> row_of(std::uint64_t id) const;
};

/// Reads a table under a header: the first column is the id, the last one the target. `what` names what has ids, "node"
/// or "graph". Throws bad_input with file and line. O(rows log rows).
[[nodiscard]] Targets read_targets(const NamedText& file, const std::string& what);

/// Sets labels and num_classes: classes in alphabetical order; whole numbers in rising order, but where there are more
/// than 64 different ones they are cut into five classes of nearly equal size. An empty target is no label.
void read_classes(Dataset& dataset, const Targets& targets, const NamedText& file, const std::string& what);

/// Sets labels and num_classes: the class of a value is its place among the different ones, in order. No value: no
/// label. Throws bad_input where none has one. O(values log values).
template <class T>
void number_classes(Dataset& dataset, const std::vector<std::optional<T>>& values, const std::string& name,
                    const std::string& what) {
  std::vector<T> different;
  for (const auto& value : values) {
    if (value) different.push_back(*value);
  }
  std::sort(different.begin(), different.end());
  different.erase(std::unique(different.begin(), different.end()), different.end());
  if (different.empty()) fail_in(name, "no " + what + " has a class");
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

}  // namespace bitgraph
