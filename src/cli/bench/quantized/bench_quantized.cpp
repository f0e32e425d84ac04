// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/quantized/bench_quantized.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/formats/block_diagonal.hpp>
#include <bitgraph/graph/generate.hpp>

#include "cli/bench/graph_spec.hpp"
#include "cli/bench/quantized/call_timer.hpp"
#include "cli/bench/quantized/level_products.hpp"
#include "cli/bench/quantized/level_sums.hpp"
#include "cli/bench/quantized/plane_products.hpp"
#include "cli/bench/quantized/quantized_networks.hpp"
#include "cli/bench/sizes.hpp"
#include "cli/command.hpp"
#include "cli/commands/network/measure.hpp"
#include "cli/estimate/estimate.hpp"
#include "cli/estimate/estimate_rates.hpp"
#include "cli/help.hpp"
#include "cli/ranges.hpp"
#include "core/devices/isa.hpp"
#include "core/threads/parallel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace bitgraph::cli {

namespace {

using Sizes = std::vector<std::size_t>;

constexpr std::array<std::string_view, 9> figure_names{"7a", "7b", "7c", "8", "9", "10", "table3", "products", "sums"};

struct BenchQuantizedOptions {
  Common common;
  std::string figures = "7c,8,9,10,table3";
  std::vector<std::string> graphs;
  std::string widths = "128";
  std::string product = "89250x512x256";
  NetworkParts parts;
  std::size_t most_nodes = 0;
  int repeats = 9;
  double limit = 0.5;
};

/// Of the sums.
std::vector<std::string> graphs_of(const BenchQuantizedOptions& o, bool on_host) {
  if (!o.graphs.empty()) return o.graphs;
  if (on_host) return {"planted:flickr/4"};
  return {"planted:flickr", "planted:arxiv", "rmat:18", "planted:reddit"};
}

std::size_t most_nodes_of(const BenchQuantizedOptions& o, bool on_host) {
  if (o.most_nodes != 0) return o.most_nodes;
  return on_host ? 2048 : 32768;
}

/// Operations of a product, as QGTC counts them: a multiplication and an addition each.
double tera_operations(std::size_t nodes, std::size_t columns, double seconds) {
  const double operations =
      2.0 * static_cast<double>(nodes) * static_cast<double>(nodes) * static_cast<double>(columns);
  return seconds > 0 ? operations / seconds / 1e12 : 0;
}

/// The figures of products, row by row.
class Figures {
 public:
  Figures(const BenchQuantizedOptions& options, const CallTimer& timer)
      : options_(options),
        products_(timer, options.common.seed),
        progress_("measuring", options.common.quiet),
        most_(most_nodes_of(options, timer.device().is_host())) {}

  [[nodiscard]] const Json& results() const { return results_; }

  /// Figure 7(c): 2 to 7 bits beside a library's bytes.
  void throughput_by_bits() {
    head("Figure 7(c): A X of N x N by N x D, TOPS", products_.rival_name());
    for (const std::size_t nodes : up_to({2048, 4096, 8192, 16384})) {
      for (const std::size_t columns : Sizes{64, 256}) products_row("7c", nodes, columns, {1, 2, 3, 4, 5, 6, 7, 8});
    }
  }

  /// Table 3: 1 to 4 bits.
  void throughput_by_shape() {
    head("Table 3: A X of N x N by N x D, TOPS", products_.rival_name());
    for (const std::size_t columns : Sizes{32, 64}) {
      for (const std::size_t nodes : up_to({2048, 4096, 8192})) products_row("table3", nodes, columns, {1, 2, 3, 4});
    }
  }

  /// Figure 9: one bit, by the number of nodes.
  void throughput_by_nodes() {
    head("Figure 9: A X of 1 bit, N x N by N x D, TOPS", "");
    for (std::size_t columns = 16; columns <= 1024; columns *= 2) {
      std::string line = fmt::format("  D {:>5}", columns);
      for (const std::size_t nodes : up_to({128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768})) {
        const double seconds = products_.dense(nodes, columns, 1);
        step();
        add({{"figure", "9"}, {"nodes", nodes}, {"columns", columns}, {"bits", 1}}, nodes, columns, seconds);
        line += fmt::format("{:>10.2f}", tera_operations(nodes, columns, seconds));
      }
      say(line);
    }
  }

