// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/level_scale.hpp>
#include <bitgraph/formats/quantized_matrix.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/precision.hpp>
#include <bitgraph/ops/binarize.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bitgraph::nn {

/// The models of BitGNN (section 4.1), and gin:
///   gcn            Kipf and Welling 2017: layers with Aggregation::symmetric
///   inductive_gcn  Hamilton et al. 2017, the inductive variant of GCN: mean_with_self
///   sage           Hamilton et al. 2017: mean, and a weight for the node itself
///   saint          Zeng et al. 2020: layers with sum and a weight for the node itself (GraphConv), whose outputs, side
///                  by side, go through a linear layer
///   gin            Xu et al. 2019: a layer with sum_with_self and a linear one behind it, the two layers of its MLP
///   inductive_gin  the same, trained over samples of neighbours
enum class Architecture { gcn, inductive_gcn, sage, saint, gin, inductive_gin };

[[nodiscard]] std::string_view to_string(Architecture architecture) noexcept;  ///< "gcn", "inductive-gcn", ...
[[nodiscard]] Architecture architecture_from_string(std::string_view name);    ///< throws usage

/// How a layer takes in a node's neighbours (BitGNN, section 2.1).
enum class Aggregation {
  none,            ///< not at all: a linear layer
  symmetric,       ///< D^-1/2 (A + I) D^-1/2, D the degrees of A + I
  mean_with_self,  ///< D^-1 (A + I)
  mean,            ///< D^-1 A; nothing comes to a node without neighbours
  sum,             ///< A
  sum_with_self    ///< A + I
};

/// A weight matrix, outputs x inputs: floats, signs with one scale an output (its mean magnitude), or levels with one
/// step and offset an output. Each number format that layers can have weights in is one alternative.
using Weight = std::variant<DenseMatrix<float>, Binarized, QuantizedMatrix>;

/// A linear map: y = W x + bias.
struct Linear {
  Weight weight;       ///< empty: there is no map
  Buffer<float> bias;  ///< one an output

  [[nodiscard]] NumberFormat format() const noexcept;  ///< of the weight
  [[nodiscard]] bool binary() const noexcept { return std::holds_alternative<Binarized>(weight); }
  [[nodiscard]] bool in_levels() const noexcept { return std::holds_alternative<QuantizedMatrix>(weight); }
  [[nodiscard]] bool empty() const noexcept { return inputs() == 0; }
  [[nodiscard]] std::size_t inputs() const noexcept;
  [[nodiscard]] std::size_t outputs() const noexcept;

  /// The weight as floats, as signs, or as levels. Throw usage where it is another.
  [[nodiscard]] DenseMatrix<float>& floats();
  [[nodiscard]] const DenseMatrix<float>& floats() const;
  [[nodiscard]] Binarized& signs();
  [[nodiscard]] const Binarized& signs() const;
  [[nodiscard]] QuantizedMatrix& levels();
  [[nodiscard]] const QuantizedMatrix& levels() const;

  [[nodiscard]] std::size_t bytes() const noexcept;
  [[nodiscard]] Linear to(const Device& device) const;
};

/// A linear map of float weights (outputs x inputs): as they are, or binarized. O(outputs * inputs).
[[nodiscard]] Linear make_linear(DenseMatrix<float> weight, Buffer<float> bias, bool binary);

/// One layer. With x its input, N and R its two linear maps without their biases b and c:
///   real  y = aggregate(N x) + b + R x + c, and relu where another layer follows
///   full  the same with x, N and R by their signs and scales, and b within the aggregation (Bi-GCN)
///   bin   y = +1 where vote(sign(N x + b)) or sign(R x + c) is, else -1; a vote that is a tie is +1. Of a linear layer
///         sign(N x + b)
///   levels  as real, with x, the weights and N x each by its levels: values are quantized before they are multiplied
///         and before they are added up. What comes from a neighbour j is scaled by D^-1/2 before, where the
///         aggregation is symmetric
/// Where a model classifies graphs, the logits of a graph are the sum over its nodes of what the last layer makes
/// without its biases, and then the biases (the readout of Xu et al. 2019).
struct Layer {
  Aggregation aggregation = Aggregation::symmetric;
  Precision precision = Precision::real;
  Linear neighbor;  ///< of what is aggregated; of a linear layer the only one
  Linear root;      ///< of the node itself; empty: there is none
  /// Of levels: one step of the input, times degree_root() of each node where the precision says so; none where the
  /// input is the features.
  LevelScale input_scale;
  LevelScale message_scale;  ///< of levels: a step for each column of what is added up

  [[nodiscard]] std::size_t inputs() const noexcept { return neighbor.inputs(); }
  [[nodiscard]] std::size_t outputs() const noexcept { return neighbor.outputs(); }
};

/// What a model remembers of its training, so that nobody tests it on nodes that it has learned.
struct TrainingRecord {
  Split split;
  std::string data;            ///< Dataset::fingerprint()
  std::string training_nodes;  ///< 16 hexadecimal digits, whatever the order of the nodes

  /// Of a data set with the split that a model is trained with. O(size of the data set).
  [[nodiscard]] static TrainingRecord of(const Dataset& dataset);

  /// Draws the split again. Where that does not give the same training nodes (a data set of other labels), or the data
  /// set is one that no such split can be drawn of, the split stays as it is, and false is returned. O(nodes).
  [[nodiscard]] bool restore(Dataset& dataset) const;
};

inline constexpr std::size_t most_thresholds = 64;  ///< of a feature

class ProgramBuilder;  // bitgraph/nn/program.hpp
struct LayerShape;

