// SPDX-License-Identifier: Apache-2.0
#include "cli/graph_command/graph_command.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/formats/partition.hpp>
#include <bitgraph/io/array.hpp>
#include <bitgraph/io/graph.hpp>

#include "cli/help.hpp"
#include "cli/ranges.hpp"
#include "io/file/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace bitgraph::cli {

namespace {

using Clock = std::chrono::steady_clock;

int tile_of(const std::string& name) {
  if (name == "auto") return auto_tile;
  return name == "csr" ? csr_tile : std::stoi(name);
}

/// Throws bad_input unless all weights are lengths of edges, naming an edge by the ids of the file.
void require_positive(const std::string& file, const CsrPattern& a, std::span<const float> weights,
                      const NodeIds& ids) {
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (EdgeOffset e = a.row_ptr()[i]; e < a.row_ptr()[i + 1]; ++e) {
      if (weights[e] > 0 && std::isfinite(weights[e])) continue;
      fail(ErrorCode::bad_input,
           fmt::format("{}: the edge {} -> {} has the weight {}, expected a positive finite number (or use "
                       "--ignore-weights)",
                       file, printable(ids.text(i)), printable(ids.text(a.col_ind()[e])), weights[e]));
    }
  }
}

std::size_t bytes_of(const PackedGraph::Matrix& matrix) {
  return std::visit([](const auto& m) { return m.bytes(); }, matrix);
}

/// What the format takes in the file's order.
std::size_t bytes_as_it_was(const CsrPattern& a, int tile_dim) {
  return tile_dim == csr_tile ? a.bytes() : b2sr_bytes(a.nrows(), count_tiles(a, tile_dim), tile_dim);
}

bool is_common_key(const std::string& key) {
  for (const char* common : {"algorithm", "file", "num_nodes", "num_edges", "num_entries", "undirected", "device",
                             "format", "tile_dim", "reason", "reorder", "reorder_reason", "bytes", "seconds"}) {
    if (key == common) return true;
  }
  return false;
}

bool is_table(const Json& value) { return value.is_array() && !value.empty() && value[0].is_object(); }

/// An id as a terminal may print it: without control characters.
std::string shown(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; }, '?');
  return text;
}

std::string text_of(const Json& value) {
  return value.is_string()         ? shown(value.get<std::string>())
         : value.is_number_float() ? fmt::format("{:.6g}", value.get<double>())
                                   : value.dump();
}

/// Characters of UTF-8: all bytes but those that continue one.
std::size_t num_characters(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](unsigned char c) { return (c & 0xC0U) != 0x80U; }));
}

/// A list of objects as a table; indexes are left out, ids stand for the nodes.
void print_rows(const Json& rows) {
  std::vector<std::vector<std::string>> columns;
  for (const auto& [key, value] : rows[0].items()) {
    if (key == "index") continue;
    std::vector<std::string> column{key};
    for (const Json& row : rows) column.push_back(text_of(row[key]));
    columns.push_back(std::move(column));
  }
  std::vector<std::size_t> widths;
  for (const auto& column : columns) {
    std::size_t width = 0;
    for (const std::string& cell : column) width = std::max(width, num_characters(cell));
    widths.push_back(width);
  }
  for (std::size_t row = 0; row <= rows.size(); ++row) {
    std::string line = fmt::format("  {:<{}}", columns[0][row], widths[0]);
    for (std::size_t c = 1; c < columns.size(); ++c) line += fmt::format("  {:>{}}", columns[c][row], widths[c]);
    fmt::print("{}\n", line);
  }
}

}  // namespace

