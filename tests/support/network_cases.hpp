// SPDX-License-Identifier: Apache-2.0
// Each network in each form, as train() trains it and beside it the oracle, both with the same drawn tensors.
#pragma once

#include "nn/model/architectures.hpp"
#include "nn/model/random_model.hpp"
#include "support/double_matrix.hpp"
#include "support/network_oracle.hpp"
#include "support/oracle_batches.hpp"
#include "support/planted_data.hpp"
#include "support/training_run.hpp"

#include <bitgraph/core/random.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/train.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::test {

struct NetworkCase {
  nn::Architecture architecture = nn::Architecture::gcn;
  nn::Precision precision = nn::Precision::real;
  FeatureKind features = FeatureKind::counts;
  std::size_t depth = 2;
  bool jumping_knowledge = false;
  nn::SampleFrom sample_from = nn::SampleFrom::automatic;
  bool second_half = false;  ///< of the epochs: then a bin network votes
  bool taught = false;       ///< real: with a teacher; binary networks always have one
  float learning_rate = 0.02F;
  float weight_decay = 0.05F;
  float dropout = 0.4F;
  std::size_t batch_size = 12;
  std::vector<std::size_t> fan_outs;  ///< empty: 3 neighbours of a target, 2 of each other node
  std::size_t walk_length = 2;
  std::size_t batch_parts = 0;  ///< of parts_of(); 0: no parts
  std::uint64_t seed = 1;

  [[nodiscard]] std::string name() const {
    constexpr const char* kinds[] = {"counts", "mixed", "dense", "units", "counts in units"};
    return std::string(to_string(architecture)) + " " + to_string(precision) + " of " + std::to_string(depth) +
           (jumping_knowledge ? " joined" : "") + " layers, " + kinds[static_cast<int>(features)] +
           (sample_from == nn::SampleFrom::all ? ", all nodes" : "") +
           (batch_parts == 0 ? "" : ", " + std::to_string(batch_parts) + " parts") +
           (second_half ? ", second half" : ", first half") + (taught ? ", taught" : "") + ", seed " +
           std::to_string(seed);
  }

  [[nodiscard]] bool real() const { return !precision.multiplies_signs(); }

  /// Whether train() trains a teacher first where it is given none.
  [[nodiscard]] bool must_be_taught() const { return !real(); }

  /// Of each feature: the oracle has no codes.
  [[nodiscard]] std::optional<std::size_t> one_sign() const {
    return precision.multiplies_signs() ? std::optional<std::size_t>(1) : std::nullopt;
  }

  /// The one that is compared: the last of the second half, or one of the first half.
  [[nodiscard]] std::size_t epoch() const { return second_half ? epochs : 2; }
  static constexpr std::size_t epochs = 4;

