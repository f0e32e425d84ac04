// SPDX-License-Identifier: Apache-2.0
// A model's weights on a device, and what operators want made of them.
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/level_gemm.hpp>

#include <bitgraph/nn/program.hpp>
#include "nn/inference/input_features.hpp"

#include <array>
#include <span>
#include <vector>

namespace bitgraph::nn {

/// One weight matrix of a layer.
struct PreparedWeight {
  Linear linear;             ///< outputs x inputs; empty: the layer has no such weight
  SparseGemmWeights sparse;  ///< where the input is a sparse bit matrix
  DenseMatrix<float> wide;   ///< inputs x outputs, where the input is sparse floats
  LevelWeights levels;       ///< of levels, instead of the linear map's weight
};

/// Which forms of its weights a program reads.
struct WeightUse {
  bool sparse = false;                    ///< neighbor and root, for a sparse bit matrix
  bool wide = false;                      ///< the same, for sparse floats
  std::array<LevelWeightsUse, 2> levels;  ///< of weights in levels: neighbor and root
  bool both = false;                      ///< the rows of neighbor and root as one matrix
  bool layer_bias = false;                ///< the sum of both biases

  [[nodiscard]] LevelWeightsUse& levels_of(WeightOf which) { return levels[which == WeightOf::root ? 1 : 0]; }
  [[nodiscard]] const LevelWeightsUse& levels_of(WeightOf which) const {
    return levels[which == WeightOf::root ? 1 : 0];
  }
};

/// How features are sparse, if they are.
struct SparseInput {
  bool bits = false;
  bool floats = false;
  bool levels = false;

  [[nodiscard]] static SparseInput of(const InputFeatures& features);
};

class Weights {
 public:
  Weights(const Model& model, const Program& program, const InputFeatures& features, const Device& device);

  /// Weights of these layers, on the host or the device. Where there are some of the same shapes, these come into
  /// their place, where kernels know them.
  void set(std::span<const Layer> layers);

  /// The program reads other forms of the same weights from now on.
  void prepare(const Program& program);

  [[nodiscard]] const PreparedWeight& of(const Operator& op) const { return of(op.layer, op.weight); }
  [[nodiscard]] const PreparedWeight& of(std::size_t layer, WeightOf which) const;

  /// The scale of a value in levels that a layer knows. Throws usage where the layer has none of the value's shape.
  [[nodiscard]] const LevelScale& scale_of(const Value& value) const;

  /// The bias that an operator adds; empty: none.
  [[nodiscard]] std::span<const float> bias(const Operator& op) const;

  /// Bytes of all of it.
  [[nodiscard]] static std::size_t predicted_bytes(const Model& model, const Program& program,
                                                   const SparseInput& sparse, const Device& device);

 private:
  struct LayerWeights {
    std::array<PreparedWeight, 3> of;  ///< neighbor, root, both
    Buffer<float> bias;
    LevelScale input_scale, message_scale;
    WeightUse use;
  };

  void prepare(LayerWeights& layer, const Layer& of);
  [[nodiscard]] SparseGemmWeights sparse_weights(const Linear& linear) const;

  const InputFeatures& features_;
  Device device_;
  std::vector<LayerWeights> layers_;
  std::vector<Layer> shapes_;  ///< aggregation and precision, no weights
};

}  // namespace bitgraph::nn
