// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/io/partition.hpp>
#include <bitgraph/nn/tune.hpp>

#include "cli/command.hpp"
#include "cli/commands/network/measure.hpp"
#include "cli/commands/network/plot.hpp"
#include "cli/estimate/estimate_network.hpp"
#include "cli/help.hpp"
#include "cli/ranges.hpp"
#include "io/file/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace bitgraph::cli {

namespace {

struct TuneOptions {
  Common common;
  std::string model, dataset, out, out_model, plot, memory, partition, bits = "auto";
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
    const std::string rows = c.row_parts > 1 ? fmt::format(", rows in {} parts", c.row_parts) : "";
    return (several() ? names[c.model] + ": " : "") + c.options.describe() + rows;
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

/// "auto", "none", or numbers with commas between them.
std::vector<int> bits_from(const std::string& text) {
  if (text == "auto") return nn::TuneOptions().bits;
  std::vector<int> bits;
  if (text == "none") return bits;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    const auto number = number_of<int>(text.substr(from, end - from));
    if (!number || *number < 1 || *number > 16) {
      fail(ErrorCode::usage,
           fmt::format("--bits {}: expected auto, none, or numbers from 1 to 16 such as 8,4", printable(text, 80)));
    }
    bits.push_back(*number);
    from = end + 1;
  }
  std::sort(bits.begin(), bits.end(), std::greater<>());
  bits.erase(std::unique(bits.begin(), bits.end()), bits.end());
  return bits;
}

/// Throws usage where the choice may be a model that no file is named for, or a file is named for what cannot be.
void require_place_for_choice(const TuneOptions& o, const Models& models) {
  const bool quantizes = !o.tune.bits.empty() &&
                         std::any_of(models.loaded.begin(), models.loaded.end(),
                                     [](const nn::Model& model) { return model.precision == nn::Precision::real; });
  if (!quantizes && !o.out_model.empty())
    fail(ErrorCode::usage, "--out-model: nothing is quantized: that needs a float model, and --bits other than none");
  if (quantizes && !o.out.empty() && o.out_model.empty()) {
    fail(ErrorCode::usage,
         "--out: the choice may be a quantized model: name a file for it with --out-model, or give --bits none");
  }
}

Json row_of(const Models& models, const nn::TuneCandidate& c) {
  return {{"model", models.files[c.model]},
          {"quantized", c.quantized.has_value()},
          {"options", c.options.describe()},
          {"val_accuracy", c.validation_accuracy},
          {"latency_us", c.microseconds},
          {"peak_bytes", c.peak_bytes},
          {"predicted_bytes", c.predicted_bytes},
          {"row_parts", c.row_parts},
          {"batches", c.batches},
          {"front", c.on_front}};
}

void add_report(Json& result, const Models& models, const nn::TuneReport& report, const std::string& chosen_file) {
  result["seconds"] = report.seconds;
  result["complete"] = report.complete;
  result["default"] = report.has_default ? row_of(models, report.candidates[0]) : Json();
  result["chosen"] = row_of(models, report.candidates[report.chosen]);
  result["chosen_file"] = chosen_file.empty() ? Json() : Json(chosen_file);
  for (const nn::TuneCandidate& c : report.candidates) result["candidates"].push_back(row_of(models, c));
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
                    n == 0 && report.has_default ? " [default]" : "", n == report.chosen ? " [chosen]" : "");
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

/// The file of the model that the choice runs; empty: that has none.
std::string file_of_choice(const TuneOptions& o, const Models& models, const nn::TuneCandidate& chosen) {
  return chosen.quantized ? o.out_model : models.files[chosen.model];
}

/// The model that the choice runs, where it is a quantized one; and the plan, with the model that it is for.
void save_choice(const TuneOptions& o, const Models& models, const nn::TuneReport& report) {
  const nn::TuneCandidate& chosen = report.candidates[report.chosen];
  const nn::Model& model = report.model_of(chosen, models.loaded);
  if (chosen.quantized && !o.out_model.empty()) model.save(o.out_model);
  if (o.out.empty()) return;
  nn::InferenceOptions plan = chosen.options;
  plan.model_file = file_of_choice(o, models, chosen);
  plan.model_fingerprint = model.fingerprint();
  if (plan.partition != nullptr) plan.partition_file = o.partition;
  plan.save(o.out);
}

/// What was written, and what is to be done with it.
void print_files(const TuneOptions& o, const Models& models, const nn::TuneCandidate& chosen) {
  const std::string file = file_of_choice(o, models, chosen);
  if (models.several() || chosen.quantized)
    fmt::print("chosen: {} of {}\n", chosen.options.describe(), models.files[chosen.model]);
  if (chosen.quantized && o.out_model.empty()) fmt::print("to keep the quantized model give --out-model FILE\n");
  if (chosen.quantized && !o.out_model.empty()) fmt::print("quantized model written to {}\n", o.out_model);
  if (!chosen.quantized && !o.out_model.empty())
    fmt::print("{} is not written: no quantized model is quicker within --max-loss\n", o.out_model);
  if (o.out.empty()) return;
  fmt::print("plan written to {}, for {}\n", o.out, file);
  if (chosen.row_parts > 1) fmt::print("give infer --memory {} too: a plan does not hold the limit\n", o.memory);
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
  o.tune.bits = bits_from(o.bits);
  if (!o.memory.empty()) o.tune.memory = bytes_from(o.memory);
  const Models models = load_models(o);
  require_place_for_choice(o, models);
  Json split;
  const Dataset dataset = load_for_training(o.dataset, o.split, device, models.pointers(), split);
  require_fit(models, dataset);
  warn_of_training_data(split, dataset);
  o.tune.max_loss = o.max_loss / 100;
  std::optional<Partition> partition;
  if (!o.partition.empty()) partition = load_partition(o.partition, dataset.graph);
  for (const std::size_t of_batch : o.tune.batch_parts) require_batch_parts(of_batch, partition->num_parts());
  o.tune.partition = partition ? &*partition : nullptr;
  Progress progress("tuning", o.common.quiet);
  std::size_t tried = 0;
  const auto report = nn::tune(std::span(models.loaded), dataset, o.tune, device, [&](const nn::TuneCandidate& c) {
    ++tried;
    progress.update(tried, std::max<std::size_t>(tried, 40),
                    fmt::format("{}: {:.0f} us", models.label(c), c.microseconds));
  });
  const nn::TuneCandidate& chosen = report.candidates[report.chosen];
  save_choice(o, models, report);
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
                {"threads", device.threads()}};
    add_report(result, models, report, file_of_choice(o, models, chosen));
    if (!next.empty()) result["next"] = next;
    fmt::print("{}\n", result.dump(2));
    return;
  }
  fmt::print("{}: {} candidates in {:.1f} s{}\n", subject, report.candidates.size(), report.seconds,
             report.complete ? "" : " (stopped early: give more --seconds)");
  fmt::print("  {}\n", split_line(split));
  print_report(models, report);
  print_files(o, models, chosen);
  if (!next.empty()) fmt::print("to train a model of single bits from this one:\n  {}\n", next);
}

}  // namespace

