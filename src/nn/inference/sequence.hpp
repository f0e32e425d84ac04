// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/nn/plan.hpp>

#include <cstddef>
#include <vector>

namespace bitgraph::nn {

/// The post-op that is fused into the kernel of a vote.
enum class VotePostOp {
  none,
  scores,  ///< the counts that the last layer's products consist of; they are added up over neighbours afterwards
  logits   ///< the product with the last layer
};

/// What is decided of a plan's layers before it is made.
struct Sequences {
  /// Layers that count their neighbours' bits first and multiply the counts: each neighbour is then one bit a column,
  /// not a float. Of layers whose input is a vote, whose aggregation is a mean, and whose nodes all have a neighbour.
  std::vector<bool> aggregate_first;
  std::size_t blocks = 1;  ///< the graph's rows in so many patterns, so that the counts of one at a time are there
  bool sell = false;       ///< the blocks are SELL patterns: votes and counts are all that the graph is for

  /// Layers with one kernel for vote and ADD, or for counts and all that follows; and the post-op of a vote's kernel.
  std::vector<bool> fused;
  std::vector<VotePostOp> post_op;
};

/// By the bytes that either way moves, where the options do not say which. `options.forms` has one form a layer; the
/// graph is on the device as a whole, or comes in parts.
[[nodiscard]] Sequences decide_sequences(const Model& model, const InferenceOptions& options, const CsrPattern& graph,
                                         const Device& device, bool whole);

/// Whether the last layer's input, outputs of layers side by side, is put together a few rows at a time: bits on the
/// host.
[[nodiscard]] bool joins_rows(const Model& model, const InferenceOptions& options, const Device& device);
inline constexpr std::size_t joined_rows = 8192;

}  // namespace bitgraph::nn
