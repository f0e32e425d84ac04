// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/train.hpp>
#include <bitgraph/ops/log_softmax.hpp>

#include "cli/command.hpp"
#include "cli/estimate_network.hpp"
#include "cli/measure.hpp"
#include "cli/ranges.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

namespace bitgraph::cli {

namespace {

struct Options {
  Common common;
  std::string dataset, out, model = "gcn", precision = "full", teacher, checkpoint;
  std::size_t hidden = 0, depth = 2, batch_size = 0, walk_roots = 0;
  int walk_length = -1;
  std::vector<std::size_t> fan_outs;
  std::size_t epochs = 0;
  float learning_rate = 0, weight_decay = -1, dropout = -1;
  std::size_t checkpoint_every = 100;
  SplitChoice split;
};

nn::TrainOptions train_options(const Options& o, const Dataset& dataset, const std::optional<nn::Model>& teacher) {
  nn::TrainOptions t{.precision = nn::precision_from_string(o.precision),
                     .architecture = nn::architecture_from_string(o.model),
                     .depth = o.depth,
                     .fan_outs = o.fan_outs};
  t.hidden = o.hidden != 0 ? o.hidden : nn::preset_hidden(t.architecture, dataset.name);
  t.seed = o.common.seed;
  if (o.epochs != 0) t.epochs = o.epochs;
  if (o.learning_rate != 0) t.learning_rate = o.learning_rate;
  if (o.weight_decay >= 0) t.weight_decay = o.weight_decay;
  if (o.dropout >= 0) t.dropout = o.dropout;
  if (o.batch_size != 0) t.batch_size = o.batch_size;
  if (o.walk_roots != 0) t.walk_roots = o.walk_roots;
  if (o.walk_length >= 0) t.walk_length = static_cast<std::size_t>(o.walk_length);
  if (teacher) t.teacher = &*teacher;
  t.checkpoint = o.checkpoint;
  t.checkpoint_every = o.checkpoint_every;
  return t;
}

void run(const Options& o) {
  const Device device = o.common.make_device();
  if (o.out.empty()) fail(ErrorCode::usage, "--out: a model file needs a name");
  if (!o.teacher.empty() && o.precision == "float")
    fail(ErrorCode::usage, "--teacher: a float model does not learn from a teacher");
  const Dataset dataset = load_for_training(o.dataset, o.split, device);
  const std::optional<nn::Model> teacher = o.teacher.empty() ? std::nullopt : std::optional(nn::Model::load(o.teacher));
  if (teacher && teacher->precision != nn::Precision::real)
    fail(ErrorCode::bad_input, o.teacher + ": this model is binary; a teacher must be a float model");
  Progress progress("training", o.common.quiet);
  const auto report = [&](const nn::EpochReport& r) {
    progress.update(r.epoch, r.epochs,
                    fmt::format("loss {:.3f}  validation {:.3f}", r.train_loss, r.validation_accuracy));
  };
  const nn::TrainResult trained = nn::train(dataset, train_options(o, dataset, teacher), device, report);
  trained.model.save(o.out);
  Json result{{"dataset", dataset.name},
              {"model", o.model},
              {"precision", o.precision},
              {"out", o.out},
              {"seed", o.common.seed},
              {"best_epoch", trained.best_epoch},
              {"validation_loss", trained.validation_loss},
              {"epoch_ms", trained.seconds_per_epoch * 1e3}};
  measure_forms(result, trained.model, dataset, forms_of(trained.model, "all"), {.repeats = 20}, device);
  if (o.common.json) {
    fmt::print("{}\n", result.dump(2));
  } else {
    fmt::print("{} on {}: best epoch {} of validation, {:.2f} ms an epoch\n", o.precision, dataset.name,
               trained.best_epoch, trained.seconds_per_epoch * 1e3);
    print_forms(result);
    fmt::print("model written to {}\n", o.out);
  }
}

}  // namespace

void add_train(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("train", "Train a graph neural network in full precision or in bits");
  add_dataset(*command, options->common, "dataset", options->dataset,
              "a name (see bitgraph datasets list), a .npz file or a folder")
      ->required();
  command->add_option("--model", options->model, "architecture")
      ->check(CLI::IsMember({"gcn", "inductive-gcn", "sage", "saint"}))
      ->capture_default_str();
  command
      ->add_option(
          "--precision", options->precision,
          "float: 32-bit; full: products in bits, aggregation in floats; bin: products and aggregation in bits")
      ->check(CLI::IsMember({"float", "full", "bin"}))
      ->capture_default_str();
  add_output(*command, options->common, "--out", options->out, "write the model to this file (.safetensors)")
      ->required();
  command->add_option("--hidden", options->hidden, "hidden width; default: that of the paper, 64 for gcn")
      ->check(whole_number(1, 1 << 20));
  command->add_option("--depth", options->depth, "number of layers that aggregate; saint has a linear layer more")
      ->check(whole_number(1, nn::most_depth))
      ->capture_default_str();
  command->add_option("--epochs", options->epochs, "number of epochs; default: depends on the model and the precision")
      ->check(whole_number(1, 1000000000));
  command
      ->add_option("--learning-rate", options->learning_rate,
                   "step size; default: depends on the model and the precision")
      ->check(positive_number());
  command
      ->add_option("--weight-decay", options->weight_decay,
                   "L2 penalty; default: depends on the model and the precision")
      ->check(not_negative());
  command
      ->add_option("--dropout", options->dropout,
                   "dropped share of inputs; default: depends on the model and the precision")
      ->check(number_between(0, 0.99));
  command->add_option("--batch-size", options->batch_size, "inductive-gcn, sage: nodes in a batch; default: 512")
      ->check(whole_number(1, most_nodes));
  command
      ->add_option("--fanout", options->fan_outs,
                   "inductive-gcn, sage: sampled neighbours of a node in each layer, last layer first; default: 25,10")
      ->delimiter(',')
      ->check(whole_number(1, most_nodes));
  command->add_option("--walk-roots", options->walk_roots, "saint: random walks in a batch; default: 6000")
      ->check(whole_number(1, most_nodes));
  command->add_option("--walk-length", options->walk_length, "saint: length of a walk; default: 2")
      ->check(whole_number(0, 10000));
  add_input(*command, options->common, "--teacher", options->teacher,
            "full and bin learn from this float model (of train or PyTorch); default: train a "
            "teacher first if the recipe uses one");
  add_output(*command, options->common, "--checkpoint", options->checkpoint,
             "save the training state to this file; resume from it if it exists");
  // The teacher that is trained first has a checkpoint of its own.
  options->common.files.writes("--checkpoint (of the teacher)", [options = options.get()] {
    const bool none = options->checkpoint.empty() || !options->teacher.empty();
    return std::vector{none ? std::string() : options->checkpoint + ".teacher"};
  });
  command->add_option("--checkpoint-every", options->checkpoint_every, "epochs between checkpoints")
      ->check(whole_number(1))
      ->capture_default_str();
  add_split(*command, options->split);
  add_common(*command, options->common);
  add_examples(*command,
               "  bitgraph train cora --precision full --out cora.safetensors\n  bitgraph train amazon_photo "
               "--precision bin --split-seed 0 "
               "--out photo.safetensors --checkpoint photo.ckpt\n"
               "  bitgraph train facebook --model sage --precision bin --split-shares 0.5,0.25,0.25 --device cuda "
               "--out facebook.safetensors\n");
  add_actions(
      *command, options->common, [options] { run(*options); },
      [options] {
        return estimate_training(train_options(*options, Dataset{.name = options->dataset}, std::nullopt),
                                 options->dataset, !options->teacher.empty(), options->common);
      });
}

}  // namespace bitgraph::cli
