// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/bench_operators.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/core/random.hpp>
#include <bitgraph/formats/row_order.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/spmm.hpp>

#include "cli/bench/bench_estimate.hpp"
#include "cli/bench/float_sums.hpp"
#include "cli/bench/graph_spec.hpp"
#include "cli/bench/ratios.hpp"
#include "cli/bench/sizes.hpp"
#include "cli/bench/timing.hpp"
#include "cli/command.hpp"
#include "cli/ranges.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace bitgraph::cli {

namespace {

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;

struct BenchOperatorsOptions {
  Common common;
  std::vector<std::string> graphs{"planted:flickr/4"};
  std::string widths = "64,128,256";
  std::string product = "89250x512x256";
  int repeats = 9;
  double limit = 1;
};

Floats random_floats(std::size_t nrows, std::size_t ncols, std::uint32_t tensor, const Common& common) {
  Floats x(nrows, ncols);
  const RandomKey key{common.seed, tensor, 0};
  for (std::size_t n = 0; n < x.values().size(); ++n) x.values()[n] = 2 * random_uniform(key, n) - 1;
  return x;
}

/// Signs of floats.
Bits random_bits(const Floats& x) {
  Bits bits(x.nrows(), x.ncols());
  for (std::size_t i = 0; i < x.nrows(); ++i) {
    for (std::size_t j = 0; j < x.ncols(); ++j) bits.set_bit(i, j, x(i, j) >= 0);
  }
  return bits;
}

class Table {
 public:
  Table(const BenchOperatorsOptions& options, Device device) : options_(options), device_(std::move(device)) {}

  void begin(std::string operation, std::string shape, std::string rival) {
    row_ = {{"operator", std::move(operation)}, {"shape", std::move(shape)}, {"rival", std::move(rival)}};
  }
  template <class Call>
  void rival(const Call& call) {
    row_["rival_us"] = microseconds(call);
  }
  template <class Call>
  void variant(const char* name, const Call& call) {
    row_["us"][name] = microseconds(call);
  }
  void end(Json& results) {
    if (!options_.common.json) print();
    results.push_back(row_);
  }

 private:
  template <class Call>
  double microseconds(const Call& call) const {
    return 1e6 * measure(
                     {.repeats = options_.repeats, .limit = options_.limit, .warm = usual_warm_up(device_)},
                     [&](int) { call(); }, [&] { device_.synchronize(); })
                     .median;
  }
  void print() const {
    const bool has_rival = row_.contains("rival_us");
    fmt::print("{} of {}", row_["operator"].get<std::string>(), row_["shape"].get<std::string>());
    if (has_rival) fmt::print("; {}: {:.0f} us", row_["rival"].get<std::string>(), row_["rival_us"].get<double>());
    fmt::print("\n");
    for (const auto& [name, value] : row_["us"].items()) {
      const double us = value.get<double>();
      fmt::print("    {:<6}{:>12.1f} us", name, us);
      if (has_rival) fmt::print("{:>9.2f} x", row_["rival_us"].get<double>() / us);
      fmt::print("\n");
    }
  }

