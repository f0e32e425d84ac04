// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/train.hpp>

#include "core/median.hpp"
#include "nn/model/architectures.hpp"
#include "nn/model/reshape.hpp"
#include "nn/sampling/training_source.hpp"
#include "nn/training/checkpoint.hpp"
#include "nn/training/recipe.hpp"
#include "nn/training/sample_from.hpp"
#include "nn/training/trainer.hpp"

#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/part_batches.hpp>
#include <bitgraph/ops/log_softmax.hpp>
#include <bitgraph/ops/select.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace bitgraph::nn {

namespace {

/// How a model's layers differ from those that are trained; empty: they do not.
std::string misfit(const Model& model, const Dataset& dataset, const TrainOptions& options) {
  if (model.architecture != options.architecture)
    return fmt::format("are of {}, expected {}", to_string(model.architecture), to_string(options.architecture));
  const auto shapes =
      layer_shapes(options.architecture, dataset.num_features(), options.hidden,
                   static_cast<std::size_t>(dataset.num_classes), options.depth, options.jumping_knowledge);
  if (model.layers.size() != shapes.size())
    return fmt::format("have {} layers, expected {}", model.layers.size(), shapes.size());
  for (std::size_t l = 0; l < shapes.size(); ++l) {
    const Layer& layer = model.layers[l];
    if (layer.inputs() != shapes[l].inputs || layer.outputs() != shapes[l].outputs) {
      return fmt::format("of layer {} are {} x {}, expected {} x {}", l, layer.outputs(), layer.inputs(),
                         shapes[l].outputs, shapes[l].inputs);
    }
    if (layer.aggregation != shapes[l].aggregation || layer.root.empty() == shapes[l].root)
      return fmt::format("of layer {} are those of another architecture", l);
  }
  return {};
}

/// Its weights must be those that are trained.
void check_start(const Model& start, const Dataset& dataset, const TrainOptions& options) {
  const auto refuse = [](const std::string& what) {
    fail(ErrorCode::bad_input, "train: the starting weights " + what);
  };
  if (start.precision != Precision::real)
    refuse(fmt::format("are of a {} model, expected a float model", to_string(start.precision)));
  if (start.architecture == options.architecture) start.require_fit(dataset);
  const std::string wrong = misfit(start, dataset, options);
  if (!wrong.empty()) refuse(wrong);
}

void check(const Dataset& dataset, const TrainOptions& options) {
  require_supported(options.precision);
  const auto refuse = [](const std::string& what) { fail(ErrorCode::usage, "train: " + what); };
  if (dataset.num_classes == 0) fail(ErrorCode::bad_input, "train: the data set " + dataset.name + " has no labels");
  if (dataset.num_features() == 0)
    fail(ErrorCode::bad_input, "train: the data set " + dataset.name + " has no features");
  if (!is_symmetric(dataset.graph))
    fail(ErrorCode::bad_input, "train: the graph of " + dataset.name + " is directed, expected both directions");
  if (dataset.train.empty())
    fail(ErrorCode::bad_input, "train: the data set " + dataset.name + " has no training nodes");
  if (dataset.validation.empty()) {
    fail(ErrorCode::bad_input, fmt::format("train: the data set {} has no validation nodes, {} of {} are for training",
                                           dataset.name, dataset.train.size(), dataset.graph.nrows()));
  }
  if (measure_facts(dataset).classes < 2) {
    fail(ErrorCode::bad_input, fmt::format("train: the training and validation nodes of {} have fewer than two "
                                           "classes: there is nothing to tell apart",
                                           dataset.name));
  }
  if (dataset.num_graphs() != 0) {
    if (traits_of(options.architecture).sampled()) {
      refuse(fmt::format("{} has many graphs, and {} learns from samples of one: expected gcn or gin", dataset.name,
                         to_string(options.architecture)));
    }
    if (options.partition != nullptr) refuse("graphs are classified whole, a partition cuts them");
    // The mean of the features' signs is in the first layer's bias, once a node; the last one's is added once a graph.
    const bool one_layer =
        options.depth == 1 && !options.jumping_knowledge && layers_of_convolution(traits_of(options.architecture)) == 1;
    if (one_layer && options.precision.multiplies_signs())
      refuse("graphs in bits need a second layer: give a depth of at least 2, or jumping knowledge");
  }
  if (options.sample_from != SampleFrom::automatic && !traits_of(options.architecture).sampled())
    refuse(fmt::format("{} takes no samples: it sees the whole graph", to_string(options.architecture)));
  if (options.hidden == 0) refuse("the hidden width must be at least 1");
  if (options.depth == 0) refuse("a model needs at least one layer");
  if (*options.epochs == 0) refuse("at least one epoch is needed");
  if (!(*options.learning_rate > 0) || !std::isfinite(*options.learning_rate))
    refuse("the learning rate must be positive");
  if (!(*options.weight_decay >= 0) || !std::isfinite(*options.weight_decay))
    refuse("the weight decay must not be negative");
  if (!(*options.dropout >= 0 && *options.dropout < 1)) refuse("dropout must be at least 0 and below 1");
  if (*options.batch_size == 0) refuse("a batch needs at least one node");
  if (*options.walk_roots == 0) refuse("a sample needs at least one walk");
  if (options.fan_outs.size() != options.depth)
    refuse(fmt::format("{} fan-outs for {} layers that aggregate", options.fan_outs.size(), options.depth));
  if (std::find(options.fan_outs.begin(), options.fan_outs.end(), std::size_t{0}) != options.fan_outs.end())
    refuse("a fan-out must be at least 1");
  if (options.partition != nullptr) {
    options.partition->require_graph(dataset.graph, "train: the partition");
    if (*options.batch_parts == 0) refuse("a batch needs at least one part");
  } else if (options.batch_parts) {
    refuse("parts of a batch are given, and no partition");
  }
  if (options.teacher != nullptr) {
    if (options.teacher->precision != Precision::real) refuse("a teacher is a model in full precision");
    options.teacher->require_fit(dataset);
  }
  if (options.start != nullptr) check_start(*options.start, dataset, options);
  if (options.checkpoint_every == 0) refuse("checkpoints must be at least one epoch apart");
}

/// The options with all fields set, where they and the data set can be trained with.
TrainOptions complete(const TrainOptions& options, const Dataset& dataset) {
  dataset.validate();
  TrainOptions all = preset(options, size_of(dataset));
  check(dataset, all);
  return all;
}

/// The full-precision model that is learned from where none is given: the same shape, the same samples. Over one whole
/// graph, where it has a word on nodes without labels, the teacher of bits and of levels has learned from one itself.
TrainResult train_teacher(const Dataset& dataset, const TrainOptions& options, const Device& device,
                          const std::function<void(const EpochReport&)>& progress) {
  const bool of_binary = options.precision != Precision::real;
  const bool whole_graph = !traits_of(options.architecture).sampled() && dataset.num_graphs() == 0;
  TrainOptions recipe = options;
  recipe.precision = Precision::real;
  recipe.self_distillation = of_binary && whole_graph;
  if (!recipe.checkpoint.empty()) recipe.checkpoint += ".teacher";  // to go on with where that is what was stopped
  if (of_binary) {
    for (auto* number : {&recipe.learning_rate, &recipe.weight_decay, &recipe.dropout}) number->reset();
    if (whole_graph) recipe.epochs.reset(), recipe.patience.reset();
  }
  return train(dataset, recipe, device, [&](EpochReport report) {
    report.of_teacher = true;
    if (progress) progress(report);
  });
}

/// A data set that shares all but its graph, which has the edges between training nodes alone: those that a model sees
/// which is trained on samples of the training nodes.
Dataset without_unseen_edges(const Dataset& dataset) {
  std::vector<bool> seen(dataset.graph.nrows(), false);
  for (const NodeId node : dataset.train) seen[node] = true;
  return {.name = dataset.name,
          .graph = select(dataset.graph, [&](NodeId i, NodeId j) { return seen[i] && seen[j]; }),
          .features = {dataset.features.pattern.share(), dataset.features.values.share()},
          .dense_features = dataset.dense_features.share(),
          .labels = dataset.labels,
          .num_classes = dataset.num_classes};
}

/// What a model in full precision makes of all nodes.
DenseMatrix<float> predictions(const Model& teacher, const Dataset& dataset, const Device& device) {
  InferencePlan plan(teacher, dataset, {.forms = teacher.layer_forms(Precision::real)}, device);
  DenseMatrix<float> probabilities = plan.run().to(Device{});
  log_softmax_into(probabilities, probabilities);
  for (float& p : probabilities.values()) p = std::exp(p);
  return probabilities;
}

/// Whether a float model has to be trained first: a teacher, or that which levels start from.
bool needs_teacher(const TrainOptions& options, const Dataset& dataset) {
  if (options.precision.has_levels() && options.start == nullptr && options.teacher != nullptr)
    return !misfit(*options.teacher, dataset, options).empty();
  return options.teacher == nullptr && (options.precision != Precision::real || options.self_distillation);
}

/// Whether no epoch in so many has been better than the best. Of votes the first half of all epochs does not count:
/// until then the network is not the one that is judged.
bool out_of_patience(const TrainState& state, const TrainOptions& options) {
  if (*options.patience == 0) return false;
  const std::size_t counted_from = std::max(state.best_epoch, options.precision.votes() ? *options.epochs / 2 : 0);
  return state.epoch >= counted_from + *options.patience;
}

/// Least share of the training samples whose label a teacher of levels must know for its word to count. A model that
/// does not know them has too few weights or epochs for the labels that there are, which then tell more than it: at the
/// size of arxiv levels that listened to such a teacher lost three quarters of its accuracy.
constexpr double least_known_labels = 0.6;

/// What a teacher predicts, with the edges that the model may see; 0 x 0: there is none, or it has no word.
DenseMatrix<float> word_of_teacher(const Dataset& dataset, const TrainOptions& options, const Device& device) {
  if (options.teacher == nullptr) return {};
  const bool inductive = options.sample_from == SampleFrom::training;
  DenseMatrix<float> word = inductive ? predictions(*options.teacher, without_unseen_edges(dataset), device)
                                      : predictions(*options.teacher, dataset, device);
  if (!options.precision.has_levels()) return word;
  const double known = score(word, dataset.labels, dataset.train).accuracy();
  return known >= least_known_labels ? std::move(word) : DenseMatrix<float>();
}

/// Memory stays where there is some.
void copy_outcome(const std::vector<Parameter>& from, std::vector<DenseMatrix<float>>& to) {
  to.resize(from.size());
  for (std::size_t p = 0; p < from.size(); ++p) {
    const DenseMatrix<float>& outcome = from[p].outcome();
    assign(to[p], outcome, outcome.device());
  }
}

/// Before the first epoch.
TrainState first_state(const std::vector<Parameter>& parameters) {
  TrainState state;
  state.best_loss = std::numeric_limits<double>::infinity();
  copy_outcome(parameters, state.best);
  return state;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

[[noreturn]] void refuse_divergence(std::size_t epoch, float learning_rate) {
  fail(ErrorCode::usage, fmt::format("train: the loss is not finite in epoch {}, at a learning rate of {}: a smaller "
                                     "one, or features of common size, may help",
                                     epoch, learning_rate));
}

/// Epochs of so many steps that a model which sees a part of the graph in each comes near its best.
std::size_t epochs_of_batches(std::size_t batches) {
  constexpr std::size_t steps = 2000;
  return std::clamp<std::size_t>(steps / batches, 30, 300);
}

/// Whatever the number of nodes.
std::size_t epochs_for(const TrainOptions& options, std::size_t training_nodes) {
  const std::size_t walked = walk_roots_for(options, training_nodes) * (*options.walk_length + 1);
  const std::size_t sample = traits_of(options.architecture).batches == BatchKind::walks ? walked : *options.batch_size;
  const std::size_t batches = std::max<std::size_t>(1, training_nodes / std::max<std::size_t>(1, sample));
  return epochs_of_batches(batches);
}

void give_parts_preset(TrainOptions& options) {
  const std::size_t parts = options.partition->num_parts();
  if (!options.batch_parts) options.batch_parts = preset_batch_parts(*options.partition);
  const std::size_t of_batch = std::max<std::size_t>(1, *options.batch_parts);
  if (!options.epochs) options.epochs = epochs_of_batches(std::max<std::size_t>(1, parts / of_batch));
  if (!options.patience) options.patience = 0;
}

void give_graphs_preset(TrainOptions& options, std::size_t graphs) {
  constexpr std::size_t graphs_of_batch = 128;
  if (!options.batch_size) options.batch_size = graphs_of_batch;
  const std::size_t of_batch = std::max<std::size_t>(1, *options.batch_size);
  if (!options.epochs) options.epochs = epochs_of_batches(std::max<std::size_t>(1, graphs / of_batch));
  if (!options.patience) options.patience = 0;
}

}  // namespace

DataSize size_of(const Dataset& dataset) {
  std::size_t entries = 0;
  std::size_t nodes = 0;
  for (const auto* samples : {&dataset.train, &dataset.validation}) {
    for (const NodeId node : dataset.nodes_of(*samples)) entries += dataset.graph.row(node).size(), ++nodes;
  }
  DataSize size{.training_nodes = dataset.train.size(),
                .training_graphs = dataset.num_graphs() != 0 ? dataset.train.size() : 0,
                .mean_degree = static_cast<double>(entries) / static_cast<double>(std::max<std::size_t>(1, nodes)),
                .dense_features = dataset.has_dense_features()};
  if (size.training_graphs == 0) count_neighbors(size, dataset);
  return size;
}

TrainOptions preset(TrainOptions options, const DataSize& size) {
  const bool real = options.precision == Precision::real;
  const bool sampled = traits_of(options.architecture).sampled();
  constexpr double few_neighbors = 8;
  const double share = few_neighbors / std::max(few_neighbors, size.mean_degree);  // of a decay: see train.hpp
  const auto give = [](auto& option, auto value) {
    if (!option) option = value;
  };
  options.sample_from = choose_samples(options, size);
  if (size.training_graphs != 0) give_graphs_preset(options, size.training_graphs);
  give(options.batch_size, 512U);
  give(options.walk_roots, 6000U);
  give(options.walk_length, 2U);
  if (options.partition != nullptr) give_parts_preset(options);
  if (sampled) {
    give(options.epochs, size.training_nodes == 0 ? 100U : epochs_for(options, size.training_nodes));
    const bool all = options.sample_from == SampleFrom::all;
    give(options.weight_decay, real && all ? static_cast<float>(5e-4 * share) : 0.0F);
    give(options.patience, 0U);
  } else {
    give(options.epochs, real ? 1000U : 400U);
    const double decay = options.partition != nullptr || size.training_graphs != 0 ? 1e-3 : 1e-2;
    give(options.weight_decay, real ? static_cast<float>(decay * share) : 0.0F);
    give(options.patience, real ? 100U : 0U);
  }
  // Weights of so few levels lie far from the next one: at a small rate most of them never reach it.
  constexpr int few_bits = 2;
  const bool coarse = options.precision.multiplies_levels() && options.precision.weight.bits <= few_bits;
  give(options.learning_rate, real || coarse ? 1e-2F : 3e-3F);
  give(options.dropout, real || size.dense_features ? 0.5F : 0.3F);
  if (options.fan_outs.empty()) {
    options.fan_outs.assign(options.depth, 10);
    if (options.depth != 0) options.fan_outs[0] = 25;
  }
  return options;
}

std::size_t preset_hidden(Architecture architecture, std::string_view dataset) noexcept {
  const ArchitectureTraits& traits = traits_of(architecture);
  return dataset.find("flickr") != std::string_view::npos ? traits.hidden_of_large : traits.hidden;
}

std::string explain_recipe(const Dataset& dataset, const TrainOptions& options) {
  const TrainOptions all = complete(options, dataset);
  const DataFacts facts = measure_facts(dataset);
  return describe(choose_recipe(all, facts), all, facts, size_of(dataset));
}

std::vector<ExplainedOperator> explain_training(const Dataset& dataset, const TrainOptions& options,
                                                const Device& device, std::size_t repeats) {
  return make_trainer(dataset, complete(options, dataset), device, {})->explain(repeats);
}

TrainResult train(const Dataset& dataset, const TrainOptions& options, const Device& device,
                  const std::function<void(const EpochReport&)>& progress) {
  const TrainOptions recipe = complete(options, dataset);
  std::optional<Checkpoint> checkpoint;  // before a teacher is trained: that may take long, and leaves a file
  if (!recipe.checkpoint.empty()) checkpoint.emplace(recipe.checkpoint, dataset, recipe);
  std::optional<TrainResult> first;
  TrainOptions taught = recipe;
  const auto began = std::chrono::steady_clock::now();
  if (needs_teacher(recipe, dataset)) {
    first = train_teacher(dataset, recipe, device, progress);
    if (taught.teacher == nullptr) taught.teacher = &first->model;
  }
  if (recipe.precision.has_levels())
    taught.start = first ? &first->model : recipe.start ? recipe.start : recipe.teacher;
  const double teacher_seconds = first ? seconds_since(began) : 0;
  DenseMatrix<float> word = word_of_teacher(dataset, taught, device);
  const bool ignores_teacher = taught.teacher != nullptr && word.nrows() == 0;
  const auto trainer = make_trainer(dataset, taught, device, std::move(word));
  TrainState state = first_state(trainer->parameters());
  if (checkpoint) {
    if (auto kept = checkpoint->load(trainer->parameters(), *recipe.epochs)) state = std::move(*kept);
  }
  std::vector<double> seconds;
  while (state.epoch < *recipe.epochs && !out_of_patience(state, recipe)) {
    const auto start = std::chrono::steady_clock::now();
    device.throw_if_stopped();
    const std::size_t epoch = ++state.epoch;
    trainer->train_epoch(epoch, scheduled_rate(recipe.schedule, *recipe.learning_rate, epoch, *recipe.epochs));
    trainer->judge();
    const double loss = trainer->train_loss();
    const Score validation = trainer->validation();
    if (!std::isfinite(loss) || !std::isfinite(validation.loss)) {
      if (state.best_epoch == 0) refuse_divergence(epoch, *recipe.learning_rate);
      break;  // nothing comes back from there; what was best before is kept
    }
    if (state.improves(validation, recipe)) {
      state.best_accuracy = validation.accuracy();
      state.best_loss = validation.loss;
      state.best_epoch = epoch;
      copy_outcome(trainer->parameters(), state.best);
    }
    seconds.push_back(seconds_since(start));
    if (progress) progress({epoch, *recipe.epochs, loss, validation.loss, validation.accuracy()});
    const bool last = epoch == *recipe.epochs || out_of_patience(state, recipe);
    const bool due = epoch % recipe.checkpoint_every == 0 || last;
    if (checkpoint && due) checkpoint->save(trainer->parameters(), state);
  }
  for (std::size_t p = 0; p < state.best.size(); ++p) trainer->parameters()[p].outcome() = state.best[p].clone();
  TrainResult result{trainer->model(), state.best_epoch, state.best_loss, median(std::move(seconds)), teacher_seconds};
  result.model.trained = TrainingRecord::of(dataset);
  result.validation_accuracy = state.best_accuracy;
  result.ignores_teacher = ignores_teacher;
  if (recipe.precision == Precision::real) {
    if (!first || first->validation_accuracy <= result.validation_accuracy) return result;
    first->teacher_seconds = teacher_seconds;
    return std::move(*first);
  }
  result.teacher_accuracy =
      score(predictions(*taught.teacher, dataset, device), dataset.labels, dataset.validation).accuracy();
  if (first) result.teacher = std::move(first->model);
  return result;
}

}  // namespace bitgraph::nn
