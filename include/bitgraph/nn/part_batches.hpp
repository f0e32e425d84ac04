// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/partition.hpp>
#include <bitgraph/nn/sampling.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace bitgraph::nn {

struct PartBatchOptions {
  std::size_t parts = 1;  ///< of a batch at most: in training all have nearly one number, in inference all but the last
  std::uint64_t seed = 0;  ///< of the order of the parts
};

/// A twentieth of the parts, at least one: what a batch has where nothing is said.
[[nodiscard]] std::size_t preset_batch_parts(const Partition& partition) noexcept;

/// Batches made of the parts of a graph, for training (Chiang et al., "Cluster-GCN: an efficient algorithm for training
/// deep and large graph convolutional networks", KDD 2019, algorithm 1: stochastic multiple partitions) and for
/// inference (QGTC, section 4.1). A batch is the subgraph that the nodes of its parts induce: the edges within its
/// parts and those between them. Each node is in one batch of an epoch. Of a sample, loss_weight and entry_scale are
/// empty.
class PartBatches {
 public:
  /// The graph must outlive the batches; the partition is copied. Memory: 4 bytes a node twice, and a bit. Throws usage
  /// unless the graph is square, on the host, and a batch has at least one part; bad_input where the partition belongs
  /// to another graph (Partition::require_graph).
  PartBatches(const CsrPattern& graph, const Partition& partition, const PartBatchOptions& options,
              const Device& device = {});

  [[nodiscard]] std::size_t num_batches() const noexcept;

  /// A batch of training: each epoch has its own order of the parts, by seed and epoch, cut into batches. `out` keeps
  /// its memory from call to call. Throws usage for a batch that there is not.
  /// O(nodes / 64 + degrees of the batch's nodes, and once an epoch parts), parallel.
  void sample_into(SubgraphSample& out, std::uint32_t epoch, std::size_t batch);

  /// A batch of inference: parts in their own order, the same ones each time.
  void fixed_into(SubgraphSample& out, std::size_t batch);

  /// The parts of a batch of training, in the order drawn. Valid until the next call with another epoch.
  [[nodiscard]] std::span<const NodeId> parts_of(std::uint32_t epoch, std::size_t batch);

  /// The same batches for another thread: the partition is shared.
  [[nodiscard]] PartBatches twin(const Device& device = {}) const;

  ~PartBatches();
  PartBatches(PartBatches&&) noexcept;

 private:
  struct State;
  explicit PartBatches(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace bitgraph::nn
