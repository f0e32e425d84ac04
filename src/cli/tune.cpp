// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/tune.hpp>

#include "cli/command.hpp"
#include "cli/measure.hpp"
#include "cli/plot.hpp"
#include "cli/ranges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace bitgraph::cli {

namespace {

struct Options {
  Common common;
  std::string model, dataset, out, plot;
  nn::TuneOptions tune;
  double max_loss = 1;
  SplitChoice split;
};

Json row_of(const nn::TuneCandidate& c) {
  return {{"options", c.options.describe()},
          {"val_accuracy", c.validation_accuracy},
          {"latency_us", c.microseconds},
          {"peak_bytes", c.peak_bytes},
          {"front", c.on_front}};
}

void print_table(const nn::TuneReport& report) {
  std::vector<std::size_t> order(report.candidates.size());
  for (std::size_t n = 0; n < order.size(); ++n) order[n] = n;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return report.candidates[a].microseconds < report.candidates[b].microseconds;
  });
  fmt::print("  {:<52}{:>12}{:>14}{:>12}\n", "candidate", "validation", "median us", "peak");
  for (const std::size_t n : order) {
    const nn::TuneCandidate& c = report.candidates[n];
    if (!c.on_front && n != 0 && n != report.chosen) continue;
    fmt::print("  {:<52}{:>11.2f}%{:>14.1f}{:>12}{}{}{}\n", c.options.describe(), c.validation_accuracy * 100,
               c.microseconds, human_bytes(static_cast<double>(c.peak_bytes)), c.on_front ? "  front" : "",
               n == 0 ? "  default" : "", n == report.chosen ? "  chosen" : "");
  }
}

/// Accuracy over latency, a circle's area the memory.
std::string plot_of(const nn::TuneReport& report, const std::string& title) {
  std::vector<PlotPoint> points;
  for (std::size_t n = 0; n < report.candidates.size(); ++n) {
    const nn::TuneCandidate& c = report.candidates[n];
    const bool named = n == 0 || n == report.chosen;
    points.push_back({.x = c.microseconds,
                      .y = c.validation_accuracy * 100,
                      .area = static_cast<double>(c.peak_bytes),
                      .filled = c.on_front,
                      .label = named ? c.options.describe() : std::string()});
  }
  return scatter_plot(points, {.title = title, .x = "latency, microseconds", .y = "validation accuracy, %"});
}

void run(Options& o) {
  const Device device = o.common.make_device();
  require_writable({o.out, o.plot});
  const nn::Model model = nn::Model::load(o.model);
  const Dataset dataset = load_for_training(o.dataset, o.split, device);
  o.tune.max_loss = o.max_loss / 100;
  Progress progress("tuning", o.common.quiet);
  std::size_t tried = 0;
  const nn::TuneReport report = nn::tune(model, dataset, o.tune, device, [&](const nn::TuneCandidate& c) {
    ++tried;
    progress.update(tried, std::max<std::size_t>(tried, 40),
                    fmt::format("{}: {:.0f} us", c.options.describe(), c.microseconds));
  });
  const nn::TuneCandidate& chosen = report.candidates[report.chosen];
  if (!o.out.empty()) chosen.options.save(o.out);
  if (!o.plot.empty()) write_text(o.plot, plot_of(report, o.model + " on " + dataset.name + ", " + device.name()));
  if (o.common.json) {
    Json result{{"model", o.model},
                {"dataset", dataset.name},
                {"device", device.name()},
                {"threads", device.threads()},
                {"seconds", report.seconds},
                {"complete", report.complete},
                {"default", row_of(report.candidates[0])},
                {"chosen", row_of(chosen)}};
    for (const nn::TuneCandidate& c : report.candidates) result["candidates"].push_back(row_of(c));
    fmt::print("{}\n", result.dump(2));
    return;
  }
  fmt::print("{} on {}, {}: {} candidates in {:.1f} s{}\n", o.model, dataset.name, device.name(),
             report.candidates.size(), report.seconds, report.complete ? "" : " (the time was up before the end)");
  print_table(report);
  if (!o.out.empty()) fmt::print("plan written to {}\n", o.out);
}

}  // namespace

void add_tune(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "tune", "Try precisions, kernels, formats and orders of a model on a graph; the front of accuracy, time, memory");
  command->add_option("model", options->model, "model file")->required();
  command->add_option("dataset", options->dataset, "a name or a .npz file, with validation nodes")->required();
  command->add_option("--out", options->out, "write the chosen plan to this JSON file, for infer --plan");
  command->add_option("--plot", options->plot, "write accuracy over latency to this SVG file");
  command->add_option("--seconds", options->tune.seconds, "no further candidate is begun behind that")
      ->check(positive_number())
      ->capture_default_str();
  command->add_option("--repeats", options->tune.repeats, "runs of a candidate that are timed")
      ->check(whole_number(1, 1000000))
      ->capture_default_str();
  command->add_option("--max-loss", options->max_loss, "points of validation accuracy that the choice may lose")
      ->check(number_between(0, 100))
      ->capture_default_str();
  add_split(*command, options->split);
  add_common(*command, options->common);
  add_examples(*command, "  bitgraph tune cora.safetensors cora --out cora.plan.json --plot cora.svg\n");
  command->callback([options] { run(*options); });
}

}  // namespace bitgraph::cli
