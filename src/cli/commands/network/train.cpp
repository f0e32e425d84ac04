// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/io/partition.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/quantize.hpp>
#include <bitgraph/nn/train.hpp>
#include <bitgraph/ops/log_softmax.hpp>

#include "cli/command.hpp"
#include "cli/commands/network/explain_program.hpp"
#include "cli/commands/network/measure.hpp"
#include "cli/estimate/estimate_network.hpp"
#include "cli/ranges.hpp"
#include "nn/model/architectures.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::cli {

namespace {

struct TrainOptions {
  Common common;
  std::string dataset, out, model, precision = "full", teacher, start, checkpoint, partition, dot, optimizer = "adam",
                                   schedule = "constant", sample_from = "auto";
  std::size_t hidden = 0, depth = 0, batch_size = 0, walk_roots = 0, batch_parts = 0, thresholds = 0;
  int walk_length = -1;
  std::vector<std::size_t> fan_outs;
  std::size_t epochs = 0;
  std::optional<std::size_t> patience;
  float learning_rate = 0, weight_decay = -1, dropout = -1;
  std::size_t checkpoint_every = 100;
  bool normalize_rows = false, jumping_knowledge = false, explain = false, self_distillation = false;
  SplitChoice split;
};

/// Files that training reads beside the data set.
struct Given {
  std::optional<nn::Model> start, teacher;
  std::optional<Partition> partition;

