// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/network/measure.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/ops/log_softmax.hpp>

#include "cli/graph_command/graph_command.hpp"
#include "cli/graph_command/planted_spec.hpp"
#include "cli/ranges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace bitgraph::cli {

namespace {

struct Latency {
  double median = 0;
  double p95 = 0;
};

Latency time_runs(nn::InferencePlan& plan, std::size_t repeats, const Device& device) {
  std::vector<double> microseconds;
  for (std::size_t n = 0; n < repeats + 3; ++n) {
    const auto start = std::chrono::steady_clock::now();
    plan.run();
    device.synchronize();
    const double time = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    if (n >= 3) microseconds.push_back(time);
  }
  std::sort(microseconds.begin(), microseconds.end());
  return {microseconds[microseconds.size() / 2],
          microseconds[std::min(microseconds.size() - 1, microseconds.size() * 95 / 100)]};
}

/// Microseconds a run where the host does not wait for each: what a stream of them costs.
double time_stream(nn::InferencePlan& plan, std::size_t repeats, const Device& device) {
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t n = 0; n < repeats; ++n) plan.run();
  device.synchronize();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() /
         static_cast<double>(repeats);
}

}  // namespace

void add_split(CLI::App& app, SplitChoice& split, const std::string& otherwise) {
  app.add_option("--split-seed", split.seed,
                 "draw a new split with this seed: 20 training and 30 validation nodes of each class, of many graphs "
                 "0.8,0.1,0.1 of each class, or by --split-shares; default: " +
                     otherwise)
      ->check(whole_number(0, 0x7FFFFFFF));
  app.add_option("--split-shares", split.shares,
                 "draw a new split with these shares of training, validation and test nodes, or graphs, such as "
                 "0.5,0.25,0.25")
      ->delimiter(',')
      ->expected(3)
      ->check(number_between(0, 1));
}

void require_batch_parts(std::size_t of_batch, std::size_t parts) {
  if (of_batch > parts) fail(ErrorCode::usage, fmt::format("--batch-parts {}: there are {} parts", of_batch, parts));
}

void require_data(const std::string& name) {
  if (!planted_of_spec(name, 0)) static_cast<void>(require_dataset(name));
}

namespace {

/// Draws the split that was asked for.
void draw(Dataset& dataset, const SplitChoice& split) {
  const auto seed = static_cast<std::uint64_t>(std::max(0, split.seed));
  if (split.shares.empty() && dataset.num_graphs() != 0)
    return inductive_split(dataset, {.train = 0.8, .validation = 0.1, .test = 0.1}, seed);
  if (split.shares.empty()) return draw_split(dataset, {.seed = seed});
  inductive_split(dataset, {split.shares[0], split.shares[1], split.shares[2]}, seed);
}

bool has_split(const Dataset& dataset) {
  return !dataset.train.empty() || !dataset.validation.empty() || !dataset.test.empty();
}

Json json_of(const Split& split, const char* from) {
  Json json;
  switch (split.kind) {
    case SplitKind::file: json["kind"] = "file"; break;
    case SplitKind::per_class:
      json = {{"kind", "per-class"},
              {"seed", split.seed},
              {"per_class", {split.train_per_class, split.validation_per_class}}};
      break;
    case SplitKind::shares:
      json = {{"kind", "shares"},
              {"seed", split.seed},
              {"shares", {split.shares.train, split.shares.validation, split.shares.test}}};
  }
  json["from"] = from;
  json["text"] = split.describe();
  return json;
}

/// How many of the nodes or graphs that are judged are among `trained`.
std::size_t count_judged(const Dataset& dataset, std::span<const NodeId> trained) {
  std::vector<bool> learned(dataset.num_samples(), false);
  for (const NodeId sample : trained) learned[sample] = true;
  std::size_t count = 0;
  for (const auto* part : {&dataset.validation, &dataset.test})
    count += static_cast<std::size_t>(std::count_if(part->begin(), part->end(), [&](NodeId n) { return learned[n]; }));
  return count;
}

/// A data set's split: the three parts, and how they came about.
struct Parts {
  std::vector<NodeId> train, validation, test;
  Split split;

  static Parts of(const Dataset& dataset) { return {dataset.train, dataset.validation, dataset.test, dataset.split}; }
  void put_on(Dataset& dataset) const {
    dataset.train = train;
    dataset.validation = validation;
    dataset.test = test;
    dataset.split = split;
  }
};

/// The split that a model was trained with, by its record; none where the data set has no such split.
std::optional<Parts> trained_split(Dataset& dataset, const nn::Model& model) {
  if (!model.trained) return std::nullopt;
  const Parts own = Parts::of(dataset);
  if (!model.trained->restore(dataset)) return std::nullopt;
  Parts found = Parts::of(dataset);
  own.put_on(dataset);
  return found;
}

Dataset load_or_make(const std::string& name, const Device& device) {
  const Device host = device.is_host() ? device : Device::host(device.threads());
  const auto planted = planted_of_spec(name, 0);
  if (!planted) return load_dataset(require_dataset(name), host);
  Dataset dataset = generate_planted_graph(*planted, host);
  dataset.name = name;
  return dataset;
}

}  // namespace