/// Builds the operators of a layer of your own, from its input x to its output. Where another layer follows, the output
/// goes through relu, unless the layer ends in tanh. standard_layer() (bitgraph/nn/program.hpp) builds those of the
/// library.
using LayerBuilder = std::uint32_t (*)(ProgramBuilder& builder, const LayerShape& shape, std::uint32_t x);

/// A trained network, packed: all that inference needs.
struct Model {
  Architecture architecture = Architecture::gcn;
  Precision precision = Precision::real;
  std::string dataset;  ///< name of the data set it was trained on
  std::uint64_t seed = 0;
  std::optional<TrainingRecord> trained;  ///< none: not known, as of a PyTorch model
  bool jumping_knowledge = false;         ///< a linear layer takes the outputs of all convolutions (Xu et al. 2018)
  bool readout = false;                   ///< it classifies graphs: logits are summed over the nodes of each
  bool normalize_rows = false;            ///< features of a node are divided by their sum
  /// Each feature is taken less its mean, times its inverse deviation: batch norm. Where features have long tails these
  /// are the median and that of most values. Of float models and levels a feature must be dense, or its mean 0. Empty:
  /// none.
  Buffer<float> input_mean, input_inverse_deviation;
  /// Of float models and levels, with means: what is then further from 0 is brought to this distance. 0: none.
  float input_limit = 0;
  /// Binary models: signs that the first layer has of each feature, side by side (a thermometer code, Buckman et al.
  /// 2018): those of the feature less each of so many numbers, input_mean. With more than one, rows have no scale.
  std::size_t thresholds = 1;
  std::vector<Layer> layers;

  /// A layer of your own, in place of each that aggregates but the first, with the same weights: train() has it too
  /// (TrainOptions::layer_builder). Null: those of the architecture. It is code, so that no file can hold the model;
  /// without it, the weights are those of a model that a file can hold, and that takes its layer again.
  LayerBuilder layer_builder = nullptr;

  /// A network of your own: builds, from the layers' weights, the operators from features to logits, and returns the
  /// logits. Empty: the architecture's network. Such a model runs, and is planned, explained and tuned, as any other;
  /// it is code, so that no file can hold it. Layers then need not fit one another, but what is built must.
  std::function<std::uint32_t(ProgramBuilder&)> network;

  [[nodiscard]] std::size_t num_features() const { return layers.front().inputs() / thresholds; }
  [[nodiscard]] std::size_t hidden() const { return layers.front().outputs(); }
  [[nodiscard]] std::size_t num_classes() const { return layers.back().outputs(); }
  [[nodiscard]] std::size_t depth() const noexcept;  ///< how many of its layers aggregate

  /// The outputs of all convolutions stand side by side as the last layer's input.
  [[nodiscard]] bool concatenates() const noexcept;

  /// Products or sums of its layers are of levels.
  [[nodiscard]] bool has_levels() const noexcept { return precision.has_levels(); }

  /// Exact size of the weights as held for inference.
  [[nodiscard]] std::size_t bytes() const noexcept;

  /// The forms of its layers where the whole runs as `form`. Throws usage for a binary form of a real model, a real
  /// form of a binary one, and for a model of levels any form but its own. In each of these forms a layer whose
  /// `precision` has plain inputs keeps them.
  [[nodiscard]] std::vector<Precision> layer_forms(Precision form) const;

  /// Throws bad_input, naming the layer and what is wrong, unless the layers fit one another: weights, scales and
  /// biases of one shape, finite, and scales not negative; each layer as wide as the one before it; precisions that the
  /// weights have; of a network of your own (usage), operators that do not take what they are given; a mean and a
  /// deviation for each feature, or none. All of it is on the host. O(weights).
  void validate() const;

  /// Calls validate() of both, and throws bad_input naming what does not fit: the width of the features, the number of
  /// classes, graphs for a model of nodes or the other way round. A data set without classes fits.
  void require_fit(const Dataset& dataset) const;

  /// "gcn 2 9f86d081884c7d65": tells its weights, on the host, from another model's. Of a file it stays the same.
  [[nodiscard]] std::string fingerprint() const;

  /// One safetensors file: packed weights, and metadata that says everything needed to run it. docs/formats.md lists
  /// both. Throws not_possible for a layer or a network of your own.
  void save(const std::filesystem::path& path) const;

  /// Reads such a file, or a state dictionary of PyTorch in safetensors; of the latter `precision`, `kind` and
  /// `normalize_rows` may stand in its metadata (docs/formats.md). Throws bad_input naming the tensor that is missing
  /// or misshapen.
  [[nodiscard]] static Model load(const std::filesystem::path& path);
};

/// What a layer of an architecture is like, before it has weights.
struct LayerShape {
  Aggregation aggregation = Aggregation::symmetric;
  bool root = false;
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  bool norm = false;             ///< is trained with a batch norm, which the trained layer has in its weights
  LayerBuilder build = nullptr;  ///< its operators; null: those that Layer says
};

/// The most layers that aggregate in a model: as many as can stand side by side (most_concat_parts).
inline constexpr std::size_t most_depth = 64;

/// The layers of an architecture with `depth` aggregations, the hidden ones all of one width; with jumping knowledge a
/// last linear layer takes the outputs of all convolutions side by side. Throws usage for a width or depth of 0, or a
/// depth above most_depth.
[[nodiscard]] std::vector<LayerShape> layer_shapes(Architecture architecture, std::size_t num_features,
                                                   std::size_t hidden, std::size_t num_classes, std::size_t depth = 2,
                                                   bool jumping_knowledge = false);

}  // namespace bitgraph::nn
