// SPDX-License-Identifier: Apache-2.0
// Each network in each form, with its trainer and beside it the oracle, both with the same drawn tensors.
#pragma once

#include "nn/training/trainer.hpp"
#include "support/double_matrix.hpp"
#include "support/network_oracle.hpp"
#include "support/oracle_batches.hpp"
#include "support/planted_data.hpp"

#include <bitgraph/core/random.hpp>
#include <bitgraph/nn/train.hpp>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::test {

struct NetworkCase {
  nn::Architecture architecture = nn::Architecture::gcn;
  nn::Precision precision = nn::Precision::real;
  FeatureKind features = FeatureKind::counts;
  std::size_t depth = 2;
  bool second_half = false;  ///< of the epochs: then a bin network votes
  bool taught = false;
  float dropout = 0.4F;
  std::size_t batch_size = 12;
  std::vector<std::size_t> fan_outs;  ///< empty: 3 neighbours of a target, 2 of each other node
  std::size_t walk_length = 2;
  std::uint64_t seed = 1;

  [[nodiscard]] std::string name() const {
    constexpr const char* kinds[] = {"counts", "mixed", "dense"};
    return std::string(to_string(architecture)) + " " + to_string(precision) + " of " + std::to_string(depth) +
           " layers, " + kinds[static_cast<int>(features)] + (second_half ? ", second half" : ", first half") +
           (taught ? ", taught" : "") + ", seed " + std::to_string(seed);
  }

  [[nodiscard]] bool real() const { return !precision.multiplies_signs(); }

  /// As train() chooses it on the host.
  [[nodiscard]] TrainerKind kind() const {
    if (architecture != nn::Architecture::gcn || depth != 2 || features == FeatureKind::dense)
      return TrainerKind::stack;
    return real() ? TrainerKind::gcn : TrainerKind::bi_gcn;
  }

  [[nodiscard]] std::size_t epoch() const { return second_half ? 3 : 2; }

  [[nodiscard]] nn::TrainOptions options() const {
    nn::TrainOptions options{.precision = precision,
                             .architecture = architecture,
                             .hidden = 10,
                             .depth = depth,
                             .epochs = 4,
                             .learning_rate = 0.02F,
                             .weight_decay = 0.05F,
                             .dropout = dropout,
                             .batch_size = batch_size,
                             .fan_outs = fan_outs,
                             .walk_roots = 5,
                             .walk_length = walk_length,
                             .seed = seed};
    if (fan_outs.empty()) {
      options.fan_outs.assign(depth, 2);
      options.fan_outs[0] = 3;
    }
    return nn::preset(options);
  }
};

/// Probabilities of classes, drawn.
inline DenseMatrix<float> drawn_teacher(const Dataset& dataset, std::uint64_t seed) {
  DenseMatrix<float> teacher(dataset.graph.nrows(), static_cast<std::size_t>(dataset.num_classes));
  for (std::size_t i = 0; i < teacher.nrows(); ++i) {
    float sum = 0;
    for (std::size_t c = 0; c < teacher.ncols(); ++c) {
      teacher(i, c) = 0.05F + random_uniform({seed, 20, 0}, i * teacher.ncols() + c);
      sum += teacher(i, c);
    }
    for (float& value : teacher.row(i)) value /= sum;
  }
  return teacher;
}

inline std::unique_ptr<nn::Trainer> make_trainer(TrainerKind kind, const Dataset& dataset,
                                                 const nn::TrainOptions& options, DenseMatrix<float> teacher) {
  const Device device = Device::host(2);
  if (kind == TrainerKind::gcn) return nn::make_gcn_trainer(dataset, options, device);
  if (kind == TrainerKind::bi_gcn) return nn::make_bi_gcn_trainer(dataset, options, device, std::move(teacher));
  return nn::make_stack_trainer(dataset, options, device, std::move(teacher));
}

