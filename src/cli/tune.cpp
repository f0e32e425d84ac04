// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/tune.hpp>

#include "cli/command.hpp"
#include "cli/estimate_network.hpp"
#include "cli/help.hpp"
#include "cli/measure.hpp"
#include "cli/plot.hpp"
#include "cli/ranges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace bitgraph::cli {

namespace {

struct TuneOptions {
  Common common;
  std::string model, dataset, out, plot;
  std::vector<std::string> also;
  nn::TuneOptions tune;
  double max_loss = 1;
  bool normalize_rows = false;
  SplitChoice split;
};

/// The models that are judged together.
struct Models {
  std::vector<std::string> files;
  std::vector<std::string> names;  ///< short ones for tables
  std::vector<nn::Model> loaded;

  [[nodiscard]] std::vector<const nn::Model*> pointers() const {
    std::vector<const nn::Model*> all;
    for (const nn::Model& model : loaded) all.push_back(&model);
    return all;
  }

  [[nodiscard]] bool several() const noexcept { return files.size() > 1; }

  /// What a candidate runs as; of which model only where there are several.
  [[nodiscard]] std::string label(const nn::TuneCandidate& c) const {
    return (several() ? names[c.model] + ": " : "") + c.options.describe();
  }
};

/// The files without their folders, where that tells them apart.
std::vector<std::string> short_names(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const std::string& file : files) names.push_back(std::filesystem::path(file).filename().string());
  return std::set(names.begin(), names.end()).size() == names.size() ? names : files;
}

/// Each file once.
Models load_models(const TuneOptions& o) {
  Models models;
  const auto add = [&](const std::string& file) {
    std::error_code ignored;  // of a file that is not there; load says so
    const auto same = [&](const std::string& other) { return std::filesystem::equivalent(file, other, ignored); };
    if (std::any_of(models.files.begin(), models.files.end(), same)) return;
    models.loaded.push_back(load_model(file, o.normalize_rows));
    models.files.push_back(file);
  };
  add(o.model);
  for (const std::string& file : o.also) add(file);
  models.names = models.several() ? short_names(models.files) : models.files;
  return models;
}

/// Throws bad_input naming the file of a model that the data set is not for.
void require_fit(const Models& models, const Dataset& dataset) {
  for (std::size_t m = 0; m < models.files.size(); ++m) {
    try {
      models.loaded[m].require_fit(dataset);
    } catch (const Error& error) {
      fail(error.code(), fmt::format("{}: {}", models.files[m], error.what()));
    }
  }
}

Json row_of(const Models& models, const nn::TuneCandidate& c) {
  return {{"model", models.files[c.model]}, {"options", c.options.describe()}, {"val_accuracy", c.validation_accuracy},
          {"latency_us", c.microseconds},   {"peak_bytes", c.peak_bytes},      {"front", c.on_front}};
}

void print_report(const Models& models, const nn::TuneReport& report) {
  std::vector<std::size_t> order(report.candidates.size());
  for (std::size_t n = 0; n < order.size(); ++n) order[n] = n;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return report.candidates[a].microseconds < report.candidates[b].microseconds;
  });
  std::erase_if(order, [&](std::size_t n) { return !report.candidates[n].on_front && n != 0 && n != report.chosen; });
  fmt::print("  {:>10}{:>12}{:>12}  {}\n", "validation", "median us", "peak", "candidate");
  for (const std::size_t n : order) {
    const nn::TuneCandidate& c = report.candidates[n];
    const std::string line =
        fmt::format("  {:>9.2f}%{:>12.1f}{:>12}  {}{}{}{}", c.validation_accuracy * 100, c.microseconds,
                    human_bytes(static_cast<double>(c.peak_bytes)), models.label(c), c.on_front ? " [front]" : "",
                    n == 0 ? " [default]" : "", n == report.chosen ? " [chosen]" : "");
    fmt::print("{}\n", wrapped(line, 40));
  }
}

/// Accuracy over latency, a circle's area the memory.
std::string plot_of(const Models& models, const nn::TuneReport& report, const std::string& title) {
  std::vector<PlotPoint> points;
  for (std::size_t n = 0; n < report.candidates.size(); ++n) {
    const nn::TuneCandidate& c = report.candidates[n];
    const bool named = n == 0 || n == report.chosen;
    points.push_back({.x = c.microseconds,
                      .y = c.validation_accuracy * 100,
                      .area = static_cast<double>(c.peak_bytes),
                      .filled = c.on_front,
                      .label = named ? models.label(c) : std::string()});
  }
  return scatter_plot(points, {.title = title, .x = "latency, microseconds", .y = "validation accuracy, %"});
}

/// With the model that it is for.
void save_plan(const std::string& file, const Models& models, const nn::TuneCandidate& chosen) {
  nn::InferenceOptions plan = chosen.options;
  plan.model_file = models.files[chosen.model];
  plan.model_fingerprint = models.loaded[chosen.model].fingerprint();
  plan.save(file);
}

