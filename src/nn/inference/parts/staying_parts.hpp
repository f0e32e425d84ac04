// SPDX-License-Identifier: Apache-2.0
// A plan over parts whose batches stay on the device: a run copies nothing.
//
// All batches are one graph, block after block: rows are the nodes in the order of the batches, entries the edges
// within them. So it is a plan over that graph, which runs as any other (Forward): as one CUDA graph, or in one launch.
// The passes see what they see of batches that are copied (packed_parts.hpp), and so the logits are the same bits;
// those of floats but for rounding. They come into the order of the data set's nodes by the last operator itself, where
// it multiplies or adds up levels, and else by one kernel behind it.
#pragma once

#include "nn/inference/forward.hpp"
#include "nn/inference/graph_operands.hpp"
#include "nn/inference/input_features.hpp"
#include "nn/inference/parts/over_parts.hpp"
#include "nn/inference/parts/packed_layout.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace bitgraph::nn {

/// All batches side by side, on the host.
struct StayingBatches {
  GroupSample all;
  std::size_t count = 0;
  PredictedMemory predicted;
};

/// Whether the batches of a plan stay on the device, and then what it will hold. They do where options.batches_at says
/// so, or where it is automatic and the plan is within options.memory, or without a limit within half of
/// `device_bytes`, the memory of the device: what else is there does not change the way. Throws not_possible where they
/// must stay and options.memory is too little; as inference_batches(). O(nodes + entries), and the passes.
[[nodiscard]] std::optional<StayingBatches> batches_that_stay(const Model& model, const Dataset& dataset,
                                                              const InferenceOptions& options, const Device& device,
                                                              std::size_t device_bytes);

class StayingParts final : public OverParts {
 public:
  /// Nothing is read of the data set later on. On the host it works too, for tests.
  StayingParts(const Model& model, const Dataset& dataset, const InferenceOptions& options, const Device& device,
               StayingBatches batches);

  const DenseMatrix<float>& run() override;
  void set_weights(const Model& model) override;
  [[nodiscard]] std::vector<ExplainedOperator> explain(std::size_t repeats) override {
    return forward_.explain(repeats);
  }
  [[nodiscard]] const Program& program() const noexcept override { return forward_.program(); }
  [[nodiscard]] std::string feature_format() const override { return features_.format(); }
  [[nodiscard]] std::string executor() const override { return "parts of a partition on the device"; }

 private:
  Device device_;
  CsrPattern batch_graph_;
  GraphOperands graph_;
  InputFeatures features_;
  Forward forward_;
};

}  // namespace bitgraph::nn
