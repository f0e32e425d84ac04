// SPDX-License-Identifier: Apache-2.0
// A plan over parts whose batches do not stay on the CUDA device (else see staying_parts.hpp): a batch is one packed
// buffer and one transfer, while the last one runs (QGTC, section 4.6).
//
// Made once, for each group of batches (packed_layout.hpp):
//   - One packed buffer on the host, pinned where that can be. It has all that operators read of the group: patterns,
//     scales and orders of rows, features in bits, levels or floats, and the scales that the runtime derives of them.
//   - A Runtime with the operands of the group, whose views point into the group's slot on the device. Groups take the
//     two slots in turns.
// A buffer is packed by taking a copy of its slot: the operands are made there, as those of any plan, by a handle of
// the device that takes its storage from the slot (Device::with_room). So whatever operands there are, in whatever
// format, they lie side by side, and one copy brings them back to where the views expect them. What should find no room
// in the slot lies outside and stays there.
//
// Weights, the memory of the values and the program are there once for all groups.
//
// run() has two streams, and events that order them:
//
//   copies    group 0 | group 1       | group 2 ...             group g + 1 goes to the slot of group g - 1,
//   kernels           | group 0       | group 1 ...             when the kernels of that one are done
//
// Logits land in the order of the batches, and one kernel brings them into the order of the nodes. A run allocates
// nothing and waits for nothing. Where all buffers are pinned, both streams are recorded as one CUDA graph, and a run
// is one launch. Buffers that are not pinned go by way of the driver's own, in steps: slower, the same results.
#pragma once

#include "core/devices/recording.hpp"
#include "nn/inference/parts/over_parts.hpp"
#include "nn/inference/parts/packed_layout.hpp"
#include "nn/inference/runtime/runtime.hpp"
#include "nn/inference/runtime/weights.hpp"
#include "nn/program/passes/passes.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bitgraph::nn {

/// For tests: how batches are packed.
struct Packing {
  std::size_t group_bytes = preset_group_bytes;  ///< 0: each batch is a group
  bool pins = true;                              ///< false: as where memory cannot be pinned
};

class PackedParts final : public OverParts {
 public:
  /// As make_over_parts(). Nothing is read of the data set later on. On the host it works too, for tests: one copy and
  /// one group after the other.
  PackedParts(const Model& model, const Dataset& dataset, const InferenceOptions& options, const Device& device,
              const Packing& packing = {});
  ~PackedParts() override;

  const DenseMatrix<float>& run() override;
  void set_weights(const Model& model) override;
  [[nodiscard]] std::vector<ExplainedOperator> explain(std::size_t repeats) override;
  [[nodiscard]] const Program& program() const noexcept override { return compiled_.program; }
  [[nodiscard]] std::string feature_format() const override;
  [[nodiscard]] std::string executor() const override { return "parts of a partition from the host"; }

  [[nodiscard]] std::size_t num_groups() const noexcept { return groups_.size(); }
  /// Of all packed buffers.
  [[nodiscard]] std::size_t packed_bytes() const noexcept;
  /// Whether all of them are.
  [[nodiscard]] bool pinned() const noexcept;

 private:
  struct Group;

  PackedParts(const Model& model, const Dataset& dataset, const InferenceOptions& options, const Device& device,
              const Packing& packing, const PackedLayout& layout);
  void make_group(const Model& model, const Model& metadata, const Dataset& dataset, const Precision& form,
                  const GroupSample& sample, bool pins);

  /// Asks the second stream for the copy of a group, when the first is done with what it has been asked for.
  void load(std::size_t group);
  void compute(Group& group);
  /// All groups, and the order of the nodes.
  void ask_for_all();

  InferenceOptions options_;
  Device device_;
  Device copying_;  ///< the same device with another stream
  Compiled compiled_;
  CallerOrder no_order_;
  std::vector<Buffer<std::byte>> slots_;
  std::size_t most_nodes_;
  Buffer<std::uint64_t> values_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::size_t largest_ = 0;  ///< group, by its nodes
  std::optional<Weights> weights_;
  DenseMatrix<float> by_batches_;  ///< the logits in the order in which batches have their nodes
  Buffer<NodeId> place_;           ///< where each node's logits are among them
  DenseMatrix<float> logits_;
  bool records_ = false;
  Recording recording_;
};

}  // namespace bitgraph::nn