  /// Figure 8: batches of parts without edges between them; tiles without an entry are not stored.
  void jumping() {
    head("Figure 8: batches of 20 parts by D columns of 4 bits; share of tiles with an entry, microseconds", "");
    say(fmt::format("  {:>8}{:>6}{:>14}{:>14}{:>14}{:>14}{:>8}", "N", "D", "8 x 128", "64 x 64", "with jumping",
                    "without", "ratio"));
    constexpr int bits = 4;
    for (const std::size_t nodes : up_to({2048, 4096, 8192, 16384, 32768})) {
      const std::size_t columns = nodes == 32768 ? 128 : 64;
      const CsrPattern graph = batch_of_parts(nodes);
      const double small = share_of_tiles(graph, 8, 128), ours = share_of_tiles(graph, 64, 64);
      const double with = products_.tiles(graph, columns, bits);
      const double without = products_.dense(graph, columns, bits);
      step();
      results_.push_back({{"figure", "8"},
                          {"nodes", nodes},
                          {"columns", columns},
                          {"bits", bits},
                          {"share_of_8x128_tiles", small},
                          {"share_of_64x64_tiles", ours},
                          {"us", with * 1e6},
                          {"without_jumping_us", without * 1e6}});
      say(fmt::format("  {:>8}{:>6}{:>13.1f}%{:>13.1f}%{:>14.1f}{:>14.1f}{:>8.2f}", nodes, columns, small * 100,
                      ours * 100, with * 1e6, without * 1e6, without / with));
    }
  }

  /// Figure 10: A is read once for all planes of X, or once for each.
  void reuse() {
    head("Figure 10: A X with D = 1024, microseconds, all tiles of A used", "");
    say(fmt::format("  {:>8}{:>6}{:>14}{:>14}{:>8}", "N", "bits", "with reuse", "without", "ratio"));
    constexpr std::size_t columns = 1024;
    for (const std::size_t nodes : up_to({1024, 2048, 4096, 8192})) {
      for (const int bits : {4, 8, 16}) {
        const double with = products_.dense(nodes, columns, bits);
        const double without = products_.plane_by_plane(nodes, columns, bits);
        step();
        results_.push_back({{"figure", "10"},
                            {"nodes", nodes},
                            {"columns", columns},
                            {"bits", bits},
                            {"us", with * 1e6},
                            {"without_reuse_us", without * 1e6}});
        say(fmt::format("  {:>8}{:>6}{:>14.1f}{:>14.1f}{:>8.2f}", nodes, bits, with * 1e6, without * 1e6,
                        without / with));
      }
    }
  }

 private:
  [[nodiscard]] Sizes up_to(Sizes sizes) const {
    std::erase_if(sizes, [&](std::size_t size) { return size > most_; });
    return sizes;
  }
  void say(const std::string& line) const {
    if (!options_.common.json) fmt::print("{}\n", line);
  }
  void head(const std::string& title, const std::string& rival) const {
    say(fmt::format("\n{}{}", title, rival.empty() ? "" : "; beside " + rival));
  }
  void step() { progress_.update(done_++, 0, "products"); }

  void add(Json row, std::size_t nodes, std::size_t columns, double seconds) {
    row["us"] = seconds * 1e6;
    row["tops"] = tera_operations(nodes, columns, seconds);
    results_.push_back(std::move(row));
  }

  /// A shape by so many bits, and the rivals.
  void products_row(const char* figure, std::size_t nodes, std::size_t columns, const std::vector<int>& bits) {
    std::string line = fmt::format("  N {:>6}, D {:>4}", nodes, columns);
    for (const int q : bits) {
      const double seconds = products_.dense(nodes, columns, q);
      step();
      add({{"figure", figure}, {"nodes", nodes}, {"columns", columns}, {"bits", q}}, nodes, columns, seconds);
      line += fmt::format("{:>5}b{:>8.1f}", q, tera_operations(nodes, columns, seconds));
    }
    const double rival = products_.rival(nodes, columns), bfloat16 = products_.bfloat16(nodes, columns);
    if (rival > 0) {
      add({{"figure", figure}, {"nodes", nodes}, {"columns", columns}, {"rival", products_.rival_name()}}, nodes,
          columns, rival);
      line += fmt::format("   rival{:>8.1f}", tera_operations(nodes, columns, rival));
    }
    if (bfloat16 > 0) {
      add({{"figure", figure}, {"nodes", nodes}, {"columns", columns}, {"rival", "cuBLAS bfloat16"}}, nodes, columns,
          bfloat16);
      line += fmt::format("   bf16{:>8.1f}", tera_operations(nodes, columns, bfloat16));
    }
    say(line);
  }

  /// 20 parts of about one size, each a random graph of degree 16 that knows nothing of the others.
  [[nodiscard]] CsrPattern batch_of_parts(std::size_t nodes) const {
    constexpr std::size_t parts = 20, degree = 16;
    std::vector<CsrPattern> graphs;
    graphs.reserve(parts);
    for (std::size_t p = 0; p < parts; ++p) {
      const auto size = static_cast<NodeId>(part_of(nodes, p, parts).size());
      graphs.push_back(symmetrized(generate_uniform(size, size * degree / 2, options_.common.seed + p)));
    }
    return block_diagonal(graphs).pattern;
  }

