// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/nn/plan.hpp>

#include <cstddef>
#include <vector>

namespace bitgraph::nn {

/// What the kernel of a vote does with it besides.
enum class Behind {
  nothing,
  scores,  ///< counts what the last layer's products are made of; they are added up over neighbours afterwards
  logits   ///< multiplies by the last layer
};

/// What is decided of a plan's layers before it is made.
struct Sequences {
  /// Layers that count their neighbours' bits first and multiply the counts: each neighbour is then one bit a column,
  /// not a float. Of layers whose input is a vote, whose aggregation is a mean, and whose nodes all have a neighbour.
  std::vector<bool> aggregate_first;
  std::size_t blocks = 1;  ///< the graph's rows in so many patterns, so that the counts of one at a time are there
  bool sell = false;       ///< the blocks are SELL patterns: votes and counts are all that the graph is for

  /// Layers with one kernel for vote and ADD, or for counts and all that follows; and what else a vote's kernel does.
  std::vector<bool> fused;
  std::vector<Behind> behind;
};

/// By the bytes that either way moves, where the options do not say which. `options.forms` has one form a layer; the
/// graph is on the device as a whole, or comes in parts.
[[nodiscard]] Sequences decide_sequences(const Model& model, const InferenceOptions& options, const CsrPattern& graph,
                                         const Device& device, bool whole);

/// Whether the last layer's input, outputs of layers side by side, is put together a few rows at a time: bits on the
/// host.
[[nodiscard]] bool joins_rows(const Model& model, const InferenceOptions& options, const Device& device);
inline constexpr std::size_t joined_rows = 8192;

/// The first row of a block of so many.
[[nodiscard]] constexpr std::size_t first_row(std::size_t num_rows, std::size_t block, std::size_t blocks) noexcept {
  return num_rows * block / blocks;
}

/// The most rows of one.
[[nodiscard]] constexpr std::size_t most_rows(std::size_t num_rows, std::size_t blocks) noexcept {
  return (num_rows + blocks - 1) / blocks;
}

}  // namespace bitgraph::nn
