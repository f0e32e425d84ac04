// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/nn/infer.hpp>

namespace bitgraph::nn {

/// The forms asked for, or the model's own. Throws usage where the model has none such.
[[nodiscard]] std::vector<Precision> checked_forms(const Model& model, const std::vector<Precision>& wanted);

/// Of a plan over `graph`: the data set's in the order that the plan uses. The forms are checked.
[[nodiscard]] PredictedMemory predict_memory_over(const CsrPattern& graph, const Model& model, const Dataset& dataset,
                                                  const InferenceOptions& options, const Device& device);

/// Of a plan over the parts of the partition that the options have. The forms are checked.
[[nodiscard]] PredictedMemory predict_memory_over_parts(const Model& model, const Dataset& dataset,
                                                        const InferenceOptions& options, const Device& device);

}  // namespace bitgraph::nn
