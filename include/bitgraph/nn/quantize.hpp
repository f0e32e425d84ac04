// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/nn/precision.hpp>
#include <bitgraph/ops/quantize.hpp>

#include <memory>
#include <vector>

namespace bitgraph::nn {

struct QuantizeModelOptions {
  Precision precision = Precision::of_levels(8, 8, 8);
  /// One a layer, instead; layers in float stay as they are. Empty: `precision` for all, the last one's messages with
  /// at least Precision::least_last_message_bits.
  std::vector<Precision> forms;
  /// Of weights. The least error serves few bits best; 8 bits and more are hardly changed by it.
  BoundsOf bounds = BoundsOf::least_error;
  BoundsOf value_bounds = BoundsOf::clipped;  ///< of inputs and messages, of which those of hubs are the largest
  /// What a layer makes has the mean that it has in the float model, in each column: biases change for it.
  bool corrects_biases = true;
  /// Weights behind the first layer are those for which products of its levels come nearest to the float model's, by
  /// least squares over the nodes, before they become levels. Where there are 8 nodes for each input, and biases are
  /// corrected, too.
  bool corrects_weights = true;
};

/// Makes models of levels of one float model. The float model runs once, in the constructor; every model is made of the
/// values that it had, and what one model has computed the next ones use: weights and scales of the same bits.
class ModelQuantizer {
 public:
  /// Runs the float model over the data set, on the host, and keeps all its values in memory: nodes x the columns of
  /// every operator, in floats. Model and data set must outlive it. Throws bad_input where they do not fit one another,
  /// usage for a model that is not in floats.
  ModelQuantizer(const Model& model, const Dataset& dataset, const Device& device = {});
  ~ModelQuantizer();
  ModelQuantizer(ModelQuantizer&&) noexcept;

  /// As the function quantize(). O(40 looks at the values that need a scale which no model before had, and a run of the
  /// model in levels where weights or biases are corrected, with O(inputs (inputs + outputs)) for up to 16,384 nodes).
  [[nodiscard]] Model quantize(const QuantizeModelOptions& options = {});

  [[nodiscard]] const Model& model() const noexcept;
  [[nodiscard]] const Dataset& dataset() const noexcept;

  /// The float model's, num_nodes x num_classes, on the host.
  [[nodiscard]] const DenseMatrix<float>& logits() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A float model in levels, without training and without labels (post-training quantization): weights by the values of
/// each output, inputs and messages by the values that the float model has over the data set. Throws bad_input where
/// the model does not fit the data set; usage for a model that is not in floats, for forms that have no levels or not
/// one for each layer, and where two different inputs of a layer need one scale. Runs the float model and the one in
/// levels once, with all their values in memory at once: O(their inference, and 40 looks at the values). On the host.
/// For several models of one float model use ModelQuantizer.
[[nodiscard]] Model quantize(const Model& model, const Dataset& dataset, const QuantizeModelOptions& options = {},
                             const Device& device = {});

}  // namespace bitgraph::nn
