// SPDX-License-Identifier: Apache-2.0
#include "cli/estimate/estimate_network.hpp"

#include <bitgraph/core/error.hpp>

#include "cli/estimate/estimate_graph.hpp"
#include "cli/estimate/estimate_rates.hpp"
#include "cli/estimate/graph_size.hpp"
#include "nn/model/architectures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace bitgraph::cli {

namespace {

using rates::ns;

/// What a layer is asked for: its sizes.
struct Shape {
  double inputs = 0, outputs = 0;
  bool aggregates = true, root = false;
};

/// Adds the program's start, and loading; returns the bytes held after it.
double add_dataset_load(Estimate& estimate, const Machine& machine, const DatasetSize& size) {
  using namespace rates;
  add_start(estimate, machine);
  const double features = size.dense ? 4 * size.feature_values : 8 * size.feature_values + 8 * size.graph.nodes;
  const double held = program_bytes + pattern_bytes(size.graph) + features + 8 * size.graph.nodes;
  const double entries = size.graph.entries;
  if (size.planted) {
    const double work = entries * planted_entry + size.feature_values * planted_feature;
    estimate.steps.push_back({"generate", machine.parallel(work * ns), held + 9 * entries});
  } else {
    const double work = entries * assemble_entry + size.feature_values * npz_entry;
    estimate.steps.push_back({"read", machine.parallel(work * ns), held + size.graph.file_bytes});
  }
  estimate.assumptions.insert(estimate.assumptions.end(), size.graph.assumptions.begin(), size.graph.assumptions.end());
  return held;
}

/// Nanoseconds of one run on one thread.
double run_nanoseconds(const std::vector<Shape>& shapes, nn::Precision form, const DatasetSize& size) {
  using namespace rates;
  const bool real = !form.multiplies_signs();
  const double aggregate = real ? float_aggregate : form == nn::Precision::full ? full_aggregate : vote;
  double sum = 0;
  for (std::size_t n = 0; n < shapes.size(); ++n) {
    const Shape& s = shapes[n];
    const bool sparse = n == 0 && !size.dense;
    const double each = sparse ? (real ? sparse_product : bit_product) : real ? float_product : float_product / 16;
    const double multiplied = sparse ? size.feature_values : size.graph.nodes * s.inputs;
    sum += (s.root ? 2 : 1) * multiplied * s.outputs * each;
    if (s.aggregates) sum += (size.graph.entries + size.graph.nodes) * s.outputs * aggregate;
  }
  return sum + 2e4;
}

/// Bytes of the values between layers, in floats.
double activation_bytes(const std::vector<Shape>& shapes, const DatasetSize& size) {
  double widest = 0;
  double classes = 0;
  for (const Shape& s : shapes) {
    widest = std::max(widest, s.outputs * (s.root ? 2 : 1));
    classes = s.outputs;
  }
  return 4 * size.graph.nodes * (2 * widest + 2 * classes);
}

double weight_bytes(const std::vector<Shape>& shapes) {
  double sum = 0;
  for (const Shape& s : shapes) sum += 4 * s.inputs * s.outputs * (s.root ? 2 : 1);
  return sum;
}

/// Bytes of all values of a float model at once, which quantizing keeps: products, sums, and these rectified.
double calibration_bytes(const nn::Model& model, const DatasetSize& size) {
  double columns = 0;
  for (const nn::Layer& layer : model.layers)
    columns += static_cast<double>(layer.outputs() * (layer.root.empty() ? 3 : 5));
  return 4 * size.graph.nodes * columns;
}

/// Throws bad_input where the model is not for the data set's features.
void require_features(const nn::Model& model, const DatasetSize& size, const std::string& dataset) {
  const bool known = size.planted || size.graph.format == GraphFileFormat::npz;
  if (known && size.features != static_cast<double>(model.num_features())) {
    fail(ErrorCode::bad_input, fmt::format("{}: the data set has {:.0f} features, the model takes {}", dataset,
                                           size.features, model.num_features()));
  }
}

/// Adds so many runs of a model as one step; `held` bytes are there.
void add_runs(Estimate& estimate, const Machine& machine, const DatasetSize& size, double held, const nn::Model& model,
              nn::Precision form, std::size_t runs, const std::string& step) {
  std::vector<Shape> shapes;
  for (const nn::Layer& layer : model.layers) {
    shapes.push_back({static_cast<double>(layer.inputs()), static_cast<double>(layer.outputs()),
                      layer.aggregation != nn::Aggregation::none, !layer.root.empty()});
  }
  const double copies = 8 * size.feature_values;
  const double plan =
      activation_bytes(shapes, size) + static_cast<double>(model.bytes()) + copies + pattern_bytes(size.graph);
  const double once = run_nanoseconds(shapes, form, size) * ns;
  const auto count = static_cast<double>(runs);
  if (machine.cuda()) {
    estimate.device_bytes = std::max(estimate.device_bytes, plan);
    estimate.steps.push_back({step, machine.serial(once * count / rates::device_factor + 2e-5 * count), held});
  } else {
    estimate.steps.push_back({step, machine.parallel(once * count), held + plan});
  }
}

}  // namespace