Graph load_for_algorithm(const GraphOptions& options, const GraphNeeds& needs, const Device& host) {
  LoadOptions how = load_options(options);
  how.keep_weights = needs.weights_allowed && !options.ignore_weights;
  Graph graph = load_graph(options.graph, how, host);
  const CsrPattern& a = graph.pattern;
  if (a.nrows() != a.ncols()) {
    fail(ErrorCode::bad_input,
         fmt::format("{}: the matrix is {} x {}, a graph needs a square one", options.graph, a.nrows(), a.ncols()));
  }
  if (graph.weighted && !options.ignore_weights && !needs.weights_allowed) {
    fail(ErrorCode::bad_input,
         options.graph + ": the file has weights, and only connectivity makes sense here: use --ignore-weights");
  }
  if (!options.id_map.empty()) save_id_map(options.id_map, graph.ids, a.nrows());
  note_header(options, graph);
  return graph;
}

void add_graph_options(CLI::App& command, GraphOptions& options, const std::string& values) {
  add_graph_input(command, options.common, "graph", options);
  command.add_option("--tile", options.tile, "the format: B2SR of this tile side, or pattern CSR")
      ->check(CLI::IsMember({"auto", "4", "8", "16", "32", "64", "csr"}))
      ->capture_default_str();
  command
      .add_option("--reorder", options.order,
                  "number the nodes anew in memory; results keep the file's numbers; auto: where it pays")
      ->check(CLI::IsMember({"none", "auto", "degree", "rcm", "community"}))
      ->capture_default_str();
  if (!values.empty()) add_result(command, options.common, "--out", options.out, values);
  add_id_map(command, options.common, options.id_map);
  add_common(command, options.common);
}

void add_top(CLI::App& command, GraphOptions& options) {
  command
      .add_option("--top", options.top, "print the K nodes of the highest values, best first; equal ones in file order")
      ->type_name("K")
      ->check(whole_number(1));
  options.common.files.checks([&options] {
    if (options.top != 0 && !options.common.data_on_stdout.empty()) {
      fail(ErrorCode::usage,
           fmt::format("{} - and --top both print on standard output: use one of them", options.common.data_on_stdout));
    }
  });
}

void add_source(CLI::App& command, std::optional<std::string>& source) {
  command
      .add_option("--source", source, "the id of the node to start from, as the file has it; default: the first node")
      ->type_name("ID");
}

void add_sources(CLI::App& command, SourceOptions& options) {
  CLI::Option* ids = command.add_option("--sources", options.ids, "start from the nodes with these ids: ID,ID,...")
                         ->type_name("ID")
                         ->delimiter(',');
  command.add_option("--samples", options.samples, "start from N different nodes, drawn at random by --seed")
      ->type_name("N")
      ->check(whole_number(1))
      ->excludes(ids);
}

GraphJob::GraphJob(std::string algorithm, const GraphOptions& options, const GraphNeeds& needs)
    : options_(options), device_(options.common.make_device()) {
  const Device host = device_.is_host() ? device_ : Device::host(options.common.threads);
  auto start = Clock::now();
  Graph loaded = load_for_algorithm(options, needs, host);
  CsrPattern& pattern = loaded.pattern;
  seconds_["load"] = seconds_since(start);
  ids_ = std::move(loaded.ids);
  names_ = NodeNames(ids_);

  start = Clock::now();
  if (needs.undirected) pattern = undirected(pattern);
  pack(pattern, loaded.weights.span(), needs);
  // What the order cost is told apart from the packing.
  const double reordering = graph().reorder_seconds();
  seconds_["pack"] = seconds_since(start) - reordering;
  seconds_["reorder"] = reordering;

  edges_ = {pattern.nvals(), num_self_loops(pattern), graph().symmetric()};
  result_ = {{"algorithm", std::move(algorithm)}, {"file", options.graph}, {"num_nodes", graph().num_nodes()}};
  edges_.put(result_);
  result_["device"] = device_.name();
  result_["format"] = graph().tile_dim() == csr_tile ? "csr" : "b2sr";
  result_["tile_dim"] = graph().tile_dim();
  if (!graph().reason().empty()) result_["reason"] = graph().reason();
  const bool ordered = graph().order() != Order::original;
  result_["reorder"] = ordered ? to_string(graph().order()) : "none";
  if (!graph().order_reason().empty()) result_["reorder_reason"] = graph().order_reason();
  const std::size_t bytes = bytes_of(graph().out());
  result_["bytes"] = {{"matrix", bytes}, {"original", ordered ? bytes_as_it_was(pattern, graph().tile_dim()) : bytes}};
}

