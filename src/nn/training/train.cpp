// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/train.hpp>

#include "core/median.hpp"
#include "nn/model/architectures.hpp"
#include "nn/model/reshape.hpp"
#include "nn/sampling/training_source.hpp"
#include "nn/training/checkpoint.hpp"
#include "nn/training/network_layers.hpp"
#include "nn/training/recipe/feature_codes.hpp"
#include "nn/training/recipe/recipe.hpp"
#include "nn/training/recipe/sample_from.hpp"
#include "nn/training/trainer.hpp"

#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/quantize.hpp>
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
  const std::vector<LayerShape> shapes = trained_shapes(dataset, options);
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

/// Training takes each layer's neighbours once, as the architecture does.
void check_layer(const Dataset& dataset, const TrainOptions& options) {
  if (options.layer_builder == nullptr) return;
  if (dataset.num_graphs() != 0)
    fail(ErrorCode::usage, "train: graphs are classified by the layers of the architecture, not by one of your own");
  const std::vector<LayerShape> shapes = trained_shapes(dataset, options);
  const Program program = trained_program(dataset, options);
  std::vector<std::size_t> sums(shapes.size(), 0);
  for (const Operator& op : program.operators) {
    if (op.layer >= shapes.size()) fail(ErrorCode::usage, fmt::format("train: there is no layer {}", op.layer));
    if (op.kind != OperatorKind::aggregate) continue;
    ++sums[op.layer];
    if (op.aggregation != shapes[op.layer].aggregation)
      fail(ErrorCode::usage,
           fmt::format("train: layer {} aggregates in another way than {}", op.layer, to_string(options.architecture)));
  }
  for (std::size_t l = 0; l < shapes.size(); ++l) {
    const std::size_t expected = shapes[l].aggregation == Aggregation::none ? 0 : 1;
    if (sums[l] != expected)
      fail(ErrorCode::usage, fmt::format("train: layer {} aggregates {} times, expected {}", l, sums[l], expected));
  }
}

/// `of_teacher` is the data set that a given teacher reads.
void check(const Dataset& dataset, const Dataset& of_teacher, const TrainOptions& options) {
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
  if (options.thresholds) {
    if (!options.precision.multiplies_signs()) refuse("thresholds of features are for full and bin");
    if (*options.thresholds < 1 || *options.thresholds > most_thresholds)
      refuse(fmt::format("{} thresholds of a feature, expected 1 to {}", *options.thresholds, most_thresholds));
    if (*options.thresholds > 1 && options.start != nullptr)
      refuse("the starting weights have one input for each feature, thresholds need more");
  }
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
    options.teacher->require_fit(of_teacher);
  }
  if (options.start != nullptr) check_start(*options.start, dataset, options);
  check_layer(dataset, options);
  if (options.checkpoint_every == 0) refuse("checkpoints must be at least one epoch apart");
}

/// The options with all fields set, where they and the data set can be trained with.
TrainOptions complete(const TrainOptions& options, const Dataset& dataset, const Dataset& of_teacher) {
  dataset.validate();
  TrainOptions all = preset(options, size_of(dataset));
  check(dataset, of_teacher, all);
  return all;
}

