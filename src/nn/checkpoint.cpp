// SPDX-License-Identifier: Apache-2.0
#include "nn/checkpoint.hpp"

#include <bitgraph/io/array.hpp>

#include "io/file.hpp"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

namespace bitgraph::nn {

namespace {

Array array_of(const DenseMatrix<float>& m) {
  const DenseMatrix<float> here = m.to(Device{});
  return {ElementType::f32, {m.nrows(), m.ncols()}, Buffer<std::byte>::copy_of(std::as_bytes(here.values()))};
}

/// What tells one teacher from another.
std::string fingerprint(const Model* teacher) {
  if (teacher == nullptr) return "none given";
  std::uint64_t hash = 0;
  const auto add = [&](std::span<const float> values) {
    hash = XXH3_64bits_withSeed(values.data(), values.size_bytes(), hash);
  };
  for (const Layer& layer : teacher->layers) {
    for (const Linear* linear : {&layer.neighbor, &layer.root}) {
      add(linear->weight.values());
      add(linear->bias);
    }
  }
  return fmt::format("{} {} {:016x}", to_string(teacher->architecture), teacher->layers.size(), hash);
}

/// What must be equal for one run to go on from another's state.
std::map<std::string, std::string> identity(const Dataset& dataset, const TrainOptions& options) {
  const std::size_t feature_entries =
      dataset.has_dense_features() ? dataset.dense_features.values().size() : dataset.features.pattern.nvals();
  return {{"format", "bitgraph-checkpoint"},
          {"version", "3"},
          {"dataset",
           fmt::format("{} nodes {} entries {} features {} classes {} training {}", dataset.name, dataset.graph.nrows(),
                       dataset.graph.nvals(), feature_entries, dataset.num_classes, dataset.train.size())},
          {"precision", std::string(to_string(options.precision))},
          {"architecture", std::string(to_string(options.architecture))},
          {"hidden", std::to_string(options.hidden)},
          {"depth", std::to_string(options.depth)},
          {"samples", options.architecture == Architecture::gcn
                          ? std::string("none")
                          : fmt::format("batches of {}, fan-outs {}, {} walks of {}", *options.batch_size,
                                        fmt::join(options.fan_outs, ","), *options.walk_roots, *options.walk_length)},
          {"learning_rate", fmt::format("{}", *options.learning_rate)},
          {"weight_decay", fmt::format("{}", *options.weight_decay)},
          {"dropout", fmt::format("{}", *options.dropout)},
          {"seed", std::to_string(options.seed)},
          {"teacher", fingerprint(options.teacher)}};
}

/// The arrays of a checkpoint by name: each parameter's value and moments, and its best value.
template <class Fn>
void for_each_array(std::vector<Parameter>& parameters, std::vector<DenseMatrix<float>>& best, Fn&& fn) {
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    Parameter& parameter = parameters[p];
    fn(parameter.name + ".value", parameter.value);
    fn(parameter.name + ".first_moment", parameter.first_moment);
    fn(parameter.name + ".second_moment", parameter.second_moment);
    fn(parameter.name + ".best", best[p]);
  }
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const Dataset& dataset, const TrainOptions& options,
                     const std::vector<Parameter>& parameters, const TrainState& state) {
  TensorFile file;
  file.metadata = identity(dataset, options);
  file.metadata["epoch"] = std::to_string(state.epoch);
  file.metadata["best_epoch"] = std::to_string(state.best_epoch);
  file.metadata["best_loss_bits"] = std::to_string(std::bit_cast<std::uint64_t>(state.best_loss));
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    file.tensors[parameters[p].name + ".value"] = array_of(parameters[p].value);
    file.tensors[parameters[p].name + ".first_moment"] = array_of(parameters[p].first_moment);
    file.tensors[parameters[p].name + ".second_moment"] = array_of(parameters[p].second_moment);
    file.tensors[parameters[p].name + ".best"] = array_of(state.best[p]);
  }
  save_safetensors(path, file);
}

TrainState load_checkpoint(const std::filesystem::path& path, const Dataset& dataset, const TrainOptions& options,
                           std::vector<Parameter>& parameters) {
  const TensorFile file = load_safetensors(path);
  const auto refuse = [&](const std::string& what) { fail(ErrorCode::bad_input, path.string() + ": " + what); };
  const auto text = [&](const std::string& key) {
    const auto found = file.metadata.find(key);
    if (found == file.metadata.end()) refuse("not a checkpoint: it lacks '" + key + "'");
    return found->second;
  };
  for (const auto& [key, expected] : identity(dataset, options)) {
    constexpr std::size_t longest = 160;
    if (text(key) != expected) {
      refuse(fmt::format("a checkpoint of another run: {} is '{}', expected '{}'", key, printable(text(key), longest),
                         printable(expected, longest)));
    }
  }
  const auto number = [&](const std::string& key) {
    const std::string value = text(key);
    std::uint64_t parsed = 0;
    const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (error != std::errc() || stop != value.data() + value.size()) refuse("'" + key + "' is not a whole number");
    return parsed;
  };
  TrainState state;
  state.epoch = number("epoch");
  state.best_epoch = number("best_epoch");
  state.best_loss = std::bit_cast<double>(number("best_loss_bits"));
  if (state.best_epoch > state.epoch || std::isnan(state.best_loss))
    refuse("the best epoch or its loss makes no sense");
  for (const Parameter& parameter : parameters) state.best.push_back(parameter.value.clone());
  for_each_array(parameters, state.best, [&](const std::string& name, DenseMatrix<float>& matrix) {
    const auto found = file.tensors.find(name);
    const std::vector<std::uint64_t> shape{matrix.nrows(), matrix.ncols()};
    if (found == file.tensors.end() || found->second.type != ElementType::f32 || found->second.shape != shape) {
      refuse("the tensor '" + name + "' is missing or misshapen");
    }
    const DenseMatrix<float> read(matrix.nrows(), matrix.ncols(), found->second.as<float>());
    matrix = read.to(matrix.device());
  });
  return state;
}

}  // namespace bitgraph::nn