Dataset load_for_training(const std::string& name, const SplitChoice& split, const Device& device,
                          std::span<const nn::Model* const> models, Json& result) {
  const auto start = std::chrono::steady_clock::now();
  Dataset dataset = load_or_make(name, device);
  result["read_seconds"] = seconds_since(start);
  if (dataset.num_features() == 0) fail(ErrorCode::bad_input, name + ": the nodes have no features");
  // Before another split is drawn: a model may have been trained with the file's.
  std::vector<std::optional<Parts>> trained;
  for (const nn::Model* model : models) trained.push_back(trained_split(dataset, *model));
  const bool labelled = dataset.num_classes != 0;
  const char* from = "file";
  if (split.seed >= 0 || !split.shares.empty()) {
    if (!labelled)
      fail(ErrorCode::bad_input,
           fmt::format("{}: the {} have no labels: no split can be drawn", name, samples_of(dataset)));
    draw(dataset, split);
    from = "option";
  } else if (!models.empty() && trained.front()) {
    trained.front()->put_on(dataset);
    from = "model";
  } else if (!has_split(dataset) && labelled) {
    draw(dataset, split);
    from = "default";
  }
  result["split"] = has_split(dataset) ? json_of(dataset.split, from) : Json();
  if (models.empty()) return dataset;
  std::size_t most = 0;
  bool known = true;
  for (std::size_t m = 0; m < models.size(); ++m) {
    known = known && trained[m].has_value();
    if (trained[m]) most = std::max(most, count_judged(dataset, trained[m]->train));
  }
  result["trained_nodes_tested"] = known ? Json(most) : Json();
  const bool recorded =
      std::all_of(models.begin(), models.end(), [](auto* model) { return model->trained.has_value(); });
  const std::string fingerprint = recorded ? dataset.fingerprint() : std::string();
  result["same_data"] = !recorded ? Json() : Json(std::all_of(models.begin(), models.end(), [&](auto* model) {
    return model->trained->data == fingerprint;
  }));
  return dataset;
}

void warn_of_training_data(const Json& result, const Dataset& dataset) {
  if (result["same_data"] == Json(false)) {
    warn(dataset.name + " is not the data that the model was trained on: its graph, features or labels differ");
  }
  const Json& tested = result["trained_nodes_tested"];
  if (tested.is_null() || tested == 0) return;
  warn(
      fmt::format("{} of the {} validation and test {} trained the model: accuracy on them is too good. Leave out "
                  "--split-seed and --split-shares to use the split that the model remembers",
                  tested.get<std::size_t>(), dataset.validation.size() + dataset.test.size(), samples_of(dataset)));
}

const char* samples_of(const Dataset& dataset) { return dataset.num_graphs() != 0 ? "graphs" : "nodes"; }

void put_sizes(Json& result, const Dataset& dataset) {
  result["dataset"] = dataset.name;
  result["num_nodes"] = dataset.graph.nrows();
  if (dataset.num_graphs() != 0) result["num_graphs"] = dataset.num_graphs();
}

std::string split_line(const Json& result) {
  const Json& split = result["split"];
  if (split.is_null()) return "split: none";
  const std::string from = split["from"];
  std::string line = "split: " + split["text"].get<std::string>();
  if (from == "model") line += " (remembered by the model)";
  if (from == "default") line += " (the data set has none)";
  if (result.contains("trained_nodes_tested") && result["trained_nodes_tested"].is_null())
    line += "; the given model does not say which nodes trained it";
  return line;
}

void add_normalize_rows(CLI::App& app, bool& normalize_rows) {
  app.add_flag("--normalize-rows", normalize_rows,
               "divide the features of each node by their sum, for a PyTorch model that was trained so and whose file "
               "does not say it");
}

nn::Model load_model(const std::string& file, bool normalize_rows) {
  nn::Model model = nn::Model::load(file);
  model.normalize_rows = model.normalize_rows || normalize_rows;
  return model;
}

void warn(const std::string& what) { fmt::print(stderr, "warning: {}\n", what); }

std::vector<nn::Precision> forms_of(const nn::Model& model, const std::string& wanted) {
  if (model.has_levels() && (wanted == "own" || wanted == "all")) return {model.precision};
  const bool real = !model.precision.multiplies_signs() && !model.has_levels();
  if (wanted == "all")
    return real ? std::vector{nn::Precision::real} : std::vector{nn::Precision::full, nn::Precision::bin};
  const nn::Precision form = wanted == "own" ? model.precision : nn::precision_from_string(wanted);
  if (model.has_levels() ? form != model.precision : form.has_levels() || form.multiplies_signs() == real) {
    fail(ErrorCode::usage,
         fmt::format("a model of precision {} has no form {}", to_string(model.precision), to_string(form)));
  }
  return {form};
}

