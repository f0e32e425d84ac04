// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/advisor.hpp>
#include <bitgraph/formats/reorder.hpp>
#include <bitgraph/graph/components.hpp>
#include <bitgraph/io/graph.hpp>

#include "cli/command.hpp"
#include "cli/estimate/estimate_graph.hpp"
#include "cli/estimate/estimate_rates.hpp"
#include "cli/graph_command/edge_count.hpp"
#include "cli/graph_command/graph_input.hpp"
#include "cli/graph_command/node_names.hpp"
#include "cli/help.hpp"
#include "cli/ranges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>

namespace bitgraph::cli {

namespace {

struct InfoOptions {
  Common common;
  GraphInput input;
  bool no_reorder = false;
  std::size_t sample = 1000;
};

constexpr std::array<Order, 4> orders{Order::original, Order::degree, Order::reverse_cuthill_mckee, Order::community};

Json tile_bytes_of(const CsrPattern& a) {
  Json bytes;
  for (const int k : tile_dims) bytes[fmt::format("b2sr_{}", k)] = b2sr_bytes(a.nrows(), count_tiles(a, k), k);
  return bytes;
}

/// The sample's advice for the order that the file has; where another order makes tiles smaller than that, measured,
/// the tiles and the order.
Json advice_of(const CsrPattern& a, const Advice& sampled, const Json& bytes_by_order) {
  Json advice{{"format", sampled.use_tiles ? "b2sr" : "csr"},
              {"tile_dim", sampled.tile_dim},
              {"reorder", "original"},
              {"reason", sampled.reason}};
  const auto bytes_of = [&](const std::string& order, int k) {
    return bytes_by_order[order][fmt::format("b2sr_{}", k)].get<std::uint64_t>();
  };
  if (bytes_by_order.is_null()) return advice;
  std::uint64_t best = sampled.use_tiles ? bytes_of("original", sampled.tile_dim) : a.bytes();
  const std::uint64_t as_it_is = best;
  for (const Order order : orders) {
    const std::string name(to_string(order));
    for (const int k : tile_dims) {
      if (order == Order::original || bytes_of(name, k) >= best) continue;
      best = bytes_of(name, k);
      advice = {{"format", "b2sr"},
                {"tile_dim", k},
                {"reorder", name},
                {"reason", fmt::format("B2SR-{} takes {} bytes in the order {}; as the file has it, {} takes {}", k,
                                       best, name, sampled.use_tiles ? "the best tile" : "pattern CSR", as_it_is)}};
    }
  }
  return advice;
}

/// How the file calls its nodes, and whether they have other numbers here.
Json ids_of(const Graph& graph, NodeId num_nodes) {
  const NodeNames names(graph.ids);
  Json ids{{"kind", graph.ids.are_words() ? "words" : "numbers"}, {"renumbered", graph.renumbered}};
  if (num_nodes != 0) {
    ids["first"] = names.json(0);
    ids["last"] = names.json(num_nodes - 1);
  }
  if (!graph.header.empty()) ids["header"] = graph.header;
  return ids;
}

Json describe(const InfoOptions& options) {
  const Device device = options.common.make_host("info");
  const Graph graph = load_graph(options.input.graph, load_options(options.input), device);
  note_header(options.input, graph);
  const CsrPattern& a = graph.pattern;
  const bool square = a.nrows() == a.ncols();
  Json result;
  result["file"] = options.input.graph;
  result["num_nodes"] = a.nrows();
  if (!square) result["num_columns"] = a.ncols();
  const EdgeCount edges = count_edges(a);
  edges.put(result);
  result["num_self_loops"] = edges.loops;
  result["symmetric"] = edges.undirected;
  result["weighted"] = graph.weighted;
  result["ids"] = ids_of(graph, a.nrows());
  if (square) result["num_components"] = connected_components(a).count;
  std::size_t max_degree = 0;
  for (NodeId i = 0; i < a.nrows(); ++i) max_degree = std::max(max_degree, a.row(i).size());
  result["max_degree"] = max_degree;

  Json bytes;
  bytes["csr_float32"] = csr_float32_bytes(a.nrows(), a.nvals());
  bytes["csr_pattern"] = a.bytes();
  const Json original = tile_bytes_of(a);
  bytes.update(original);
  result["bytes"] = bytes;

  const Profile sampled = profile(a, {.sampled_rows = options.sample, .seed = options.common.seed});
  Json by_order, seconds;
  if (square && !options.no_reorder) {
    for (const Order order : orders) {
      const std::string name(to_string(order));
      const auto start = std::chrono::steady_clock::now();
      const CsrPattern ordered = order == Order::original ? CsrPattern{} : permuted(a, reorder(a, order).span());
      if (order != Order::original) {
        seconds[name] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      }
      by_order[name] = order == Order::original ? original : tile_bytes_of(ordered);
    }
    result["bytes_by_order"] = by_order;
    result["seconds_by_order"] = seconds;
  }
  Json predicted;
  for (const TileProfile& side : sampled.tiles) {
    predicted[fmt::format("b2sr_{}", side.tile_dim)] = {{"bytes", side.predicted_bytes},
                                                        {"row_compression", side.row_compression}};
  }
  result["sample"] = {{"rows", sampled.sampled_rows}, {"predicted", predicted}};
  result["advice"] = advice_of(a, advise(sampled), by_order);
  return result;
}

Estimate estimate(const InfoOptions& options) {
  const GraphSize size = graph_size_of(options.input);
  const Machine machine(options.common);
  Estimate estimate;
  const double held = add_load(estimate, machine, size, false);
  const double looks = rates::count_entry * size.entries * 1e-9;
  estimate.steps.push_back({"count degrees, components and tiles", machine.parallel(looks), held + 8 * size.nodes});
  if (options.no_reorder) return estimate;
  for (const Order order : {Order::degree, Order::reverse_cuthill_mckee, Order::community}) {
    const std::string name(to_string(order));
    const double seconds = machine.serial((order_rate(name) + rates::count_tiles_entry) * size.entries * 1e-9);
    const double found = order == Order::community ? 24 * size.nodes + 4 * size.entries : order_bytes(name, size);
    estimate.steps.push_back({"reorder: " + name, seconds, held + pattern_bytes(size) + found});
  }
  return estimate;
}

void print_info(const Json& r) {
  fmt::print("{}\n", r["file"].get<std::string>());
  fmt::print("  nodes {}   {} {}   {}{}\n", r["num_nodes"].get<std::uint64_t>(),
             r["undirected"].get<bool>() ? "edges" : "entries", r["num_edges"].get<std::uint64_t>(),
             r["symmetric"].get<bool>() ? "symmetric" : "directed", r["weighted"].get<bool>() ? "   weighted" : "");
  fmt::print("  self loops {}   components {}   largest degree {}\n", r["num_self_loops"].get<std::uint64_t>(),
             r.contains("num_components") ? r["num_components"].dump() : "-", r["max_degree"].get<std::uint64_t>());
  const Json& ids = r["ids"];
  if (ids.contains("first") && (ids["renumbered"].get<bool>() || ids["kind"] == "words")) {
    const auto text = [](const Json& id) { return id.is_string() ? id.get<std::string>() : id.dump(); };
    fmt::print("  ids {} ... {}, renumbered 0 ... {}\n", text(ids["first"]), text(ids["last"]),
               r["num_nodes"].get<std::uint64_t>() - 1);
  }
  const auto csr = static_cast<double>(r["bytes"]["csr_float32"].get<std::uint64_t>());
  fmt::print("\n  {:<14}{:>12}{:>8}\n", "format", "bytes", "of csr");
  for (const auto& [name, value] : r["bytes"].items()) {
    const auto bytes = value.get<double>();
    fmt::print("  {:<14}{:>12}{:>8.2f}\n", name, human_bytes(bytes), bytes / csr);
  }
  if (r.contains("bytes_by_order")) {
    fmt::print("\n  {:<11}", "reordered");
    for (const int k : tile_dims) fmt::print("{:>11}", fmt::format("b2sr_{}", k));
    fmt::print("{:>10}\n", "seconds");
    for (const auto& [order, bytes] : r["bytes_by_order"].items()) {
      fmt::print("  {:<11}", order);
      for (const auto& value : bytes) fmt::print("{:>11}", human_bytes(value.get<double>()));
      const auto& seconds = r["seconds_by_order"];
      fmt::print("{:>10}\n", seconds.contains(order) ? fmt::format("{:.4f}", seconds[order].get<double>()) : "");
    }
  }
  const auto& advice = r["advice"];
  const std::string line =
      fmt::format("  advice: {}{}, order {}: {}", advice["format"].get<std::string>(),
                  advice["tile_dim"] == 0 ? "" : fmt::format(" with tile side {}", advice["tile_dim"].get<int>()),
                  advice["reorder"].get<std::string>(), advice["reason"].get<std::string>());
  fmt::print("\n{}\n", wrapped(line, 10));
}

}  // namespace

void add_info(CLI::App& app) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* command =
      app.add_subcommand("info", "Show a graph's size, degrees and components, its bytes in every format, and advice");
  add_graph_input(*command, options->common, "graph", options->input);
  command->add_flag("--no-reorder", options->no_reorder, "do not try node orders");
  command->add_option("--sample", options->sample, "number of rows that the advice samples")
      ->check(whole_number(1))
      ->capture_default_str();
  add_common(*command, options->common);
  add_examples(*command, "  bitgraph info wave.graph.gz\n  bitgraph info wiki-Vote.txt.gz --undirected --json\n");
  const auto run = [options] {
    const Json result = describe(*options);
    if (options->common.json) {
      fmt::print("{}\n", result.dump(2));
    } else {
      print_info(result);
    }
  };
  add_actions(*command, options->common, run, [options] { return estimate(*options); });
}

}  // namespace bitgraph::cli
