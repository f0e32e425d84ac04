// SPDX-License-Identifier: Apache-2.0
#include "cli/graph_command/graph_input.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/io/array.hpp>

#include "io/file/file.hpp"
#include "io/text/delimited.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace bitgraph::cli {

namespace {

char delimiter_of(const std::string& name) {
  if (name.empty()) return 0;
  if (name == "tab" || name == "\\t") return '\t';
  if (name == "space" || name == "blanks") return ' ';
  if (name.size() != 1 || name[0] == '"' || name[0] == '\n' || name[0] == '\r')
    fail(ErrorCode::usage, "--delimiter '" + printable(name) + "': use one character, tab or space");
  return name[0];
}

/// "7, 100 ... 8297": what ids there are.
std::string range_of(const NodeIds& ids, NodeId num_nodes) {
  const auto id = [&](NodeId node) { return printable(ids.text(node)); };
  if (num_nodes <= 3) {
    std::string all = id(0);
    for (NodeId node = 1; node < num_nodes; ++node) all += ", " + id(node);
    return all;
  }
  return fmt::format("{}, {} ... {}", id(0), id(1), id(num_nodes - 1));
}

}  // namespace

void add_graph_input(CLI::App& app, Common& common, const std::string& name, GraphInput& input) {
  add_input(app, common, name, input.graph, "a graph file; - reads standard input, with --format")->required();
  app.add_option("--format", input.format, "the file's format, where its name does not say it")
      ->check(CLI::IsMember({"mtx", "list", "metis", "npz", "b2sr"}));
  app.add_option("--columns", input.columns,
                 "edge lists: the columns of source, target and perhaps weight, by name or number from 1")
      ->delimiter(',')
      ->expected(2, 3)
      ->type_name("COLUMN,COLUMN[,COLUMN]");
  app.add_option("--delimiter", input.delimiter, "edge lists: what stands between columns: a character, tab or space");
  app.add_option("--ids", input.ids, "edge lists: what ids are; auto: words in a table whose first edge has one")
      ->check(CLI::IsMember({"auto", "numbers", "words"}))
      ->capture_default_str();
  app.add_option("--header", input.header, "edge lists: whether the first line names the columns")
      ->check(CLI::IsMember({"auto", "yes", "no"}))
      ->capture_default_str();
  app.add_flag("--undirected", input.undirected, "add the other direction of every entry");
  app.add_flag("--ignore-weights", input.ignore_weights, "take the pattern of a weighted file");
}

LoadOptions load_options(const GraphInput& input) {
  LoadOptions options{.undirected = input.undirected, .ignore_weights = input.ignore_weights};
  if (!input.format.empty()) options.format = graph_file_format_from_string(input.format);
  options.list.columns = input.columns;
  options.list.delimiter = delimiter_of(input.delimiter);
  options.list.ids = input.ids == "words"     ? ListIds::words
                     : input.ids == "numbers" ? ListIds::numbers
                                              : ListIds::automatic;
  options.list.header = input.header == "yes"  ? ListHeader::present
                        : input.header == "no" ? ListHeader::absent
                                               : ListHeader::automatic;
  return options;
}

void note_header(const GraphInput& input, const Graph& graph) {
  if (graph.header.empty() || !graph.ids.are_words() || input.header != "auto" || !input.columns.empty()) return;
  // Names of columns are no nodes; a node among them is a sign that they are none.
  bool has_node = false;
  for (std::size_t begin = 0; begin <= graph.header.size();) {
    const std::size_t end = std::min(graph.header.find_first_of(",;\t", begin), graph.header.size());
    has_node = has_node || graph.ids.find(graph.header.substr(begin, end - begin), graph.pattern.nrows());
    begin = end + 1;
  }
  if (!has_node) return;
  fmt::print(stderr, "bitgraph: note: {}: '{}' is taken for the names of columns; --header no reads it as an edge\n",
             input.graph, graph.header);
}

void add_id_map(CLI::App& app, Common& common, std::string& path) {
  add_output(app, common, "--id-map", path,
             "write the id that every node has in the file: .npy (uint64), or .csv, for words too");
  common.files.checks([&path] {
    const auto ending = std::filesystem::path(path).extension();
    if (!path.empty() && ending != ".npy" && ending != ".csv")
      fail(ErrorCode::usage, "--id-map '" + path + "': use a name that ends in .npy or .csv");
  });
}

std::uint64_t first_id_of(const std::string& path) {
  const GraphFileFormat format = graph_file_format_of(path);
  return format == GraphFileFormat::matrix_market || format == GraphFileFormat::metis ? 1 : 0;
}

void save_id_map(const std::string& path, const NodeIds& ids, NodeId num_nodes) {
  if (std::filesystem::path(path).extension() == ".csv") {
    std::string text = "index,id\n";
    for (NodeId node = 0; node < num_nodes; ++node) {
      text += std::to_string(node) + ',';
      append_field(text, ids.text(node), ',');
      text += '\n';
    }
    return write_file(path, text);
  }
  if (ids.are_words()) fail(ErrorCode::usage, path + ": ids that are words go into a .csv: --id-map FILE.csv");
  Buffer<std::uint64_t> numbers(num_nodes);
  for (NodeId node = 0; node < num_nodes; ++node) numbers[node] = ids.number(node);
  save_npy(path, std::as_const(numbers).span());
}

NodeId require_node(const std::string& file, const NodeIds& ids, NodeId num_nodes, const std::string& id) {
  if (num_nodes == 0) fail(ErrorCode::usage, file + ": the graph has no nodes, and so no source");
  if (const auto node = ids.find(id, num_nodes)) return *node;
  fail(ErrorCode::usage,
       fmt::format("{} has no node '{}': its ids are {}", file, printable(id), range_of(ids, num_nodes)));
}

}  // namespace bitgraph::cli
