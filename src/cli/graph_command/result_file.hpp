// SPDX-License-Identifier: Apache-2.0
// Results of one value, or one row of values, a node: written as .npy, .csv or .tsv, and ranked.
#pragma once

#include "cli/command.hpp"
#include "cli/graph_command/node_names.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace bitgraph::cli {

/// Nodes as values: text holds their ids, .npy their indexes (int32). What is no node (~0) is an empty field, or -1.
struct NodeValues {
  std::span<const NodeId> nodes;
};

/// Distances as values: text says inf where the largest int32 means that there is no path.
struct DistanceValues {
  std::span<const std::int32_t> distances;
};

using ResultValues =
    std::variant<std::span<const std::int32_t>, std::span<const std::uint8_t>, std::span<const std::uint64_t>,
                 std::span<const float>, std::span<const double>, NodeValues, DistanceValues>;

/// Row i is node i's, or graph i's: one value for each column, side by side.
struct ResultTable {
  std::vector<std::string> columns;
  ResultValues values;
  bool matrix = false;       ///< .npy of two dimensions, rows x columns; else there is one column
  std::string row = "node";  ///< what text calls a row
};

/// An option for a file of results: `what` says what it holds, as in "the level of every node, int32". Before any work
/// begins, a name that ends in none of .npy, .csv and .tsv is refused (usage), and so is "-" (standard output) for two
/// options or beside --json. `also` is one more ending, of a file that the command writes itself; `also_what` says what
/// it holds.
CLI::Option* add_result(CLI::App& app, Common& common, const std::string& name, std::string& path,
                        const std::string& what, const std::string& also = "", const std::string& also_what = "");

/// Writes the results in the format of the path's ending. Text has a header line, and starts each line with the
/// node's id; numbers are the shortest that read back exactly. A file appears whole or not at all; "-" is CSV on
/// standard output. What is no file, such as /dev/null, gets .npy. Throws internal where it cannot be written.
void save_result(const std::string& path, const NodeNames& names, const ResultTable& table);

/// The `count` nodes of the highest values, best first; equal values by index, lowest first. Fewer if there are fewer
/// nodes. O(n log count).
[[nodiscard]] std::vector<NodeId> highest(const ResultValues& values, std::size_t count);

/// The value of one row as JSON holds it.
[[nodiscard]] Json value_of(const ResultValues& values, std::size_t row);

}  // namespace bitgraph::cli
