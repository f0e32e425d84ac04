// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/bench_gnn.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/nn/infer.hpp>

#include "cli/bench/bench_estimate.hpp"
#include "cli/bench/bench_operators.hpp"
#include "cli/bench/gnn_rival.hpp"
#include "cli/bench/timing.hpp"
#include "cli/command.hpp"
#include "cli/commands/network/measure.hpp"
#include "cli/help.hpp"
#include "cli/ranges.hpp"
#include "nn/model/architectures.hpp"
#include "nn/model/random_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <sstream>

namespace bitgraph::cli {

namespace {

struct BenchGnnOptions {
  Common common;
  std::vector<std::string> datasets;
  std::string models = fmt::format("{}", fmt::join(nn::architecture_names(), ","));
  std::size_t hidden = 0;
  int repeats = 200;
  double limit = 10;
  SplitChoice split;
};

/// Weights that no training made: what a run costs does not depend on them.
nn::Model model_of(nn::Architecture architecture, nn::Precision precision, const Dataset& dataset, std::size_t hidden,
                   std::uint64_t seed) {
  constexpr std::size_t depth = 2;
  nn::Model model = nn::random_model(architecture, precision, dataset.num_features(), hidden,
                                     static_cast<std::size_t>(dataset.num_classes), depth, seed);
  if (precision.multiplies_signs()) {
    // A batch norm that leaves sparse features sparse.
    model.input_mean = Buffer<float>(dataset.num_features(), dataset.has_dense_features() ? 0.0F : 1e-6F);
    model.input_inverse_deviation = Buffer<float>(dataset.num_features(), 1.0F);
  }
  return model;
}

/// BitGNN's. Part of a planted graph has the width of the whole.
std::size_t usual_width(const std::string& name, std::size_t nodes) {
  if (name.starts_with("planted:flickr")) return 256;
  if (name.starts_with("planted:reddit")) return 128;
  return nodes < 50'000 ? 64 : nodes < 150'000 ? 256 : 128;
}

/// Seconds of a run between host and device done, and of one among many.
struct RunTimes {
  Spread waited;
  double streamed = 0;
};

template <class Run>
RunTimes times_of(const BenchGnnOptions& o, const Device& device, Run&& run) {
  const auto finish = [&] { device.synchronize(); };
  RunTimes times;
  times.waited = measure(
      {.repeats = o.repeats, .limit = o.limit, .batch = 0, .warm = usual_warm_up(device)}, [&](int) { run(); }, finish);
  const int many = times.waited.repeats;
  times.streamed = seconds_of([&] {
                     for (int n = 0; n < many; ++n) run();
                     finish();
                   }) /
                   many;
  return times;
}

Json row_of(const std::string& form, const RunTimes& times, std::size_t peak) {
  return {{"form", form},
          {"latency_us", times.waited.median * 1e6},
          {"stream_us", times.streamed * 1e6},
          {"peak_bytes", peak}};
}

Json measure_model(const BenchGnnOptions& o, nn::Architecture architecture, const Dataset& dataset, std::size_t hidden,
                   const Device& device) {
  Json rows = Json::array();
  const auto fresh = [&] { return device.is_host() ? Device::host(device.threads()) : Device::cuda(device.index()); };
  for (const nn::Precision form : {nn::Precision::real, nn::Precision::full, nn::Precision::bin}) {
    const nn::Model model = model_of(architecture, form, dataset, hidden, o.common.seed);
    const Device own = fresh();
    nn::InferencePlan plan(model, dataset, nn::InferenceOptions{.features = nn::FeatureStorage::sparse}, own);
    const RunTimes times = times_of(o, own, [&] { plan.run(); });
    rows.push_back(row_of(std::string(nn::to_string(form)), times, own.memory().peak));
  }
  const nn::Model real = model_of(architecture, nn::Precision::real, dataset, hidden, o.common.seed);
  const Device own = fresh();
  if (device.is_host()) {  // the same in this library's full precision, features dense as other libraries have them
    nn::InferencePlan plan(real, dataset, nn::InferenceOptions{.features = nn::FeatureStorage::dense}, own);
    const RunTimes times = times_of(o, own, [&] { plan.run(); });
    rows.push_back(row_of("float, dense features", times, own.memory().peak));
    return rows;
  }
  std::string absent;
  if (const auto rival = GnnRival::make(real, dataset, own, absent)) {
    const RunTimes times = times_of(o, own, [&] { rival->run(); });
    rows.push_back(row_of("cuBLAS + cuSPARSE", times, own.memory().peak));
  } else {
    rows.push_back({{"form", "cuBLAS + cuSPARSE"}, {"absent", absent}});
  }
  return rows;
}

void print_gnn_head(const Device& device) {
  fmt::print(
      "Graph networks on {}, random weights\n"
      "latency: the host waits for each run; stream: it does not\n\n"
      "  {:<30}{:>12}{:>12}{:>12}{:>10}\n",
      device.is_host() ? counted(static_cast<std::size_t>(device.threads()), "thread") : device.name(), "form",
      "latency us", "stream us", "peak", "ratio");
}

void print_rows(const std::string& head, const Json& rows) {
  const Json& rival = rows.back();
  fmt::print("{}\n", head);
  for (const Json& row : rows) {
    if (row.contains("absent")) {
      fmt::print(
          "{}\n",
          wrapped(fmt::format("  {:<30}{}", row["form"].get<std::string>(), row["absent"].get<std::string>()), 32));
      continue;
    }
    const double stream = row["stream_us"].get<double>();
    fmt::print("  {:<30}{:>12.1f}{:>12.1f}{:>12}", row["form"].get<std::string>(), row["latency_us"].get<double>(),
               stream, human_bytes(row["peak_bytes"].get<double>()));
    if (rival.contains("stream_us")) fmt::print("{:>10.2f}", rival["stream_us"].get<double>() / stream);
    fmt::print("\n");
  }
}

void run_bench_gnn(const BenchGnnOptions& o) {
  const Device device = o.common.make_device();
  std::vector<nn::Architecture> architectures;
  std::stringstream words(o.models);
  for (std::string word; std::getline(words, word, ',');) architectures.push_back(nn::architecture_from_string(word));
  if (architectures.empty()) fail(ErrorCode::usage, "--models names none");
  Json report{
      {"benchmark", "gnn"}, {"device", device.name()}, {"threads", device.threads()}, {"results", Json::array()}};
  Progress progress("measuring", o.common.quiet);
  std::size_t done = 0;
  const std::vector<std::string> usual =
      device.is_host() ? std::vector<std::string>{"cora", "citeseer"}
                       : std::vector<std::string>{"cora", "citeseer", "planted:flickr", "planted:reddit"};
  const auto& datasets = o.datasets.empty() ? usual : o.datasets;
  for (const std::string& name : datasets) require_data(name);
  for (const std::string& name : datasets) {
    Json split;
    const Dataset dataset = load_for_training(name, o.split, device, {}, split);
    if (!o.common.json && done == 0) print_gnn_head(device);
    const std::size_t hidden = o.hidden != 0 ? o.hidden : usual_width(name, dataset.graph.nrows());
    for (const nn::Architecture architecture : architectures) {
      progress.update(done++, datasets.size() * architectures.size(), name);
      const Json rows = measure_model(o, architecture, dataset, hidden, device);
      const std::string model(nn::to_string(architecture));
      report["results"].push_back({{"dataset", dataset.name},
                                   {"num_nodes", dataset.graph.nrows()},
                                   {"num_entries", dataset.graph.nvals()},
                                   {"model", model},
                                   {"hidden", hidden},
                                   {"rows", rows}});
      if (!o.common.json) print_rows(fmt::format("{}, {} {}", name, model, hidden), rows);
    }
  }
  if (o.datasets.empty()) {
    if (!o.common.json) fmt::print("\n");
    const std::vector<std::string> graphs =
        device.is_host() ? std::vector<std::string>{"planted:flickr/4"}
                         : std::vector<std::string>{"planted:flickr", "planted:arxiv", "rmat:18", "planted:reddit"};
    report["operators"] = operators_report(o.common, graphs)["results"];
  }
  if (o.common.json) fmt::print("{}\n", report.dump(2));
}

}  // namespace

void add_bench_gnn(CLI::App& bench) {
  auto options = std::make_shared<BenchGnnOptions>();
  CLI::App* command = bench.add_subcommand("gnn",
                                           "Graph networks in full precision and in bits, two layers. On a CUDA device "
                                           "beside the same network by cuBLAS and\n"
                                           "cuSPARSE in a CUDA graph; on the host beside full precision with dense "
                                           "features. A ratio above 1: ours is faster");
  command->add_option(
      "dataset", options->datasets,
      "names, .npz files, folders, or planted:flickr, planted:reddit ...; none: cora and citeseer, on a "
      "CUDA device those two too, and the operators behind them");
  command->add_option("--models", options->models, "which, with commas between")->capture_default_str();
  command
      ->add_option("--hidden", options->hidden,
                   "hidden width; 0: 64 for small graphs, 256 for middle ones such as Flickr's, 128 for large ones "
                   "such as Reddit's")
      ->check(whole_number(0, 1 << 20))
      ->capture_default_str();
  command->add_option("--repeats", options->repeats, "runs that are timed")
      ->check(whole_number(1, 100000))
      ->capture_default_str();
  command->add_option("--limit", options->limit, "seconds for the runs of one form; slow ones take fewer")
      ->check(not_negative())
      ->capture_default_str();
  add_split(*command, options->split, "the file's; else seed 0");
  add_common(*command, options->common);
  add_examples(
      *command,
      "  bitgraph bench gnn cora --threads 2\n  bitgraph bench gnn cora citeseer planted:flickr --device cuda\n");
  add_actions(
      *command, options->common, [options] { run_bench_gnn(*options); },
      [options] {
        const auto models = static_cast<double>(1 + std::count(options->models.begin(), options->models.end(), ','));
        const std::vector<std::string> usual{"cora", "citeseer"};
        return estimate_bench(options->datasets.empty() ? usual : options->datasets, models * 4, options->limit,
                              options->common);
      });
}

}  // namespace bitgraph::cli