Estimate estimate_runs(const nn::Model& model, const std::string& dataset, const std::vector<nn::Precision>& forms,
                       std::size_t runs, const Common& common) {
  const DatasetSize size = dataset_size_of(dataset);
  require_features(model, size, dataset);
  const Machine machine(common);
  Estimate estimate;
  const double held = add_dataset_load(estimate, machine, size);
  for (const nn::Precision form : forms) {
    add_runs(estimate, machine, size, held, model, form, runs,
             fmt::format("{} runs in the form {}", runs, to_string(form)));
  }
  return estimate;
}

Estimate estimate_tuning(std::span<const nn::Model> models, const std::string& dataset, const nn::TuneOptions& options,
                         const Common& common) {
  constexpr std::size_t candidates = 40;
  const DatasetSize size = dataset_size_of(dataset);
  for (const nn::Model& model : models) require_features(model, size, dataset);
  const Machine machine(common);
  Estimate estimate;
  const double held = add_dataset_load(estimate, machine, size);
  double left = options.seconds;
  const auto limit = [&](double most) {
    double& seconds = estimate.steps.back().seconds;
    seconds = std::min(seconds, most);
    left -= seconds;
  };
  for (const nn::Model& model : models) {
    if (model.precision == nn::Precision::real && !options.bits.empty()) {
      const std::size_t tries = 12 * model.layers.size();
      add_runs(estimate, machine, size, held + calibration_bytes(model, size), model, model.precision, tries,
               fmt::format("{} tries of bits", tries));
      limit(left / 2);
    }
    add_runs(estimate, machine, size, held, model, model.precision, candidates * options.repeats,
             fmt::format("{} candidates", candidates));
    limit(left);
  }
  estimate.assumptions.push_back(fmt::format("{} candidates of each model, and no more than --seconds", candidates));
  return estimate;
}

Estimate estimate_training(const nn::TrainOptions& options, const std::string& dataset, bool teacher_given,
                           const Common& common) {
  const DatasetSize size = dataset_size_of(dataset);
  if (size.features == 0) fail(ErrorCode::bad_input, dataset + ": the nodes have no features");
  const Machine machine(common);
  Estimate estimate;
  const double held = add_dataset_load(estimate, machine, size);
  std::vector<Shape> shapes;
  for (const nn::LayerShape& s : nn::layer_shapes(options.architecture, static_cast<std::size_t>(size.features),
                                                  options.hidden, static_cast<std::size_t>(std::max(1.0, size.classes)),
                                                  options.depth, options.jumping_knowledge)) {
    shapes.push_back({static_cast<double>(s.inputs), static_cast<double>(s.outputs),
                      s.aggregation != nn::Aggregation::none, s.root});
  }
  const bool binary = options.precision != nn::Precision::real;
  const bool whole_graph = !nn::traits_of(options.architecture).sampled();
  const auto training_nodes = static_cast<std::size_t>(std::max(1.0, size.graph.nodes / 2));
  // Over the whole graph a binary form draws dropout of, and differentiates by, every feature of every node, but where
  // features are sparse and on the host.
  const bool by_entries = !size.dense && !machine.cuda();
  const double dense = binary && whole_graph && !by_entries ? 2 * size.graph.nodes * size.features : 0;
  const double state = 2.5 * activation_bytes(shapes, size) + 6 * weight_bytes(shapes) + dense;
  const double once = run_nanoseconds(shapes, nn::Precision::real, size) * ns;
  const auto add = [&](const std::string& what, nn::Precision precision) {
    nn::TrainOptions recipe = options;
    recipe.precision = precision;
    if (precision != options.precision && whole_graph) recipe.epochs.reset();  // of a teacher
    const double epochs = static_cast<double>(
        nn::preset(recipe, {.training_nodes = training_nodes, .dense_features = size.dense}).epochs.value_or(200));
    const double epoch = once * rates::training_factor * (whole_graph ? 1 : 2) + rates::epoch_seconds + dense * 2 * ns;
    const double host = machine.parallel(epochs * epoch);
    estimate.steps.push_back({fmt::format("{}, {:.0f} epochs", what, epochs), machine.cuda() ? host / 30 : host,
                              held + (machine.cuda() ? 0 : state)});
  };
  if (machine.cuda()) estimate.device_bytes = held + state;
  const bool trains_teacher = !teacher_given && (binary || options.self_distillation);
  if (trains_teacher && binary && whole_graph) add("train the teacher's teacher", nn::Precision::real);
  if (trains_teacher) add("train the teacher", nn::Precision::real);
  add("train", options.precision);
  estimate.assumptions.emplace_back(
      "all epochs, over the whole graph, and 10 classes; time within some times what it says");
  return estimate;
}

}  // namespace bitgraph::cli