  [[nodiscard]] static double share_of_tiles(const CsrPattern& graph, std::size_t rows, std::size_t columns) {
    const auto up = [](std::size_t count, std::size_t unit) { return (count + unit - 1) / unit; };
    std::size_t used = 0;
    for (std::size_t first = 0; first < graph.nrows(); first += rows) {
      std::set<std::size_t> tiles;
      for (std::size_t i = first; i < std::min<std::size_t>(graph.nrows(), first + rows); ++i) {
        for (const NodeId j : graph.row(static_cast<NodeId>(i))) tiles.insert(j / columns);
      }
      used += tiles.size();
    }
    return static_cast<double>(used) / static_cast<double>(up(graph.nrows(), rows) * up(graph.ncols(), columns));
  }

  const BenchQuantizedOptions& options_;
  PlaneProducts products_;
  Progress progress_;
  std::size_t most_;
  std::size_t done_ = 0;
  Json results_ = Json::array();
};

/// Also refuses options that go with figures that are not chosen, or not with each other.
std::set<std::string> chosen_figures(const BenchQuantizedOptions& o) {
  std::set<std::string> chosen;
  std::stringstream words(o.figures);
  for (std::string word; std::getline(words, word, ',');) {
    if (std::find(figure_names.begin(), figure_names.end(), word) == figure_names.end())
      fail(ErrorCode::usage, fmt::format("--figures: '{}' is none of {}", word, fmt::join(figure_names, ", ")));
    chosen.insert(word);
  }
  if (chosen.empty()) fail(ErrorCode::usage, "--figures names none");
  if (!o.graphs.empty() && !chosen.contains("sums"))
    fail(ErrorCode::usage, fmt::format("'{}': graphs are for --figures sums", o.graphs.front()));
  if (o.parts.parts != 0) require_batch_parts(o.parts.of_batch, o.parts.parts);
  return chosen;
}

/// What the products of the host go by.
void put_instruction_sets(Json& report, bool prints) {
  for (const Isa isa : available_isas()) report["instruction_sets"].push_back(to_string(isa));
  report["instruction_set"] = to_string(active_isa());
  if (!prints) return;
  const auto sets = report["instruction_sets"].get<std::vector<std::string>>();
  fmt::print("instruction sets: {}; {} is used\n", fmt::join(sets, ", "), to_string(active_isa()));
}

void run_bench_quantized(const BenchQuantizedOptions& o) {
  const std::set<std::string> chosen = chosen_figures(o);
  const Device device = o.common.make_device();
  const std::vector<std::string> graphs = graphs_of(o, device.is_host());
  const std::vector<std::size_t> widths = sizes_of(o.widths), product = product_shape_of(o.product);
  if (chosen.contains("sums")) require_graphs(graphs);
  if (!o.common.json) {
    fmt::print("Products and networks of a few bits on {}; a call among many\n",
               device.is_host() ? counted(static_cast<std::size_t>(device.threads()), "thread") : device.name());
  }
  Json report{{"benchmark", "quantized"}, {"device", device.name()}, {"threads", device.threads()}};
  put_instruction_sets(report, !o.common.json && device.is_host());
  const CallTimer timer(device, o.repeats, o.limit);
  Json networks = Json::array();
  for (const char* figure : {"7a", "7b"}) {
    if (chosen.contains(figure)) measure_networks(networks, figure, o.parts, o.common, timer);
  }
  Figures figures(o, timer);
  if (chosen.contains("7c")) figures.throughput_by_bits();
  if (chosen.contains("table3")) figures.throughput_by_shape();
  if (chosen.contains("8")) figures.jumping();
  if (chosen.contains("9")) figures.throughput_by_nodes();
  if (chosen.contains("10")) figures.reuse();
  Json results = figures.results();
  Json ratios = Json::object();
  if (chosen.contains("products")) measure_level_products(results, product, o.common, timer);
  if (chosen.contains("sums")) ratios = measure_level_sums(results, graphs, widths, o.common, timer);
  report["results"] = std::move(results);
  report["ratios"] = std::move(ratios);
  report["networks"] = std::move(networks);
  if (o.common.json) fmt::print("{}\n", report.dump(2));
}

/// One figure. Cells are products or networks, of which each takes its limit at most.
void add_figure(Estimate& estimate, const BenchQuantizedOptions& o, const std::string& figure, bool cuda) {
  constexpr double cells_of_products = 60, networks = 30;
  double cells = cells_of_products, host = 0, device = 0;
  if (figure == "7a" || figure == "7b") {
    cells = networks;
    host = device = 6 * spec_bytes("planted:arxiv");
  } else if (figure == "products") {
    const std::vector<std::size_t> shape = product_shape_of(o.product);
    cells = cuda ? 16 : 8;
    // Levels twice, and what the rival reads and writes: floats, or bytes and sums of 32 bits.
    const auto rows = static_cast<double>(shape[0]), depth = static_cast<double>(shape[1]);
    host = rows * depth * (cuda ? 3 : 6) + rows * static_cast<double>(shape[2]) * 5;
    device = rows * depth * 2 + rows * static_cast<double>(shape[2]) * 6;
  } else if (figure == "sums") {
    const auto widths = static_cast<double>(sizes_of(o.widths).size());
    for (const std::string& graph : graphs_of(o, !cuda)) {
      const double bytes = spec_bytes(graph);
      estimate.steps.push_back({"sums over " + graph, 4 * widths * o.limit, rates::program_bytes + 6 * bytes});
      if (cuda) estimate.device_bytes = std::max(estimate.device_bytes, 4 * bytes);
    }
    return;
  } else {
    const auto side = static_cast<double>(most_nodes_of(o, !cuda));
    // A in bits on the host, and what the rival reads: floats there, bytes and bfloat16 on a device.
    const double bits = side * side / 8, rival = side * side * (cuda ? 3 : 4);
    host = 2 * bits + (cuda ? 0 : rival);
    device = bits + rival;
  }
  estimate.steps.push_back({"figure " + figure, cells * o.limit, rates::program_bytes + host});
  if (cuda) estimate.device_bytes = std::max(estimate.device_bytes, device);
}

/// At most: all cells of a figure take their limit, and its largest product is in memory.
Estimate estimate_of(const BenchQuantizedOptions& o) {
  const Machine machine(o.common);
  Estimate estimate;
  add_start(estimate, machine);
  for (const std::string& figure : chosen_figures(o)) add_figure(estimate, o, figure, machine.cuda());
  estimate.assumptions.push_back(fmt::format("at most {:g} s a product or network", o.limit));
  return estimate;
}

}  // namespace