void add_tune(CLI::App& app) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App* command = app.add_subcommand(
      "tune", "Find the fastest way to run a model on a graph: bits, kernels, format, node order, batches of parts");
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
  add_output(*command, options->common, "--out-model", options->out_model,
             "write the model that the choice runs to this file, where it is a quantized one");
  add_output(*command, options->common, "--plot", options->plot, "write accuracy over latency to this SVG file");
  command
      ->add_option(
          "--bits", options->bits,
          "bits that numbers of quantized candidates may have, such as 8,4; auto: 8,4,2; none: quantize nothing")
      ->capture_default_str();
  command->add_option(
      "--memory", options->memory,
      "most bytes that a candidate may hold, such as 2G or 500M; the rows of the graph are split if need be");
  CLI::Option* partition =
      add_input(*command, options->common, "--partition", options->partition,
                "a part file of bitgraph partition: try batches of parts too, without the edges to other batches");
  command
      ->add_option(
          "--batch-parts", options->tune.batch_parts,
          "parts in a batch, of one candidate each, such as 2,10; default: half of the parts, a quarter and so "
          "on, the four largest that fit into --memory")
      ->type_size(1)
      ->allow_extra_args(false)
      ->delimiter(',')
      ->check(whole_number(1, most_nodes))
      ->needs(partition);
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
               "  bitgraph tune float.safetensors cora --out cora.plan.json --out-model small.safetensors\n"
               "  bitgraph tune bin.safetensors cora --out cora.plan.json --plot cora.svg\n"
               "  bitgraph tune float.safetensors cora --memory 20M --partition cora.parts.safetensors\n"
               "  bitgraph tune bin.safetensors cora --also full.safetensors --max-loss 1.5 "
               "--out cora.plan.json\n");
  add_actions(
      *command, options->common, [options] { run_tune(*options); },
      [options] {
        options->tune.bits = bits_from(options->bits);
        return estimate_tuning(load_models(*options).loaded, options->dataset, options->tune, options->common);
      });
}

}  // namespace bitgraph::cli