  [[nodiscard]] nn::TrainOptions options() const {
    nn::TrainOptions options{.precision = precision,
                             .architecture = architecture,
                             .hidden = 10,
                             .depth = depth,
                             .jumping_knowledge = jumping_knowledge,
                             .sample_from = sample_from,
                             .epochs = epochs,
                             .learning_rate = learning_rate,
                             .weight_decay = weight_decay,
                             .dropout = dropout,
                             .thresholds = one_sign(),
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

/// Five parts of uneven sizes, with edges between them. One has no node, and one no training node.
inline Partition parts_of(const Dataset& dataset) {
  std::vector<bool> trained(dataset.graph.nrows(), false);
  for (const NodeId node : dataset.train) trained[node] = true;
  std::vector<NodeId> part_of;
  for (NodeId i = 0; i < dataset.graph.nrows(); ++i) {
    const auto part = static_cast<NodeId>(random_below({3, 40, 0}, i, 6));
    part_of.push_back(part >= 3 ? trained[i] ? 0 : 4 : part == 2 ? 3 : part);
  }
  return Partition(std::move(part_of), 5);
}

/// A run with drawn tensors: weights of binary layers on both sides of 1, biases that are not 0, and moments as of
/// steps before, so that a small gradient makes a small step.
struct DrawnRun {
  NetworkCase network;
  Dataset dataset;
  Partition partition;
  nn::Model teacher;  ///< of another architecture or width: no weights are taken from it
  nn::TrainOptions options;
  TrainingRun run;

  DrawnRun(const NetworkCase& the_case, Dataset data)
      : network(the_case),
        dataset(std::move(data)),
        partition(parts_of(dataset)),
        teacher(nn::random_model(nn::Architecture::gcn, nn::Precision::real, dataset.num_features(), 5, num_classes(),
                                 2, the_case.seed)),
        options(with_teacher(the_case)),
        run(dataset, options) {
    for (std::size_t p = 0; p < run.tensors.size(); ++p) draw(p);
  }
  explicit DrawnRun(const NetworkCase& the_case)
      : DrawnRun(the_case, planted_data({.kind = the_case.features, .seed = the_case.seed})) {}
  DrawnRun(const DrawnRun&) = delete;
  DrawnRun& operator=(const DrawnRun&) = delete;

  [[nodiscard]] OracleBatches batches() const { return {dataset, options, taught()}; }

  /// With the present tensors. Weight decay is for all of a binary network, and for the first layer of a real one.
  [[nodiscard]] NetworkOracle oracle() const {
    const auto shapes = nn::layer_shapes(options.architecture, dataset.num_features(), options.hidden, num_classes(),
                                         options.depth, options.jumping_knowledge);
    NetworkOracle oracle(shapes, network.real(),
                         options.jumping_knowledge || nn::traits_of(options.architecture).concatenates);
    const std::size_t in_first_layer = shapes[0].root ? 3 : 2;  // of a real network
    EXPECT_EQ(oracle.tensors.size(), run.tensors.size());
    for (std::size_t p = 0; p < oracle.tensors.size(); ++p) {
      OracleTensor& tensor = oracle.tensors[p];
      const RunTensor& drawn = run.tensors.at(p);
      tensor.value = drawn.value;
      tensor.first_moment = drawn.first_moment;
      tensor.second_moment = drawn.second_moment;
      tensor.average = drawn.average;
      const bool decays = !is_statistic(drawn) && !(network.real() && p >= in_first_layer);
      tensor.decay = decays ? static_cast<double>(*options.weight_decay) : 0;
    }
    return oracle;
  }

 private:
  [[nodiscard]] std::size_t num_classes() const { return static_cast<std::size_t>(dataset.num_classes); }

  [[nodiscard]] nn::TrainOptions with_teacher(const NetworkCase& the_case) const {
    nn::TrainOptions complete = the_case.options();
    if (the_case.taught || the_case.must_be_taught()) complete.teacher = &teacher;
    if (the_case.batch_parts != 0) {
      complete.partition = &partition;
      complete.batch_parts = the_case.batch_parts;
    }
    return complete;
  }

  /// The teacher's probabilities, where there is one. It sees what training sees: of samples of the training nodes the
  /// edges between these; of parts a batch of them.
  [[nodiscard]] DoubleMatrix taught() const {
    if (options.teacher == nullptr) return {};
    if (!nn::traits_of(network.architecture).sampled() || options.sample_from == nn::SampleFrom::all) {
      const nn::InferenceOptions parts{.partition = options.partition, .batch_parts = options.batch_parts.value_or(0)};
      return DoubleMatrix(nn::softmax(nn::InferencePlan(teacher, dataset, parts).run()));
    }
    std::vector<NodeId> nodes = dataset.train, from, to;
    std::sort(nodes.begin(), nodes.end());
    const CsrPattern part = nn::induced_subgraph(dataset.graph, nodes);
    for (NodeId i = 0; i < part.nrows(); ++i) {
      for (const NodeId j : part.row(i)) from.push_back(nodes[i]), to.push_back(nodes[j]);
    }
    const NodeId n = dataset.graph.nrows();
    const Dataset seen{.graph = csr_from_edges(n, n, from, to),
                       .features = {dataset.features.pattern.share(), dataset.features.values.share()},
                       .dense_features = dataset.dense_features.share()};
    return DoubleMatrix(nn::softmax(nn::InferencePlan(teacher, seen).run()));
  }

  /// Of a batch norm: no gradient changes it.
  static bool is_statistic(const RunTensor& tensor) {
    return tensor.name.ends_with(".mean") || tensor.name.ends_with(".variance");
  }

  void draw(std::size_t p) {
    RunTensor& tensor = run.tensors[p];
    const bool binary_weight = !network.real() && tensor.value.nrows != 1;
    const auto uniform = [&](std::uint32_t what, std::size_t n) {
      return random_uniform({network.seed, 30 + what, static_cast<std::uint32_t>(p)}, n);
    };
    const auto value = [&](std::uint32_t what, std::size_t n) {
      const float size = uniform(what, n);
      const float sign = uniform(what + 1, n) < 0.5F ? -1.0F : 1.0F;
      if (!binary_weight) return 0.5F * sign * size;
      return sign * (uniform(what + 2, n) < 0.1F ? 0.7F + 0.7F * size : 0.02F + 0.3F * size);
    };
    for (std::size_t n = 0; n < tensor.value.values.size(); ++n) {
      tensor.value.values[n] = value(0, n);
      if (!tensor.average.empty()) tensor.average.values[n] = value(3, n);
      tensor.first_moment.values[n] = 0.02F * (2 * uniform(6, n) - 1);
      tensor.second_moment.values[n] = 1e-3F * (0.1F + uniform(7, n));
    }
    if (!is_statistic(tensor)) return;
    for (double& average : tensor.average.values) average = 0.1 + std::fabs(average);
    for (DoubleMatrix* moment : {&tensor.first_moment, &tensor.second_moment})
      std::fill(moment->values.begin(), moment->values.end(), 0.0);
  }
};

}  // namespace bitgraph::test