/// The full-precision model that is learned from where none is given.
TrainResult train_teacher(const Dataset& dataset, const TrainOptions& options, const Device& device,
                          const std::function<void(const EpochReport&)>& progress) {
  return train(dataset, teacher_options(dataset, options), device, [&](EpochReport report) {
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

/// What a model in full precision makes of all nodes, over the whole graph or over parts of it.
DenseMatrix<float> predictions(const Model& teacher, const Dataset& dataset, const Device& device,
                               const Partition* partition = nullptr, std::size_t batch_parts = 0) {
  InferencePlan plan(
      teacher, dataset,
      {.forms = teacher.layer_forms(Precision::real), .partition = partition, .batch_parts = batch_parts}, device);
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

/// What a teacher predicts from what the model may see: of parts a batch of them, of samples of the training nodes all
/// edges between these. 0 x 0: there is none, or it has no word.
DenseMatrix<float> word_of_teacher(const Dataset& dataset, const TrainOptions& options, const Device& device) {
  if (options.teacher == nullptr) return {};
  const bool inductive = options.sample_from == SampleFrom::training;
  DenseMatrix<float> word =
      inductive ? predictions(*options.teacher, without_unseen_edges(dataset), device)
                : predictions(*options.teacher, dataset, device, options.partition, options.batch_parts.value_or(0));
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

/// Instead of levels that were trained the ones that their start has without training, where those are better on the
/// validation nodes: what a step sees of a graph may mislead. Not where training may see the training nodes alone,
/// since these levels fit all nodes; nor where the start has other layers.
void keep_untrained_levels(TrainResult& result, const Dataset& dataset, const TrainOptions& options,
                           const Device& device) {
  const bool sees_all = !traits_of(options.architecture).sampled() || options.sample_from == SampleFrom::all;
  if (!options.precision.has_levels() || !sees_all || dataset.num_graphs() != 0) return;
  if (options.start->layer_builder != options.layer_builder) return;
  Model plain = quantize(*options.start, dataset, {.precision = options.precision}, Device::host(device.threads()));
  InferencePlan plan(plain, dataset, {.forms = plain.layer_forms(options.precision)}, device);
  const Score score_of_plain = score(plan.run().to(Device{}), dataset.labels, dataset.validation);
  if (score_of_plain.accuracy() <= result.validation_accuracy) return;
  plain.trained = result.model.trained;
  plain.dataset = result.model.dataset;
  plain.seed = result.model.seed;
  result.model = std::move(plain);
  result.best_epoch = 0;
  result.validation_loss = score_of_plain.loss;
  result.validation_accuracy = score_of_plain.accuracy();
}

/// The data set as it is trained on: with codes of its features, where a feature has several signs.
struct TrainedOn {
  std::size_t thresholds = 1;
  Buffer<float> numbers;
  std::optional<Dataset> coded;
  TrainOptions options;  ///< for that data set, complete

  TrainedOn(const Dataset& dataset, TrainOptions wanted) : options(complete(wanted, dataset, dataset)) {
    thresholds = choose_thresholds(dataset, options);
    if (thresholds == 1) return;
    numbers = feature_thresholds(dataset, options, thresholds);
    coded = with_codes(dataset, numbers);
    wanted.thresholds = 1;
    options = complete(wanted, *coded, dataset);
  }
  [[nodiscard]] const Dataset& of(const Dataset& dataset) const { return coded ? *coded : dataset; }
};

/// Options are complete. `of_teacher` is what a given teacher reads: the same data set, or that without codes.
TrainResult train_on(const Dataset& dataset, const Dataset& of_teacher, const TrainOptions& recipe,
                     const Device& device, const std::function<void(const EpochReport&)>& progress) {
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
  DenseMatrix<float> word = word_of_teacher(recipe.teacher == nullptr ? dataset : of_teacher, taught, device);
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
  keep_untrained_levels(result, dataset, taught, device);
  if (recipe.precision == Precision::real) {
    if (!first || first->validation_accuracy <= result.validation_accuracy) return result;
    first->teacher_seconds = teacher_seconds;
    return std::move(*first);
  }
  result.teacher_accuracy =
      score(predictions(*taught.teacher, first ? dataset : of_teacher, device), dataset.labels, dataset.validation)
          .accuracy();
  if (first) result.teacher = std::move(first->model);
  return result;
}

}  // namespace

TrainOptions teacher_options(const Dataset& dataset, const TrainOptions& options) {
  const bool of_binary = options.precision != Precision::real;
  const bool whole_graph = !traits_of(options.architecture).sampled() && dataset.num_graphs() == 0;
  TrainOptions recipe = options;
  recipe.precision = Precision::real;
  recipe.self_distillation = of_binary && whole_graph;
  recipe.thresholds.reset();
  if (!recipe.checkpoint.empty()) recipe.checkpoint += ".teacher";  // to go on with where that is what was stopped
  if (of_binary) {
    for (auto* number : {&recipe.learning_rate, &recipe.weight_decay, &recipe.dropout}) number->reset();
    if (whole_graph) recipe.epochs.reset(), recipe.patience.reset();
  }
  return recipe;
}

std::string explain_recipe(const Dataset& dataset, const TrainOptions& options) {
  const TrainedOn trained_on(dataset, options);
  const Dataset& seen = trained_on.of(dataset);
  const TrainOptions& all = trained_on.options;
  const DataFacts facts = measure_facts(seen);
  std::string text = describe(choose_recipe(all, facts), all, facts, size_of(seen));
  if (trained_on.thresholds == 1) return text;
  return fmt::format("{} signs of each of {} features, by its quantiles; these {}", trained_on.thresholds,
                     dataset.num_features(), text);
}

std::vector<ExplainedOperator> explain_training(const Dataset& dataset, const TrainOptions& options,
                                                const Device& device, std::size_t repeats) {
  const TrainedOn trained_on(dataset, options);
  return make_trainer(trained_on.of(dataset), trained_on.options, device, {})->explain(repeats);
}

std::string draw_training(const Dataset& dataset, const TrainOptions& options, const Device& device) {
  const TrainedOn trained_on(dataset, options);
  return make_trainer(trained_on.of(dataset), trained_on.options, device, {})->drawing();
}

TrainResult train(const Dataset& dataset, const TrainOptions& options, const Device& device,
                  const std::function<void(const EpochReport&)>& progress) {
  TrainedOn trained_on(dataset, options);
  TrainResult result = train_on(trained_on.of(dataset), dataset, trained_on.options, device, progress);
  if (trained_on.thresholds == 1) return result;
  result.teacher.reset();  // it read the codes
  result.model.thresholds = trained_on.thresholds;
  result.model.input_inverse_deviation = Buffer<float>(trained_on.numbers.size(), 1.0F);
  result.model.input_mean = std::move(trained_on.numbers);
  result.model.trained = TrainingRecord::of(dataset);
  return result;
}

}  // namespace bitgraph::nn