void GraphJob::pack(const CsrPattern& pattern, std::span<const float> weights, const GraphNeeds& needs) {
  GraphPackOptions options{
      .tile_dim = tile_of(options_.tile), .with_transpose = needs.with_transpose, .workload = needs.workload};
  options.order_where_it_pays = options_.order == "auto";
  if (options_.order != "none" && options_.order != "auto") options.order = order_from_string(options_.order);
  if (weights.empty()) {
    graph_.emplace(pack_graph(pattern, options, device_));
  } else {
    require_positive(options_.graph, pattern, weights, ids_);
    weighted_.emplace(pack_weighted_graph(pattern, weights, options, WeightKind::automatic, device_));
  }
  device_.synchronize();
}

std::vector<NodeId> GraphJob::nodes(std::span<const std::string> ids) const {
  std::vector<NodeId> found;
  for (const std::string& id : ids) found.push_back(require_node(options_.graph, ids_, graph().num_nodes(), id));
  return found;
}

NodeId GraphJob::source(const std::optional<std::string>& id) {
  const NodeId nodes = graph().num_nodes();
  const NodeId node = id || nodes == 0 ? require_node(options_.graph, ids_, nodes, id.value_or("")) : 0;
  result_["source"] = names_.json(node);
  result_["source_index"] = node;
  return node;
}

std::size_t GraphJob::num_sources(const SourceOptions& options) const {
  if (!options.ids.empty()) return options.ids.size();
  const std::size_t nodes = graph().num_nodes();
  return options.samples == 0 ? nodes : std::min(options.samples, nodes);
}

void GraphJob::finish(const std::string& column, const ResultValues& values) {
  if (!options_.out.empty()) save_result(options_.out, names_, {{column}, values});
  if (options_.top != 0) {
    result_["top"] = Json::array();
    for (const NodeId node : highest(values, options_.top))
      result_["top"].push_back({{"node", names_.json(node)}, {"index", node}, {"value", value_of(values, node)}});
  }
  print();
}

void GraphJob::print() const {
  if (!options_.common.data_on_stdout.empty()) return;
  if (options_.common.json) {
    // An id may hold bytes that are no UTF-8: they are replaced.
    fmt::print("{}\n", result_.dump(2, ' ', false, Json::error_handler_t::replace));
    return;
  }
  const int tile = graph().tile_dim();
  const auto bytes = [&](const char* key) { return human_bytes(result_["bytes"][key].get<double>()); };
  const bool ordered = graph().order() != Order::original;
  fmt::print("{}\n  nodes {}   {}\n  {}   {}   order {}   {}{}\n", options_.graph, graph().num_nodes(), edges_.text(),
             tile == csr_tile ? "csr" : fmt::format("b2sr with tile side {}", tile), device_.name(),
             result_["reorder"].get<std::string>(), bytes("matrix"),
             ordered ? fmt::format(", before {}", bytes("original")) : "");
  if (!graph().order_reason().empty()) fmt::print("{}\n", wrapped("  " + graph().order_reason(), 2));
  for (const auto& [key, value] : result_.items()) {
    if (!is_common_key(key) && !value.is_array()) fmt::print("  {:<14}  {}\n", key, text_of(value));
  }
  fmt::print("  seconds        ");
  for (const auto& [name, value] : result_["seconds"].items()) fmt::print(" {} {:.4f} ", name, value.get<double>());
  fmt::print("\n");
  for (const auto& [key, value] : result_.items()) {
    if (is_table(value)) print_rows(value);
  }
}

}  // namespace bitgraph::cli
