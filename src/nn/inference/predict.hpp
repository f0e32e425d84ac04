// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/nn/infer.hpp>

#include "nn/program/operators.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace bitgraph::nn {

/// The forms asked for, or the model's own. Throws usage where the model has none such.
[[nodiscard]] std::vector<Precision> checked_forms(const Model& model, const std::vector<Precision>& wanted);

/// Of a plan over `graph`: the data set's in the order that the plan uses. The forms are checked.
[[nodiscard]] PredictedMemory predict_memory_over(const CsrPattern& graph, const Model& model, const Dataset& dataset,
                                                  const InferenceOptions& options, const Device& device);

/// What is there while a plan is made and while it runs.
struct PlanStages {
  std::size_t weights = 0;
  std::size_t kept = 0;  ///< features, weights and graph
  std::size_t rows = 0;  ///< besides, while SELL is made, ahead of all values: one part is there as rows
  std::size_t values = 0;
  std::size_t features = 0;  ///< while features are made, before all else but the weights of a batch before

  [[nodiscard]] std::size_t peak() const noexcept { return std::max({features, kept + rows, kept + values}); }
};

/// Of a plan over the whole of `graph` that stands for one over parts: features are not in planes. Passes decide by
/// `facts`, where they are given, and not by its sizes. With `reorders` the logits come back into another order than
/// that of the graph, as with options.order.
[[nodiscard]] PlanStages predict_stages(const CsrPattern& graph, const Model& model, const Dataset& dataset,
                                        const InferenceOptions& options, const Device& device,
                                        std::optional<GraphFacts> facts = {}, bool reorders = false);

/// Of a plan over the parts of the partition that the options have. The forms are checked.
[[nodiscard]] PredictedMemory predict_memory_over_parts(const Model& model, const Dataset& dataset,
                                                        const InferenceOptions& options, const Device& device);

/// Bytes that a run over the whole graph would read and write if the layers of a model had these forms: one a layer,
/// and not checked. A float model may be asked for levels, which it gets by nn::quantize. O(nodes), and the passes.
[[nodiscard]] double predict_traffic(const Model& model, const Dataset& dataset, const std::vector<Precision>& forms,
                                     const Device& device);

}  // namespace bitgraph::nn