/// The command that makes a model in bits of a float one; empty where there is one of bits or of levels already.
std::string way_to_bits(const Models& models, const TuneOptions& o) {
  for (const nn::Model& model : models.loaded) {
    if (model.precision != nn::Precision::real) return {};
  }
  const std::string file = shell_word(models.files.front());
  return fmt::format("bitgraph train {} --precision bin --teacher {} --from {}{} --out bits.safetensors",
                     shell_word(o.dataset), file, file, o.normalize_rows ? " --normalize-rows" : "");
}

void run_tune(TuneOptions& o) {
  const Device device = o.common.make_device();
  const Models models = load_models(o);
  Json split;
  const Dataset dataset = load_for_training(o.dataset, o.split, device, models.pointers(), split);
  require_fit(models, dataset);
  warn_of_training_data(split, dataset);
  o.tune.max_loss = o.max_loss / 100;
  Progress progress("tuning", o.common.quiet);
  std::size_t tried = 0;
  const auto report = nn::tune(std::span(models.loaded), dataset, o.tune, device, [&](const nn::TuneCandidate& c) {
    ++tried;
    progress.update(tried, std::max<std::size_t>(tried, 40),
                    fmt::format("{}: {:.0f} us", models.label(c), c.microseconds));
  });
  const nn::TuneCandidate& chosen = report.candidates[report.chosen];
  if (!o.out.empty()) save_plan(o.out, models, chosen);
  const std::string others = models.several() ? fmt::format(" and {} more", models.files.size() - 1) : "";
  const std::string subject = fmt::format("{}{} on {}, {}", models.names[0], others, dataset.name, device.name());
  if (!o.plot.empty()) write_text(o.plot, plot_of(models, report, subject));
  const std::string next = way_to_bits(models, o);
  if (o.common.json) {
    Json result{{"model", o.model},
                {"models", models.files},
                {"dataset", dataset.name},
                {"split", split["split"]},
                {"trained_nodes_tested", split["trained_nodes_tested"]},
                {"same_data", split["same_data"]},
                {"device", device.name()},
                {"threads", device.threads()},
                {"seconds", report.seconds},
                {"complete", report.complete},
                {"default", row_of(models, report.candidates[0])},
                {"chosen", row_of(models, chosen)}};
    for (const nn::TuneCandidate& c : report.candidates) result["candidates"].push_back(row_of(models, c));
    if (!next.empty()) result["next"] = next;
    fmt::print("{}\n", result.dump(2));
    return;
  }
  fmt::print("{}: {} candidates in {:.1f} s{}\n", subject, report.candidates.size(), report.seconds,
             report.complete ? "" : " (stopped early: --seconds was reached)");
  fmt::print("  {}\n", split_line(split));
  print_report(models, report);
  const std::string& file = models.files[chosen.model];
  if (models.several()) fmt::print("chosen: {} of {}\n", chosen.options.describe(), file);
  if (!o.out.empty()) fmt::print("plan written to {}, for {}\n", o.out, file);
  if (!next.empty()) fmt::print("this model runs in floats alone; to have it in bits:\n  {}\n", next);
}

}  // namespace

void add_tune(CLI::App& app) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App* command = app.add_subcommand(
      "tune", "Find the fastest way to run a model on a graph: precision, kernels, format, node order");
  add_input(*command, options->common, "model", options->model, "a model file")->required();
  add_dataset(*command, options->common, "dataset", options->dataset,
              "the name of a data set, or a .npz file; it needs validation nodes")
      ->required();
  command
      ->add_option("--also", options->also,
                   "compare with this model too, such as one of another precision; repeat the option for "
                   "more models")
      ->type_size(1)
      ->allow_extra_args(false);
  options->common.files.reads("--also", [options = options.get()] { return options->also; });
  add_output(*command, options->common, "--out", options->out,
             "write the chosen plan to this JSON file, for infer --plan");
  add_output(*command, options->common, "--plot", options->plot, "write accuracy over latency to this SVG file");
  command->add_option("--seconds", options->tune.seconds, "start no new candidate after this many seconds")
      ->check(positive_number())
      ->capture_default_str();
  command->add_option("--repeats", options->tune.repeats, "number of timed runs of each candidate")
      ->check(whole_number(1, 1000000))
      ->capture_default_str();
  command
      ->add_option("--max-loss", options->max_loss, "percentage points of validation accuracy that the choice may lose")
      ->check(number_between(0, 100))
      ->capture_default_str();
  add_split(*command, options->split, "the one that the first model was trained with");
  add_normalize_rows(*command, options->normalize_rows);
  add_common(*command, options->common);
  add_examples(*command,
               "  bitgraph tune cora.safetensors cora --out cora.plan.json --plot cora.svg\n"
               "  bitgraph tune bin.safetensors cora --also full.safetensors --also float.safetensors --max-loss 1.5 "
               "--out cora.plan.json\n");
  add_actions(
      *command, options->common, [options] { run_tune(*options); },
      [options] {
        return estimate_tuning(load_models(*options).loaded, options->dataset, options->tune, options->common);
      });
}

}  // namespace bitgraph::cli