/// A trainer with drawn tensors: weights of binary layers on both sides of 1, biases that are not 0, and moments as of
/// steps before, so that a small gradient makes a small step.
struct DrawnTrainer {
  NetworkCase network;
  Dataset dataset;
  DenseMatrix<float> teacher;
  nn::TrainOptions options;
  std::unique_ptr<nn::Trainer> trainer;

  DrawnTrainer(const NetworkCase& the_case, Dataset data)
      : network(the_case), dataset(std::move(data)), options(the_case.options()) {
    if (network.taught) teacher = drawn_teacher(dataset, network.seed);
    trainer = make_trainer(network.kind(), dataset, options, teacher.clone());
    for (std::size_t p = 0; p < trainer->parameters().size(); ++p) draw(p);
  }
  explicit DrawnTrainer(const NetworkCase& the_case)
      : DrawnTrainer(the_case, planted_data({.kind = the_case.features, .seed = the_case.seed})) {}

  /// The GCN in floats keeps its weights inputs x outputs.
  [[nodiscard]] DoubleMatrix in_oracle(const DenseMatrix<float>& tensor) const {
    const bool turned = network.kind() == TrainerKind::gcn && tensor.nrows() != 1;
    return turned ? flipped(DoubleMatrix(tensor)) : DoubleMatrix(tensor);
  }

  [[nodiscard]] OracleBatches batches() const {
    return {dataset, options, network.kind(), network.taught ? DoubleMatrix(teacher) : DoubleMatrix()};
  }

  /// With the trainer's present tensors. Weight decay is for all of a binary network, and for the first layer of a real
  /// one.
  [[nodiscard]] NetworkOracle oracle() const {
    const auto shapes = nn::layer_shapes(options.architecture, dataset.num_features(), options.hidden,
                                         static_cast<std::size_t>(dataset.num_classes), options.depth);
    NetworkOracle oracle(shapes, network.real(), options.architecture == nn::Architecture::saint);
    const std::size_t in_first_layer = shapes[0].root ? 3 : 2;  // of a real network
    for (std::size_t p = 0; p < oracle.tensors.size(); ++p) {
      OracleTensor& tensor = oracle.tensors[p];
      const nn::Parameter& parameter = trainer->parameters()[p];
      tensor.value = in_oracle(parameter.value);
      tensor.first_moment = in_oracle(parameter.first_moment);
      tensor.second_moment = in_oracle(parameter.second_moment);
      if (parameter.average.nrows() != 0) tensor.average = in_oracle(parameter.average);
      tensor.decay = network.real() && p >= in_first_layer ? 0 : static_cast<double>(*options.weight_decay);
    }
    return oracle;
  }

 private:
  void draw(std::size_t p) {
    nn::Parameter& parameter = trainer->parameters()[p];
    const bool binary_weight = !network.real() && parameter.value.nrows() != 1;
    const auto uniform = [&](std::uint32_t what, std::size_t n) {
      return random_uniform({network.seed, 30 + what, static_cast<std::uint32_t>(p)}, n);
    };
    const auto value = [&](std::uint32_t what, std::size_t n) {
      const float size = uniform(what, n);
      const float sign = uniform(what + 1, n) < 0.5F ? -1.0F : 1.0F;
      if (!binary_weight) return 0.5F * sign * size;
      return sign * (uniform(what + 2, n) < 0.1F ? 0.7F + 0.7F * size : 0.02F + 0.3F * size);
    };
    for (std::size_t n = 0; n < parameter.value.values().size(); ++n) {
      parameter.value.values()[n] = value(0, n);
      if (parameter.average.nrows() != 0) parameter.average.values()[n] = value(3, n);
      parameter.first_moment.values()[n] = 0.02F * (2 * uniform(6, n) - 1);
      parameter.second_moment.values()[n] = 1e-3F * (0.1F + uniform(7, n));
    }
  }
};

}  // namespace bitgraph::test
