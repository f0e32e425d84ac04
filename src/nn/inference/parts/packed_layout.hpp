// SPDX-License-Identifier: Apache-2.0
// Which batches of a plan over parts reach a CUDA device together, and what room they need there: known before anything
// is allocated.
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/part_batches.hpp>

#include "nn/program/operators.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace bitgraph::nn {

/// Bytes of a group that has more than one batch, at most. 75 small batches with six kernels each would be 450 launches
/// of a few microseconds, more than their copies take. A group of 4 MB takes some 75 us on the way (PCIe 5, 55 GB/s),
/// about as long as the kernels of a small model over it. Larger groups would leave less to overlap: the first one is
/// waited for, and nothing is copied while the last one runs.
inline constexpr std::size_t preset_group_bytes = std::size_t{4} << 20;

/// One group is copied while another one runs.
inline constexpr std::size_t most_slots = 2;

/// Consecutive batches, side by side in one graph.
struct BatchGroup {
  std::size_t first = 0, last = 0;  ///< batches first .. last - 1
  std::size_t nodes = 0;
  EdgeOffset entries = 0;
};

/// The nodes of a group, batch after batch, and the edges within its batches: row and column i are nodes[i].
struct GroupSample {
  std::vector<NodeId> nodes;
  CsrPattern pattern;
};
[[nodiscard]] GroupSample take_group(PartBatches& batches, const BatchGroup& group);

/// What a prediction asks of the data set's part with these nodes: counts of dense features, all of sparse ones.
[[nodiscard]] Dataset shape_of(const Dataset& dataset, std::span<const NodeId> nodes);

struct PackedLayout {
  std::vector<BatchGroup> groups;  ///< at least one
  std::size_t slots = 0;           ///< on the device, with room for any group each
  std::size_t slot_bytes = 0;
  std::size_t most_nodes = 0;  ///< of a group
  GraphFacts facts;            ///< of all batches
  PredictedMemory predicted;
};

/// Groups of `group_bytes` and two slots. Where the plan would then exceed options.memory, each batch is a group, and
/// in the end there is one slot: a copy waits for the group before. Throws not_possible where that is too much, too; as
/// inference_batches(). O(nodes + entries), and the passes for each group.
[[nodiscard]] PackedLayout lay_out_batches(const Model& model, const Dataset& dataset, const InferenceOptions& options,
                                           const Device& device, std::size_t group_bytes = preset_group_bytes);

/// Throws not_possible where a plan over batches exceeds options.memory.
void require_within_limit(const InferenceOptions& options, const PredictedMemory& predicted, std::size_t num_batches);

}  // namespace bitgraph::nn
