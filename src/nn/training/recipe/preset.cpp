// SPDX-License-Identifier: Apache-2.0
#include "nn/model/architectures.hpp"
#include "nn/sampling/training_source.hpp"
#include "nn/training/recipe/recipe.hpp"
#include "nn/training/recipe/sample_from.hpp"

#include <bitgraph/nn/part_batches.hpp>
#include <bitgraph/nn/train.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace bitgraph::nn {

namespace {

/// Epochs of so many steps that a model which sees a part of the graph in each comes near its best.
std::size_t epochs_of_batches(std::size_t batches, std::size_t least = 30) {
  constexpr std::size_t steps = 2000;
  return std::clamp<std::size_t>(steps / std::max<std::size_t>(1, batches), least, 300);
}

/// Whatever the number of nodes.
std::size_t epochs_for(const TrainOptions& options, std::size_t training_nodes) {
  const std::size_t walked = walk_roots_for(options, training_nodes) * (*options.walk_length + 1);
  const std::size_t sample = traits_of(options.architecture).batches == BatchKind::walks ? walked : *options.batch_size;
  return epochs_of_batches(training_nodes / std::max<std::size_t>(1, sample));
}

void give_parts_preset(TrainOptions& options) {
  if (!options.batch_parts) options.batch_parts = preset_batch_parts(*options.partition);
  const std::size_t of_batch = std::max<std::size_t>(1, *options.batch_parts);
  if (!options.epochs) options.epochs = epochs_of_batches(options.partition->num_parts() / of_batch, 200);
  if (!options.patience) options.patience = options.precision.multiplies_signs() ? 0 : 50;
}

void give_graphs_preset(TrainOptions& options, std::size_t graphs) {
  constexpr std::size_t graphs_of_batch = 128;
  if (!options.batch_size) options.batch_size = graphs_of_batch;
  const std::size_t of_batch = std::max<std::size_t>(1, *options.batch_size);
  if (!options.epochs) options.epochs = epochs_of_batches(graphs / of_batch);
  if (!options.patience) options.patience = 0;
}

/// Dropout holds back a model that could learn its labels by heart. One that has few weights for so many labels cannot,
/// and loses what it drops.
float dropout_for(const TrainOptions& options, const DataSize& size, float usual) {
  return usual * static_cast<float>(std::min(1.0, weights_of_label(options, size) / enough_weights_of_label));
}

}  // namespace

double weights_of_label(const TrainOptions& options, const DataSize& size) {
  const std::size_t labels = size.training_graphs != 0 ? size.training_graphs : size.training_nodes;
  const bool known = labels != 0 && size.features != 0 && size.classes != 0;
  if (!known || options.hidden == 0 || options.depth == 0) return std::numeric_limits<double>::infinity();
  double weights = 0;
  for (const LayerShape& layer : layer_shapes(options.architecture, size.features, options.hidden, size.classes,
                                              options.depth, options.jumping_knowledge))
    weights += static_cast<double>(layer.inputs) * static_cast<double>(layer.outputs) * (layer.root ? 2 : 1);
  return weights / static_cast<double>(labels);
}

DataSize size_of(const Dataset& dataset) {
  std::size_t entries = 0;
  std::size_t nodes = 0;
  for (const auto* samples : {&dataset.train, &dataset.validation}) {
    for (const NodeId node : dataset.nodes_of(*samples)) entries += dataset.graph.row(node).size(), ++nodes;
  }
  DataSize size{.training_nodes = dataset.train.size(),
                .training_graphs = dataset.num_graphs() != 0 ? dataset.train.size() : 0,
                .mean_degree = static_cast<double>(entries) / static_cast<double>(std::max<std::size_t>(1, nodes)),
                .dense_features = dataset.has_dense_features(),
                .features = dataset.num_features(),
                .classes = static_cast<std::size_t>(dataset.num_classes)};
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
  give(options.dropout, dropout_for(options, size, real || size.dense_features ? 0.5F : 0.3F));
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

}  // namespace bitgraph::nn
