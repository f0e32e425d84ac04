// SPDX-License-Identifier: Apache-2.0
// One layer in training: forward, keeping what the gradient needs, and backward. include/bitgraph/nn/model.hpp (Layer)
// says what a layer computes; docs/architecture.md the gradients of a binary one.
#pragma once

#include <bitgraph/core/random.hpp>
#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/ops/binarize.hpp>

#include "nn/sampling/training_batch.hpp"

#include <optional>

namespace bitgraph::nn {

/// A linear map's latent weights and their gradients. Null: the map, or its bias, is not there.
struct LinearParameters {
  const DenseMatrix<float>* weight = nullptr;  ///< outputs x inputs
  const DenseMatrix<float>* bias = nullptr;    ///< 1 x outputs
  DenseMatrix<float>* weight_gradient = nullptr;
  DenseMatrix<float>* bias_gradient = nullptr;
};

/// What a layer takes in; it must stay until backward is done.
struct LayerInput {
  const DenseMatrix<float>* values = nullptr;  ///< null where only signs are there
  const Binarized* signs = nullptr;            ///< binary layers: features; null: they are made of the values
  const DenseMatrix<float>* center = nullptr;  ///< binary layers: 1 x inputs, taken off each row; null: nothing is
  bool votes = false;                          ///< the values are of a vote: their signs are all there is
};

/// Which elements of the input are dropped in training.
struct InputDropout {
  float rate = 0;  ///< 0: none
  RandomKey key;
};

class LayerPass {
 public:
  LayerPass(const LayerShape& shape, bool last, const LinearParameters& neighbor, const LinearParameters& root,
            const Device& device)
      : shape_(shape), last_(last), neighbor_(neighbor), root_(root), device_(device) {}

  /// Of a bin layer the signs of the values are the output. `graph` is null for Aggregation::none.
  const DenseMatrix<float>& forward(const LayerInput& input, const LayerGraph* graph, Precision form,
                                    const InputDropout& dropout);

  /// From the gradient of the output to those of the parameters, and of the input where that is asked for.
  std::optional<DenseMatrix<float>> backward(DenseMatrix<float> gradient, bool of_input);

  [[nodiscard]] const DenseMatrix<float>& output() const noexcept { return output_; }

 private:
  void forward_real();
  void forward_binary();
  void take_signs();
  DenseMatrix<float> binary_update(const LinearParameters& linear, const Binarized& weight, std::size_t nrows);
  DenseMatrix<float> bias_without_center(const LinearParameters& linear, const Binarized& weight);
  DenseMatrix<float> aggregate_backward(const DenseMatrix<float>& gradient);
  void linear_backward(const LinearParameters& linear, const Binarized& weight, const DenseMatrix<float>& gradient,
                       const DenseMatrix<float>& x);
  void input_backward(DenseMatrix<float>& out, const LinearParameters& linear, const Binarized& weight,
                      const DenseMatrix<float>& gradient, float beta);
  [[nodiscard]] const DenseMatrix<float>& real_input() const;
  [[nodiscard]] const Binarized& signs() const { return input_.signs != nullptr ? *input_.signs : own_signs_; }
  [[nodiscard]] std::size_t num_inputs() const;
  [[nodiscard]] std::size_t num_targets() const;
  [[nodiscard]] bool dropped() const noexcept { return dropout_.rate > 0; }
  [[nodiscard]] bool has_root() const noexcept { return root_.weight != nullptr; }

  LayerShape shape_;
  bool last_ = false;
  LinearParameters neighbor_, root_;
  Device device_;
  LayerInput input_;
  const LayerGraph* graph_ = nullptr;
  Precision form_ = Precision::real;
  InputDropout dropout_;
  BitMatrix<ZeroOne> keep_;
  DenseMatrix<float> dropped_input_;  ///< real: after dropout
  Binarized own_signs_;
  Buffer<float> scale_;  ///< binary: one a row of the input, with dropout's
  Binarized neighbor_signs_, root_signs_;
  DenseMatrix<float> updated_, rooted_;  ///< bin: before their signs
  Binarized updated_signs_;
  DenseMatrix<float> output_;
};

}  // namespace bitgraph::nn