  [[nodiscard]] std::vector<const nn::Model*> pointers() const {
    std::vector<const nn::Model*> all;
    if (start) all.push_back(&*start);
    if (teacher) all.push_back(&*teacher);
    return all;
  }
};

nn::TrainOptions train_options(const TrainOptions& o, const Dataset& dataset, const Given& given) {
  nn::TrainOptions t{.precision = nn::precision_from_string(o.precision), .fan_outs = o.fan_outs};
  // What is not said is as in the model that training starts from.
  if (given.start) {
    t.architecture = given.start->architecture;
    t.depth = given.start->depth();
    t.hidden = given.start->hidden();
    t.jumping_knowledge = given.start->jumping_knowledge;
    t.start = &*given.start;
  }
  if (!o.model.empty()) t.architecture = nn::architecture_from_string(o.model);
  if (o.depth != 0) t.depth = o.depth;
  if (o.jumping_knowledge) t.jumping_knowledge = true;
  if (!given.start) t.hidden = nn::preset_hidden(t.architecture, dataset.name);
  if (o.hidden != 0) t.hidden = o.hidden;
  t.seed = o.common.seed;
  if (o.epochs != 0) t.epochs = o.epochs;
  if (o.patience) t.patience = *o.patience;
  if (o.learning_rate != 0) t.learning_rate = o.learning_rate;
  t.optimizer = optimizer_from_string(o.optimizer);
  t.schedule = nn::schedule_from_string(o.schedule);
  if (o.weight_decay >= 0) t.weight_decay = o.weight_decay;
  if (o.dropout >= 0) t.dropout = o.dropout;
  if (o.thresholds != 0) t.thresholds = o.thresholds;
  t.sample_from = nn::sample_from_string(o.sample_from);
  if (o.batch_size != 0) t.batch_size = o.batch_size;
  if (o.walk_roots != 0) t.walk_roots = o.walk_roots;
  if (o.walk_length >= 0) t.walk_length = static_cast<std::size_t>(o.walk_length);
  if (given.partition) t.partition = &*given.partition;
  if (o.batch_parts != 0) t.batch_parts = o.batch_parts;
  if (given.teacher) t.teacher = &*given.teacher;
  t.self_distillation = o.self_distillation;
  t.checkpoint = o.checkpoint;
  t.checkpoint_every = o.checkpoint_every;
  return t;
}

std::optional<nn::Model> float_model(const std::string& file, const char* what, bool normalize_rows) {
  if (file.empty()) return std::nullopt;
  nn::Model model = load_model(file, normalize_rows);
  if (model.precision != nn::Precision::real) {
    const std::string found = model.has_levels() ? "of levels" : "binary";
    fail(ErrorCode::bad_input, fmt::format("{}: this model is {}; {} must be a float model", file, found, what));
  }
  return model;
}

/// The share of validation samples that levels of the teacher have right, without training.
double accuracy_of_levels(const nn::Model& teacher, const nn::Precision& form, const Dataset& dataset,
                          const Device& device) {
  const nn::Model levels = nn::quantize(teacher, dataset, {.precision = form}, Device::host(device.threads()));
  nn::InferencePlan plan(levels, dataset, {.forms = levels.layer_forms(form)}, device);
  return score(plan.run().to(Device{}), dataset.labels, dataset.validation).accuracy();
}

/// Where a form stays far below its teacher: the cheapest one that does not, told by validation samples. Full is
/// trained to know; levels of more bits are those of the teacher. Empty: the form is good enough.
std::string advice(const nn::TrainResult& trained, const Dataset& dataset, nn::TrainOptions options,
                   const Device& device, const std::function<void(const nn::EpochReport&)>& report) {
  const double least = trained.teacher_accuracy - nn::most_lost_points / 100;
  if (trained.teacher_accuracy == 0 || trained.validation_accuracy >= least) return {};
  const nn::Precision form = options.precision;
  if (trained.teacher) options.teacher = &*trained.teacher;
  options.checkpoint.clear();
  std::string best;
  const auto offer = [&](const std::string& name, double accuracy) {
    if (best.empty() && accuracy >= least) best = fmt::format("{} ({:.1f} %)", name, 100 * accuracy);
  };
  if (form.votes()) {
    options.precision = nn::Precision::full;
    offer("full", nn::train(dataset, options, device, report).validation_accuracy);
  }
  std::optional<nn::TrainResult> floats;
  if (best.empty() && options.teacher == nullptr) {  // the one that there was read signs of features
    floats = nn::train(dataset, nn::teacher_options(dataset, options), device, report);
    options.teacher = &floats->model;
  }
  for (const int bits : {4, 8}) {
    if (!best.empty() || (form.has_levels() && form.weight.bits >= bits)) continue;
    const nn::Precision levels = nn::Precision::of_levels(bits, bits, bits);
    offer(fmt::format("{} by bitgraph quantize --bits {}", to_string(levels), bits),
          accuracy_of_levels(*options.teacher, levels, dataset, device));
  }
  if (best.empty()) best = floats && floats->validation_accuracy < least ? "none" : "float";
  return fmt::format(
      "{:.1f} % of the validation {} are right, float: {:.1f} %. The cheapest form that loses at most "
      "{} points is {}",
      100 * trained.validation_accuracy, samples_of(dataset), 100 * trained.teacher_accuracy, nn::most_lost_points,
      best);
}

/// What one step is made of, instead of training.
void explain_step(const TrainOptions& o, Json result, const Dataset& dataset, const nn::TrainOptions& recipe,
                  const Device& device) {
  result["dataset"] = dataset.name;
  result["model"] = to_string(recipe.architecture);
  result["precision"] = o.precision;
  result["executor"] = device.is_host() ? "host" : "stream";
  result["program"] = list_of(nn::explain_training(dataset, recipe, device));
  if (!o.dot.empty()) write_drawing(o.dot, nn::draw_training(dataset, recipe, device));
  if (o.common.json) return fmt::print("{}\n", result.dump(2));
  fmt::print("{} on {}: nothing is trained\n  recipe: {}\n", o.precision, dataset.name,
             result["recipe"].get<std::string>());
  print_program("a step", result);
}

void run_train(const TrainOptions& o) {
  const Device device = o.common.make_device();
  if (o.out.empty() && !o.explain) fail(ErrorCode::usage, "--out is required");
  if (!o.dot.empty() && !o.explain) fail(ErrorCode::usage, "--dot draws what --explain lists: give both");
  if (o.self_distillation && o.precision != "float")
    fail(ErrorCode::usage, "--self-distillation: of float alone; the teachers of full and bin learn so as it is");
  if (o.self_distillation && !o.teacher.empty()) fail(ErrorCode::usage, "--self-distillation: --teacher is given");
  Given given{.start = float_model(o.start, "a model to start from", o.normalize_rows),
              .teacher = float_model(o.teacher, "a teacher", o.normalize_rows)};
  Json result;
  const Dataset dataset = load_for_training(o.dataset, o.split, device, given.pointers(), result);
  if (given.start || given.teacher) warn_of_training_data(result, dataset);
  if (!o.partition.empty()) {
    given.partition = load_partition(o.partition, dataset.graph);
    require_batch_parts(o.batch_parts, given.partition->num_parts());
  }
  const nn::TrainOptions recipe = train_options(o, dataset, given);
  result["recipe"] = nn::explain_recipe(dataset, recipe);
  if (o.explain) return explain_step(o, std::move(result), dataset, recipe, device);
  bool told = o.common.quiet;  // the recipe: once training has begun, so that what is refused gets one line
  bool of_teacher = false;
  Progress progress("training", o.common.quiet);
  const auto report = [&](const nn::EpochReport& r) {
    if (!std::exchange(told, true)) fmt::print(stderr, "recipe: {}\n", result["recipe"].get<std::string>());
    if (!o.common.quiet && r.of_teacher && !of_teacher) fmt::print(stderr, "training a float teacher first\n");
    of_teacher = r.of_teacher;
    progress.update(r.epoch, r.epochs,
                    fmt::format("{}loss {:.3f}  validation {:.3f}", of_teacher ? "teacher: " : "", r.train_loss,
                                r.validation_accuracy));
  };
  const nn::TrainResult trained = nn::train(dataset, recipe, device, report);
  trained.model.save(o.out);
  result["dataset"] = dataset.name;
  result["model"] = to_string(recipe.architecture);
  result["precision"] = o.precision;
  result["out"] = o.out;
  result["seed"] = o.common.seed;
  result["best_epoch"] = trained.best_epoch;
  result["validation_loss"] = trained.validation_loss;
  const std::string better = advice(trained, dataset, recipe, device, report);
  result["advice"] = better;
  result["epoch_ms"] = trained.seconds_per_epoch * 1e3;
  result["teacher_seconds"] = trained.teacher_seconds;
  result["teacher_ignored"] = trained.ignores_teacher;
  measure_forms(result, trained.model, dataset, forms_of(trained.model, "all"), {.repeats = 20}, device);
  if (o.common.json) {
    fmt::print("{}\n", result.dump(2));
  } else {
    const std::string best = trained.best_epoch == 0
                                 ? "no epoch is better on validation nodes than these levels without training"
                                 : fmt::format("best epoch {} of validation", trained.best_epoch);
    fmt::print("{} on {}: {}, {:.2f} ms an epoch\n", o.precision, dataset.name, best, trained.seconds_per_epoch * 1e3);
    if (trained.teacher_seconds != 0)
      fmt::print("  a float teacher was trained first, in {:.1f} s\n", trained.teacher_seconds);
    if (trained.ignores_teacher)
      fmt::print("  the teacher knows too few of the training labels: the labels alone were learned\n");
    fmt::print("  {}\n", split_line(result));
    print_forms(result);
    if (!better.empty()) fmt::print("  {}\n", better);
    fmt::print("model written to {}\n", o.out);
  }
}

/// Accepts what nn::precision_from_string() reads.
CLI::Validator precision_name() {
  return {[](const std::string& text) -> std::string {
            try {
              static_cast<void>(nn::precision_from_string(text));
            } catch (const Error& error) {
              return error.what();
            }
            return {};
          },
          "PRECISION"};
}

}  // namespace