void add_bench_quantized(CLI::App& bench) {
  auto options = std::make_shared<BenchQuantizedOptions>();
  CLI::App* command = bench.add_subcommand(
      "quantized",
      "Figures 7 to 10 and Table 3 of QGTC on their axes: products of a graph of one bit with numbers of a few bits,\n"
      "beside a library's product of the same shape, and networks of the sizes of its Table 1; products and sums of\n"
      "levels of a layer, beside what others have");
  command->add_option("graph", options->graphs, std::string("of --figures sums: files, data sets, or ") + graph_kinds);
  command
      ->add_option("--figures", options->figures,
                   fmt::format("which, with commas between: {}", fmt::join(figure_names, ", ")))
      ->capture_default_str();
  command
      ->add_option("--nodes", options->most_nodes,
                   "leave out products of more nodes; 0: 2,048 on the host, 32,768 on a CUDA device")
      ->check(whole_number(0, 1 << 20))
      ->capture_default_str();
  command->add_option("--widths", options->widths, "of sums: columns, with commas between")->capture_default_str();
  command->add_option("--product", options->product, "of products: ROWSxDEPTHxOUTPUTS")->capture_default_str();
  command
      ->add_option("--parts", options->parts.parts,
                   "of 7a and 7b: cut the nodes into so many parts and run over batches of them; 0: all in one run")
      ->check(whole_number(0, most_nodes))
      ->capture_default_str();
  command->add_option("--batch-parts", options->parts.of_batch, "parts in a batch, at most --parts")
      ->check(whole_number(1, most_nodes))
      ->capture_default_str();
  command->add_option("--repeats", options->repeats, "samples; the median is shown")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  command->add_option("--limit", options->limit, "seconds that one figure may take; fewer samples are taken then")
      ->check(not_negative())
      ->capture_default_str();
  add_common(*command, options->common);
  add_examples(*command,
               "  bitgraph bench quantized --threads 2\n  bitgraph bench quantized --device cuda --figures 7c,table3\n"
               "  bitgraph bench quantized rmat:18 planted:arxiv --figures products,sums --widths 64,128\n"
               "  bitgraph bench quantized --figures 7a,7b --parts 1500\n");
  add_actions(
      *command, options->common, [options] { run_bench_quantized(*options); },
      [options] { return estimate_of(*options); });
}

}  // namespace bitgraph::cli
