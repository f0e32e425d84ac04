// SPDX-License-Identifier: Apache-2.0
#include "nn/training/checkpoint.hpp"

#include <bitgraph/io/array.hpp>

#include "core/fingerprint.hpp"
#include "io/file/file.hpp"
#include "nn/model/architectures.hpp"
#include "nn/training/network_layers.hpp"
#include "nn/training/recipe/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

namespace bitgraph::nn {

namespace {

Array array_of(const DenseMatrix<float>& m) {
  const DenseMatrix<float> here = m.to(Device{});
  return {ElementType::f32, {m.nrows(), m.ncols()}, Buffer<std::byte>::copy_of(std::as_bytes(here.values()))};
}

/// All of a data set that training sees: another split has as many nodes as this one.
std::string fingerprint(const Dataset& dataset) {
  Fingerprint split;
  split.add(std::span<const NodeId>(dataset.train));
  split.add(std::span<const NodeId>(dataset.validation));
  return fmt::format("{} {} nodes {} entries {} classes {} {} training {} validation {}", dataset.name,
                     dataset.graph.nrows(), dataset.graph.nvals(), dataset.num_classes, dataset.fingerprint(),
                     dataset.train.size(), dataset.validation.size(), split.text());
}

/// What training takes of a model that it is given: its weights, and how it reads the features. `otherwise`: none
/// given.
std::string fingerprint(const Model* given, const char* otherwise) {
  if (given == nullptr) return otherwise;
  return given->fingerprint() + (given->normalize_rows ? ", rows normalized" : "");
}

/// Votes come in when half of the epochs are over: with another number of them it is another run.
std::string votes(const TrainOptions& options) {
  return options.precision.votes() ? fmt::format("after half of {} epochs", *options.epochs) : "none";
}

std::string samples(const Dataset& dataset, const TrainOptions& options) {
  if (dataset.num_graphs() != 0) return fmt::format("batches of {} graphs", *options.batch_size);
  const char* from = options.sample_from == SampleFrom::all ? ", of all nodes" : "";
  if (options.partition != nullptr) {
    Fingerprint parts;
    parts.add(options.partition->part_of());
    return fmt::format("batches of {} of {} parts, {}{}", *options.batch_parts, options.partition->num_parts(),
                       parts.text(), from);
  }
  if (!traits_of(options.architecture).sampled()) return "none";
  return fmt::format("batches of {}, fan-outs {}, {} walks of {}{}", *options.batch_size,
                     fmt::join(options.fan_outs, ","), *options.walk_roots, *options.walk_length, from);
}

std::string name_of_layers(const Dataset& dataset, const TrainOptions& options) {
  std::string name(to_string(options.architecture));
  if (options.layer_builder == nullptr) return name;
  return fmt::format("{}, layers of {}", name, trained_program(dataset, options).fingerprint());
}

std::map<std::string, std::string> identity_of(const Dataset& dataset, const TrainOptions& options) {
  return {{"format", "bitgraph-checkpoint"},
          {"version", "13"},
          {"dataset", fingerprint(dataset)},
          {"votes", votes(options)},
          {"precision", to_string(options.precision)},
          {"architecture", name_of_layers(dataset, options)},
          {"hidden", std::to_string(options.hidden)},
          {"depth", fmt::format("{}{}", options.depth, options.jumping_knowledge ? ", jumping knowledge" : "")},
          {"samples", samples(dataset, options)},
          {"learning_rate", fmt::format("{}", *options.learning_rate)},
          {"optimizer", fmt::format("{}, {}", to_string(options.optimizer), to_string(options.schedule))},
          {"weight_decay", fmt::format("{}", *options.weight_decay)},
          {"dropout", fmt::format("{}", *options.dropout)},
          {"patience", std::to_string(*options.patience)},
          {"seed", std::to_string(options.seed)},
          {"teacher", fingerprint(options.teacher, options.self_distillation ? "itself" : "none given")},
          {"start", fingerprint(options.start, "drawn")}};
}

/// The arrays of a checkpoint by name: each parameter's value and moments, its average where it is kept, and the best
/// of what a model was given.
template <class Parameters, class Best, class Fn>
void for_each_array(Parameters& parameters, Best& best, Fn&& fn) {
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    auto& parameter = parameters[p];
    fn(parameter.name + ".value", parameter.value);
    fn(parameter.name + ".first_moment", parameter.first_moment);
    fn(parameter.name + ".second_moment", parameter.second_moment);
    fn(parameter.name + ".best", best[p]);
    if (parameter.average.nrows() != 0) fn(parameter.name + ".average", parameter.average);
  }
}

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

}  // namespace

