// SPDX-License-Identifier: Apache-2.0
// The layers of a network in training: their parameters, and the layers of a model that are made of them.
#pragma once

#include <bitgraph/nn/model.hpp>
#include <bitgraph/nn/program.hpp>
#include <bitgraph/nn/train.hpp>

#include "nn/training/recipe/recipe.hpp"
#include "nn/training/run/training_run.hpp"
#include "nn/training/trainer.hpp"

#include <string>
#include <vector>

namespace bitgraph::nn {

/// The layers that are trained, and their network in floats.
[[nodiscard]] std::vector<LayerShape> trained_shapes(const Dataset& dataset, const TrainOptions& options);
[[nodiscard]] Program trained_program(const Dataset& dataset, const TrainOptions& options);

/// What a model has in its weights, and training outside of them.
struct FoldedFactors {
  float sum = 1;       ///< of sums over neighbours
  float readout = 1;   ///< of sums over the nodes of a graph: behind the last layer
  float features = 1;  ///< of the features
  const DenseMatrix<float>* center =
      nullptr;  ///< what training takes off each row of the features' signs; null: nothing
};

class NetworkLayers {
 public:
  /// Adds all parameters to the list, which must outlive it, as the options say: drawn, or those of a start or a
  /// teacher. Float layers of a start are taken by continue_from().
  NetworkLayers(std::vector<Parameter>& parameters, std::vector<LayerShape> shapes, const TrainOptions& options,
                const Recipe& recipe, const Device& device);
  NetworkLayers(const NetworkLayers&) = delete;
  NetworkLayers& operator=(const NetworkLayers&) = delete;

  [[nodiscard]] const std::vector<LayerShape>& shapes() const noexcept { return shapes_; }

  /// The forms of the layers: until votes are in the loop, those of a bin model are full.
  [[nodiscard]] std::vector<Precision> forms(bool votes) const;

  /// For a TrainingRun. Parameters must stay where they are from now on.
  [[nodiscard]] std::vector<LayerParameters> places();

  /// Takes the weights of a float model: take_layers() the other way round.
  void continue_from(const Model& model, const FoldedFactors& factors);

  /// The layers of the model as its parameters are now, where it is trained. Their memory stays. Not of levels.
  void take_layers(std::vector<Layer>& layers, const FoldedFactors& factors) const;

  /// The same on the host, of any precision.
  [[nodiscard]] std::vector<Layer> model_layers(const FoldedFactors& factors) const;

 private:
  /// The parameters of one linear map, by their places in the list; -1: not there.
  struct LinearPlaces {
    int weight = -1;
    int bias = -1;
    int scale = -1;  ///< of levels
  };
  struct Folded {
    DenseMatrix<float> weight, factor, zeros;
  };

  [[nodiscard]] bool real() const noexcept { return !precision_.multiplies_signs(); }
  LinearPlaces add_linear(const std::string& name, const LayerShape& shape, float decay, bool bias, std::uint64_t seed);
  int add_scale(const std::string& name, std::size_t count);
  void add_scales(const std::string& name, std::size_t l);
  int add_norm(const std::string& name, const LayerShape& shape, float decay);
  void even_out_scales();
  void start_from(const Model& model);

  [[nodiscard]] Parameter& parameter(int place) { return parameters_[static_cast<std::size_t>(place)]; }
  [[nodiscard]] const DenseMatrix<float>& outcome(int place) const {
    return parameters_[static_cast<std::size_t>(place)].outcome();
  }
  [[nodiscard]] LinearParameters linear_places(const LinearPlaces& at);
  [[nodiscard]] NormParameters norm_places(int scale);
  [[nodiscard]] ScaleParameters scale_places(int scale);

  void take_layer(Layer& layer, std::size_t l, const FoldedFactors& factors) const;
  void take_linear(Linear& linear, const DenseMatrix<float>& weight, int bias_place) const;
  void fold_norm(Linear& linear, std::size_t l) const;
  void fold_sum(Layer& layer, float factor) const;
  void fold_readout(Linear& linear, float factor) const;
  [[nodiscard]] bool is_last(std::size_t l) const noexcept { return l + 1 == shapes_.size(); }
  [[nodiscard]] Layer level_layer(std::size_t l, const FoldedFactors& factors) const;
  [[nodiscard]] Linear level_linear(const LinearPlaces& at, const NumberFormat& format, float factor) const;
  [[nodiscard]] LevelScale scale_of(int scale, ScaleExtent extent, float factor) const;

  std::vector<Parameter>& parameters_;
  std::vector<LayerShape> shapes_;
  Precision precision_;
  Device device_;
  std::vector<LinearPlaces> neighbor_, root_;
  std::vector<int> norm_;               ///< the place of a batch norm's scale; -1: there is none
  std::vector<int> inputs_, messages_;  ///< the places of scales of levels; -1: there are none
  mutable DenseMatrix<float> signs_;    ///< scratch of centers
  mutable std::vector<Folded> folded_;  ///< scratch of fold_norm(), by layer
};

}  // namespace bitgraph::nn
