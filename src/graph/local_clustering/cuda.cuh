// SPDX-License-Identifier: Apache-2.0
// Local clustering on a CUDA device. See cuda.cu.
#pragma once

#include <bitgraph/core/buffer.hpp>

#include "graph/local_clustering/engine.hpp"
#include "graph/packed_graph/cuda_rows.cuh"

#include <cstdint>
#include <span>
#include <vector>

namespace bitgraph {

/// Walks over one packed graph and the memory they take.
class CudaLocalWalk final : public LocalWalkEngine {
 public:
  /// `graph` must outlive this and have in-edges.
  CudaLocalWalk(const PackedGraph& graph, const RankRule& rule);

  /// Both wait for the device.
  [[nodiscard]] std::vector<RankedRow> run(std::span<const NodeId> seed_rows) override;
  [[nodiscard]] std::vector<EdgeOffset> entries_before(std::span<const NodeId> rows) override;

 private:
  Device device_;
  CudaRows rows_;
  bool symmetric_;
  RankRule rule_;
  Buffer<std::uint32_t> degree_;
  Buffer<std::uint64_t> rank_, residual_, to_each_;  ///< the first two are zero between runs
  Buffer<NodeId> place_;                             ///< of a row in a list, from 1 on; zero between calls
  Buffer<NodeId> touched_, queue_[2];
  Buffer<RankedRow> found_;
  Buffer<unsigned> control_;
};

}  // namespace bitgraph