bool TrainState::improves(const Score& validation, const TrainOptions& options) const {
  const bool by_accuracy = judged_by_accuracy(options);
  if (by_accuracy && validation.accuracy() != best_accuracy) return validation.accuracy() > best_accuracy;
  return validation.loss < best_loss;
}

Checkpoint::Checkpoint(std::filesystem::path path, const Dataset& dataset, const TrainOptions& options)
    : path_(std::move(path)), identity_(identity_of(dataset, options)) {
  if (!std::filesystem::exists(path_)) return;
  found_ = load_safetensors(path_);
  for (const auto& [key, expected] : identity_) {
    constexpr std::size_t longest = 160;
    if (text(key) == expected) continue;
    refuse(fmt::format("a checkpoint of another run: {} is '{}', expected '{}': remove it, or give this run another",
                       key, printable(text(key), longest), printable(expected, longest)));
  }
}

void Checkpoint::refuse(const std::string& what) const { fail(ErrorCode::bad_input, path_.string() + ": " + what); }

const std::string& Checkpoint::text(const std::string& key) const {
  const auto found = found_->metadata.find(key);
  if (found == found_->metadata.end()) refuse("not a checkpoint: it lacks '" + key + "'");
  return found->second;
}

std::uint64_t Checkpoint::number(const std::string& key) const {
  const std::string& value = text(key);
  std::uint64_t parsed = 0;
  const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
  if (error != std::errc() || stop != value.data() + value.size()) refuse("'" + key + "' is not a whole number");
  return parsed;
}

void Checkpoint::save(const std::vector<Parameter>& parameters, const TrainState& state) const {
  TensorFile file;
  file.metadata = identity_;
  file.metadata["epoch"] = std::to_string(state.epoch);
  file.metadata["best_epoch"] = std::to_string(state.best_epoch);
  file.metadata["best_loss_bits"] = std::to_string(std::bit_cast<std::uint64_t>(state.best_loss));
  file.metadata["best_accuracy_bits"] = std::to_string(std::bit_cast<std::uint64_t>(state.best_accuracy));
  for_each_array(parameters, state.best, [&](const std::string& name, const DenseMatrix<float>& matrix) {
    file.tensors[name] = array_of(matrix);
  });
  save_safetensors(path_, file);
}

std::optional<TrainState> Checkpoint::load(std::vector<Parameter>& parameters, std::size_t epochs) {
  if (!found_) return std::nullopt;
  TrainState state;
  state.epoch = number("epoch");
  state.best_epoch = number("best_epoch");
  state.best_loss = std::bit_cast<double>(number("best_loss_bits"));
  state.best_accuracy = std::bit_cast<double>(number("best_accuracy_bits"));
  if (state.best_epoch == 0 || state.best_epoch > state.epoch || !std::isfinite(state.best_loss) ||
      !std::isfinite(state.best_accuracy))
    refuse("the best epoch or its loss makes no sense");
  if (state.epoch > epochs)
    refuse(fmt::format("{} epochs are done, more than the {} that are asked for", state.epoch, epochs));
  for (const Parameter& parameter : parameters) state.best.push_back(parameter.value.clone());
  for_each_array(parameters, state.best, [&](const std::string& name, DenseMatrix<float>& matrix) {
    const auto found = found_->tensors.find(name);
    const std::vector<std::uint64_t> shape{matrix.nrows(), matrix.ncols()};
    if (found == found_->tensors.end() || found->second.type != ElementType::f32 || found->second.shape != shape) {
      refuse("the tensor '" + name + "' is missing or misshapen");
    }
    const DenseMatrix<float> read(matrix.nrows(), matrix.ncols(), found->second.as<float>());
    if (!all_finite(read.values())) refuse("the tensor '" + name + "' holds a value that is not finite");
    matrix = read.to(matrix.device());
  });
  found_.reset();
  return state;
}

}  // namespace bitgraph::nn