  const BenchOperatorsOptions& options_;
  Device device_;
  Json row_;
};

/// How many times as fast as the rival each variant of an operator is, over all shapes.
Json ratios_of(const Json& results, const std::string& operation) {
  Ratios ratios;
  for (const Json& row : results) {
    if (row["operator"] != operation || !row.contains("rival_us")) continue;
    for (const auto& [name, us] : row["us"].items()) ratios.add(name, row["rival_us"].get<double>(), us.get<double>());
  }
  return ratios.json();
}

/// Input, graph, output: binary or full. A full graph has a weight for each node at either end of an entry.
void measure_aggregation(Table& table, const CsrPattern& graph, FloatSums& rival, std::size_t width,
                         const BenchOperatorsOptions& o, const Device& device) {
  const Floats host = random_floats(graph.nrows(), width, 1, o.common);
  const Bits bits = random_bits(host).to(device);
  const Floats floats = host.to(device);
  Buffer<float> scale(graph.nrows());
  for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = 0.25F + static_cast<float>(i % 3);
  const Buffer<float> weights = scale.to(device);
  const RowOrder order(graph);
  const SpmmOptions plain{.row_order = &order};
  const SpmmOptions weighted{
      .row_scale = weights.span(), .col_scale = weights.span(), .positive_scales = true, .row_order = &order};
  Bits signs(graph.nrows(), width, device);
  Floats sums(graph.nrows(), width, device);
  if (rival.absent().empty()) {
    rival.prepare(sums, floats);
    table.rival([&] { rival.multiply(sums, floats); });
  }
  const auto all = [&](const char* to_signs, const char* to_sums, const auto& x, const SpmmOptions& how) {
    table.variant(to_signs, [&] { spmm_into(signs, graph, x, how); });
    table.variant(to_sums, [&] { spmm_into(sums, graph, x, how); });
  };
  all("BBB", "BBF", bits, plain);
  all("FBB", "FBF", floats, plain);
  all("BFB", "BFF", bits, weighted);
  all("FFB", "FFF", floats, weighted);
}

/// Input, weight, output: binary or full. What is full goes through binarize in the call.
void measure_update(Table& table, const std::vector<std::size_t>& shape, const BenchOperatorsOptions& o,
                    const Device& device) {
  const Floats host_x = random_floats(shape[0], shape[1], 2, o.common);
  const Floats host_w = random_floats(shape[2], shape[1], 3, o.common);
  const Bits x_bits = random_bits(host_x).to(device);
  const Bits w_bits = random_bits(host_w).to(device);
  const Floats x = host_x.to(device);
  const Floats w = host_w.to(device);
  const Buffer<float> bias = Buffer<float>(shape[2], 0.5F).to(device);
  const GemmOptions how{.bias = bias.span()};
  Bits signs(shape[0], shape[2], device);
  Floats sums(shape[0], shape[2], device);
  table.rival([&] { float_gemm(sums, x, false, w, true); });
  const auto all = [&](const char* to_signs, const char* to_sums, const auto& in, const auto& by) {
    table.variant(to_signs, [&] { gemm_into(signs, in, by, how); });
    if (to_sums != nullptr) table.variant(to_sums, [&] { gemm_into(sums, in, by, how); });
  };
  all("BBB", "BBF", x_bits, w_bits);
  all("FBB", "FBF", x, w_bits);
  all("BFB", "BFF", x_bits, w);
  all("FFB", nullptr, x, w);
}

void print_operators_head(const Device& device) {
  fmt::print("Operators on {}; input, graph or weight, and output: binary or full{}\n\n",
             device.is_host() ? counted(static_cast<std::size_t>(device.threads()), "thread") : device.name(),
             device.is_host()
                 ? ""
                 : "\nRows have an order that is made before; cuSPARSE goes by the fastest of its algorithms");
}

Json report_of(const BenchOperatorsOptions& o) {
  const Device device = o.common.make_device();
  const Device host = device.is_host() ? device : Device::host(o.common.threads);
  const auto widths = sizes_of(o.widths, ',');
  const auto shape = product_shape_of(o.product);
  require_graphs(o.graphs);
  Json report{
      {"benchmark", "operators"}, {"device", device.name()}, {"threads", host.threads()}, {"results", Json::array()}};
  Table table(o, device);
  Progress progress("measuring", o.common.quiet);
  std::size_t done = 0;
  for (const std::string& name : o.graphs) {
    const CsrPattern pattern = graph_of_spec(name, o.common.seed, host);
    if (pattern.nrows() != pattern.ncols()) fail(ErrorCode::bad_input, name + ": the matrix is not square");
    const CsrPattern graph = device.is_host() ? pattern.share() : pattern.to(device);
    FloatSums rival(pattern, device);
    if (!o.common.json && done == 0) print_operators_head(device);
    for (const std::size_t width : widths) {
      progress.update(done++, o.graphs.size() * widths.size() + 1, name);
      table.begin("BSpMM", fmt::format("{}, {} features", name, width), FloatSums::name(device));
      measure_aggregation(table, graph, rival, width, o, device);
      table.end(report["results"]);
    }
  }
  report["ratios"] = ratios_of(report["results"], "BSpMM");
  if (!o.common.json) print_ratios(report["ratios"], "BSpMM");
  table.begin("BMM", fmt::format("{} x {} by {} x {}", shape[0], shape[1], shape[1], shape[2]),
              float_gemm_kernels(device));
  measure_update(table, shape, o, device);
  table.end(report["results"]);
  return report;
}

}  // namespace

Json operators_report(const Common& common, const std::vector<std::string>& graphs) {
  BenchOperatorsOptions options;
  options.common = common;
  options.graphs = graphs;
  return report_of(options);
}

void add_bench_operators(CLI::App& bench) {
  auto options = std::make_shared<BenchOperatorsOptions>();
  CLI::App* command = bench.add_subcommand(
      "operators",
      "Every variant of aggregation (BSpMM) and update (BMM) beside the float32 product of the same shape.\n"
      "A ratio above 1: ours is faster");
  command->add_option("graph", options->graphs, std::string("files, data sets, or ") + graph_kinds)
      ->capture_default_str();
  command->add_option("--widths", options->widths, "features of aggregations, with commas between")
      ->capture_default_str();
  command->add_option("--product", options->product, "the update's shape: ROWSxDEPTHxOUTPUTS")->capture_default_str();
  command->add_option("--repeats", options->repeats, "samples; the median is shown")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  command->add_option("--limit", options->limit, "seconds that one figure may take; fewer samples are taken then")
      ->check(not_negative())
      ->capture_default_str();
  add_common(*command, options->common);
  add_examples(*command,
               "  bitgraph bench operators planted:flickr --threads 2\n  bitgraph bench operators rmat:18 --device "
               "cuda --widths 64,256\n");
  const auto run = [options] {
    const Json report = report_of(*options);
    if (options->common.json) fmt::print("{}\n", report.dump(2));
  };
  add_actions(*command, options->common, run, [options] {
    const auto widths = static_cast<double>(sizes_of(options->widths, ',').size());
    return estimate_bench(options->graphs, 10 * widths, options->limit, options->common);
  });
}

}  // namespace bitgraph::cli