namespace {

/// null where there are no such nodes.
Json accuracy_on(const DenseMatrix<float>& logits, std::span<const std::int32_t> labels,
                 std::span<const NodeId> nodes) {
  return nodes.empty() ? Json() : Json(score(logits, labels, nodes).accuracy());
}

std::string percent(const Json& accuracy) {
  return accuracy.is_null() ? "-" : fmt::format("{:.2f}%", accuracy.get<double>() * 100);
}

}  // namespace

DenseMatrix<float> measure_forms(Json& result, const nn::Model& model, const Dataset& dataset,
                                 const std::vector<nn::Precision>& forms, const MeasureOptions& options,
                                 const Device& device) {
  DenseMatrix<float> logits;
  const bool own_form_runs = std::find(forms.begin(), forms.end(), model.precision) != forms.end();
  for (const nn::Precision form : forms) {
    // A handle with its own record of memory.
    const Device own = device.is_host() ? Device::host(device.threads()) : Device::cuda(device.index());
    nn::InferenceOptions how = options.plan;
    if (how.forms.empty()) how.forms = model.layer_forms(form);
    const auto start = std::chrono::steady_clock::now();
    nn::InferencePlan plan(model, dataset, how, own);
    own.synchronize();
    const double plan_seconds = seconds_since(start);
    const DenseMatrix<float> out = plan.run().to(Device());
    const std::string name(to_string(form));
    result["accuracy"][name] = accuracy_on(out, dataset.labels, dataset.test);
    const nn::InferenceBytes bytes = plan.bytes();
    result["forms"][name] = nullptr;  // its place: what is added to `result` later moves all that stands in it
    Json of_form;
    of_form["val_accuracy"] = accuracy_on(out, dataset.labels, dataset.validation);
    of_form["features"] = plan.feature_format();
    of_form["plan_seconds"] = plan_seconds;
    of_form["bytes"] = {{"model", bytes.model},
                        {"graph", bytes.graph},
                        {"features", bytes.features},
                        {"predicted", plan.predicted().bytes},
                        {"peak", own.memory().peak}};
    of_form["parts"] = plan.predicted().parts;
    if (how.partition != nullptr) of_form["batches"] = plan.num_batches();
    if (how.partition != nullptr && !own.is_host()) of_form["bytes"]["host"] = plan.predicted().host_bytes;
    if (form == model.precision || !own_form_runs) {
      result["val_accuracy"] = of_form["val_accuracy"];
      result["bytes"] = of_form["bytes"];
    }
    const Latency latency = time_runs(plan, options.repeats, own);
    result["latency_us"][name] = {{"median", latency.median}, {"p95", latency.p95}};
    if (!own.is_host()) result["latency_us"][name]["stream"] = time_stream(plan, options.repeats, own);
    logits = out.clone();
    if (options.look) options.look(plan, of_form);
    result["forms"][name] = std::move(of_form);
  }
  result["device"] = device.name();
  result["threads"] = device.threads();
  return logits;
}

void print_forms(const Json& result) {
  fmt::print("  {:<6}{:>10}{:>12}{:>14}{:>10}\n", "form", "test", "validation", "median us", "p95 us");
  for (const auto& [form, accuracy] : result["accuracy"].items()) {
    fmt::print("  {:<6}{:>10}{:>12}{:>14.1f}{:>10.1f}\n", form, percent(accuracy),
               percent(result["forms"][form]["val_accuracy"]), result["latency_us"][form]["median"].get<double>(),
               result["latency_us"][form]["p95"].get<double>());
    if (result["latency_us"][form].contains("stream"))
      fmt::print("  {:<6}{:.1f} us a run of many\n", "", result["latency_us"][form]["stream"].get<double>());
  }
  if (result["accuracy"].contains("full") || result["accuracy"].contains("bin"))
    fmt::print("  full: products in bits, sums of neighbours in floats; bin: both in bits\n");
  fmt::print("  {:<6}{:>12}{:>12}{:>12}{:>12}\n", "bytes", "model", "graph", "features", "peak");
  for (const auto& [form, accuracy] : result["accuracy"].items()) {
    const auto& bytes = result["forms"][form]["bytes"];
    fmt::print("  {:<6}", form);
    for (const char* what : {"model", "graph", "features", "peak"})
      fmt::print("{:>12}", human_bytes(bytes[what].get<double>()));
    fmt::print("\n");
  }
}

}  // namespace bitgraph::cli
