// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/formats/advisor.hpp>
#include <bitgraph/formats/reorder.hpp>
#include <bitgraph/io/array.hpp>
#include <bitgraph/io/graph.hpp>

#include "cli/command.hpp"
#include "cli/estimate/estimate_graph.hpp"
#include "cli/graph_command/edge_count.hpp"
#include "cli/graph_command/graph_input.hpp"

#include <fmt/format.h>

#include <memory>

namespace bitgraph::cli {

namespace {

struct ConvertOptions {
  Common common;
  GraphInput input;
  std::string out, tile = "auto", order = "original", id_map, permutation;
};

/// 0 for pattern CSR.
int chosen_tile(const ConvertOptions& options, const CsrPattern& a) {
  if (options.tile == "csr") return 0;
  if (options.tile == "auto") return advise(profile(a, {.seed = options.common.seed})).tile_dim;
  return std::stoi(options.tile);
}

/// Numbers the nodes anew. Node i's id goes with it, and the renumbering of a file that was reordered before goes on.
void renumber(Graph& graph, Order order) {
  const Buffer<NodeId> new_id = reorder(graph.pattern, order);
  graph.pattern = permuted(graph.pattern, new_id.span());
  graph.ids = graph.ids.permuted(std::as_const(new_id).span());
  Buffer<NodeId> total = new_id.clone();
  for (std::size_t i = 0; i < graph.new_id.size(); ++i) total[i] = new_id[graph.new_id[i]];
  graph.new_id = std::move(total);
}

void run_convert(const ConvertOptions& options) {
  const Device device = options.common.make_host("convert");
  Graph graph = load_graph(options.input.graph, load_options(options.input), device);
  note_header(options.input, graph);
  if (graph.weighted && !options.input.ignore_weights) {
    fail(ErrorCode::bad_input,
         options.input.graph + ": the file has weights, only the pattern can be kept: use --ignore-weights");
  }
  const Order order = order_from_string(options.order);
  if (order != Order::original) renumber(graph, order);
  const NodeId num_nodes = graph.pattern.nrows();
  if (!options.id_map.empty()) save_id_map(options.id_map, graph.ids, num_nodes);
  if (!options.permutation.empty() && !graph.new_id.empty())
    save_npy(options.permutation, std::as_const(graph.new_id).span());
  const bool keeps_ids =
      holds_ids(options.out) || (graph.ids.are_counted() && graph.ids.first() == first_id_of(options.out));
  if (!keeps_ids) {
    fmt::print(stderr, "bitgraph: note: {} numbers its nodes itself; --id-map FILE keeps the ids of {}\n", options.out,
               options.input.graph);
  }
  const EdgeCount edges = count_edges(graph.pattern);
  Json result{{"in", options.input.graph}, {"out", options.out}, {"num_nodes", num_nodes}, {"order", options.order}};
  edges.put(result);
  result["keeps_ids"] = keeps_ids;
  int tile = 0;
  if (graph_file_format_of(options.out) == GraphFileFormat::b2sr) {
    tile = chosen_tile(options, graph.pattern);
    B2srFile file{.new_id = std::move(graph.new_id), .ids = std::move(graph.ids)};
    if (tile == 0) {
      file.pattern = std::move(graph.pattern);
    } else {
      file.tiles = pack(graph.pattern, {.tile_dim = tile}, device);
      result["tile_dim"] = tile;
    }
    save_b2sr(file, options.out);
  } else {
    save_graph(graph.pattern, graph.ids, options.out, device);
  }
  result["bytes"] = std::filesystem::file_size(options.out);
  if (options.common.json) {
    fmt::print("{}\n", result.dump(2));
  } else {
    fmt::print("{}: nodes {}, {}{}, {}\n", options.out, num_nodes, edges.text(),
               tile == 0 ? "" : fmt::format(", tile side {}", tile), human_bytes(result["bytes"].get<double>()));
  }
}

Estimate estimate(const ConvertOptions& options) {
  const GraphSize size = graph_size_of(options.input);
  const Machine machine(options.common);
  Estimate estimate;
  double held = add_load(estimate, machine, size, false);
  add_order(estimate, machine, size, options.order, held);
  const bool automatic = options.tile == "auto";
  // Rows of few entries are mostly those of meshes, whose tiles hold several.
  const bool csr = options.tile == "csr" || (automatic && size.degree() > 7);
  const int tile = csr ? 0 : automatic ? 4 : std::stoi(options.tile);
  if (automatic && graph_file_format_of(options.out) == GraphFileFormat::b2sr)
    estimate.assumptions.push_back(std::string("that --tile auto takes ") + (csr ? "pattern CSR" : "tile side 4"));
  add_write(estimate, machine, size, options.out, tile, held);
  return estimate;
}

}  // namespace

void add_convert(CLI::App& app) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command =
      app.add_subcommand("convert", "Convert a graph file to another format; pack it into tiles; reorder it");
  add_graph_input(*command, options->common, "in", options->input);
  add_output(*command, options->common, "out", options->out, "the file to write; its ending names the format")
      ->required();
  command->add_option("--tile", options->tile, "tile side of a .b2sr file")
      ->check(CLI::IsMember({"auto", "4", "8", "16", "32", "64", "csr"}))
      ->capture_default_str();
  command->add_option("--reorder", options->order, "renumber the nodes in this order")
      ->check(CLI::IsMember({"original", "degree", "rcm", "community"}))
      ->capture_default_str();
  add_output(*command, options->common, "--permutation", options->permutation,
             "write the new index of every node to this .npy");
  add_id_map(*command, options->common, options->id_map);
  add_common(*command, options->common);
  add_examples(
      *command,
      "  bitgraph convert wave.graph.gz wave.b2sr --tile 8 --reorder rcm\n  bitgraph convert wiki-Vote.txt.gz wiki.mtx "
      "--undirected --id-map ids.npy\n");
  add_actions(
      *command, options->common, [options] { run_convert(*options); }, [options] { return estimate(*options); });
}

}  // namespace bitgraph::cli