void add_train(CLI::App& app) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* command =
      app.add_subcommand("train", "Train a graph neural network in full precision, in bits or in levels of a few bits");
  add_dataset(*command, options->common, "dataset", options->dataset,
              "a name (see bitgraph datasets list), a .npz file or a folder")
      ->required();
  command->add_option("--model", options->model, "architecture; default: gcn, or that of --from")
      ->check(CLI::IsMember(nn::architecture_names()));
  command
      ->add_option(
          "--precision", options->precision,
          "float: 32-bit; full: products in bits, aggregation in floats; bin: products and aggregation in bits; levels "
          "of any bits: w4a4 for weights, inputs and messages of 4 bits, w8a4m2 for 8, 4 and 2")
      ->check(precision_name())
      ->capture_default_str();
  add_output(*command, options->common, "--out", options->out,
             "write the model to this file (.safetensors); required but with --explain");
  command
      ->add_option("--hidden", options->hidden,
                   "hidden width; default: that of --from, or of the paper: 64 for gcn and gin")
      ->check(whole_number(1, 1 << 20));
  command
      ->add_option("--depth", options->depth,
                   "number of layers that aggregate; saint has a linear layer more; default: 2, or that of --from")
      ->check(whole_number(1, nn::most_depth));
  command->add_flag("--jumping-knowledge", options->jumping_knowledge,
                    "a linear layer behind takes the outputs of all layers that aggregate; default: as that of --from");
  command->add_option("--epochs", options->epochs, "number of epochs; default: depends on the model and the precision")
      ->check(whole_number(1, 1000000000));
  command
      ->add_option("--patience", options->patience,
                   "end after so many epochs without a better one; 0: never; default: 100 for float of gcn and gin; 50 "
                   "over parts, but for full and bin; else 0")
      ->check(whole_number(0, 1000000000));
  command
      ->add_option("--learning-rate", options->learning_rate,
                   "step size; default: depends on the model and the precision")
      ->check(positive_number());
  command
      ->add_option("--optimizer", options->optimizer,
                   "adam, adamw, or sgd, which has momentum 0.9 and needs a --learning-rate of its own")
      ->check(CLI::IsMember({"adam", "adamw", "sgd"}))
      ->capture_default_str();
  command
      ->add_option("--schedule", options->schedule,
                   "learning rate from epoch to epoch: constant, or falling to nearly 0: linear, cosine")
      ->check(CLI::IsMember({"constant", "linear", "cosine"}))
      ->capture_default_str();
  command
      ->add_option("--weight-decay", options->weight_decay,
                   "L2 penalty; default: depends on the model and the precision")
      ->check(not_negative());
  command
      ->add_option("--dropout", options->dropout,
                   "dropped share of inputs; default: depends on the model and the precision")
      ->check(number_between(0, 0.99));
  command
      ->add_option("--thresholds", options->thresholds,
                   "full, bin: signs of each feature, by its quantiles; default: depends on the features, mostly 1")
      ->check(whole_number(1, nn::most_thresholds));
  command
      ->add_option(
          "--batch-size", options->batch_size,
          "inductive-gcn, sage: nodes in a batch; default: 512. Of many graphs: graphs in a batch; default: 128")
      ->check(whole_number(1, most_nodes));
  command
      ->add_option("--fanout", options->fan_outs,
                   "inductive-gcn, sage: sampled neighbours of a node in each layer, last layer first; default: 25,10")
      ->delimiter(',')
      ->check(whole_number(1, most_nodes));
  command
      ->add_option("--sample-from", options->sample_from,
                   "inductive-gcn, sage, inductive-gin, saint: what samples are taken from, the training nodes or all "
                   "nodes; auto: sage and saint take all where training nodes hardly have a neighbour among themselves")
      ->check(CLI::IsMember({"auto", "training", "all"}))
      ->capture_default_str();
  command->add_option("--walk-roots", options->walk_roots, "saint: random walks in a batch; default: 6000")
      ->check(whole_number(1, most_nodes));
  command->add_option("--walk-length", options->walk_length, "saint: length of a walk; default: 2")
      ->check(whole_number(0, 10000));
  CLI::Option* partition = add_input(
      *command, options->common, "--partition", options->partition,
      "a part file of bitgraph partition: a step sees some parts, with the edges between them, for any model");
  command->add_option("--batch-parts", options->batch_parts, "parts in a batch; default: a twentieth of them")
      ->check(whole_number(1, most_nodes))
      ->needs(partition);
  add_input(
      *command, options->common, "--teacher", options->teacher,
      "learn from this float model (of train or PyTorch), too; default: float from the labels alone, full and bin "
      "from a teacher that is trained first");
  command->add_flag("--self-distillation", options->self_distillation,
                    "float: train twice, the second time with the first model as teacher, and keep the better one");
  add_input(*command, options->common, "--from", options->start,
            "start from the weights of this float model (of train or PyTorch) instead of random ones");
  add_normalize_rows(*command, options->normalize_rows);
  add_output(*command, options->common, "--checkpoint", options->checkpoint,
             "save the training state to this file; resume from it if it exists");
  // The teacher that is trained first has a checkpoint of its own.
  options->common.files.writes("--checkpoint (of the teacher)", [options = options.get()] {
    const bool none = options->checkpoint.empty() || !options->teacher.empty();
    return std::vector{none ? std::string() : options->checkpoint + ".teacher"};
  });
  options->common.files.writes("--checkpoint (of the teacher's teacher)", [options = options.get()] {
    const bool none = options->checkpoint.empty() || !options->teacher.empty() || options->precision == "float";
    return std::vector{none ? std::string() : options->checkpoint + ".teacher.teacher"};
  });
  command->add_option("--checkpoint-every", options->checkpoint_every, "epochs between checkpoints")
      ->check(whole_number(1))
      ->capture_default_str();
  add_split(*command, options->split, "that of --from or --teacher, else the file's, else seed 0");
  command->add_flag("--explain", options->explain,
                    "print the operators of one training step, and their gradients: bytes, kernel and measured time of "
                    "each; trains nothing");
  add_output(*command, options->common, "--dot", options->dot,
             "with --explain: write the operators as a graph for Graphviz to this file");
  add_common(*command, options->common);
  add_examples(*command,
               "  bitgraph train cora --precision full --out cora.safetensors\n  bitgraph train amazon_photo "
               "--precision bin --split-seed 0 "
               "--out photo.safetensors --checkpoint photo.ckpt\n"
               "  bitgraph train facebook --model sage --precision bin --split-shares 0.5,0.25,0.25 --device cuda "
               "--out facebook.safetensors\n");
  add_actions(
      *command, options->common, [options] { run_train(*options); },
      [options] {
        Given given;
        given.start = float_model(options->start, "a model to start from", options->normalize_rows);
        if (!options->partition.empty()) given.partition = load_partition(options->partition);
        return estimate_training(train_options(*options, Dataset{.name = options->dataset}, given), options->dataset,
                                 !options->teacher.empty(), options->common);
      });
}

}  // namespace bitgraph::cli
