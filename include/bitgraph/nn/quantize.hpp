// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/nn/precision.hpp>
#include <bitgraph/ops/quantize.hpp>

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
};

/// A float model in levels, without training and without labels (post-training quantization): weights by the values of
/// each output, inputs and messages by the values that the float model has over the data set. Throws bad_input where
/// the model does not fit the data set; usage for a model that is not in floats, for forms that have no levels or not
/// one for each layer, and where two different inputs of a layer need one scale. Runs the float model and
/// the one in levels once, with all their values in memory at once: O(their inference, and 40 looks at the values). On
/// the host.
[[nodiscard]] Model quantize(const Model& model, const Dataset& dataset, const QuantizeModelOptions& options = {},
                             const Device& device = {});

}  // namespace bitgraph::nn
