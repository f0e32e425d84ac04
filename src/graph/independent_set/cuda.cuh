// SPDX-License-Identifier: Apache-2.0
// Maximal independent sets on a CUDA device. See cuda.cu.
#pragma once

#include <bitgraph/core/buffer.hpp>

#include "graph/independent_set/engine.hpp"
#include "graph/packed_graph/cuda_rows.cuh"

#include <cstdint>

namespace bitgraph {

/// The searches over one packed graph and the memory they take.
class CudaIndependentSet final : public IndependentSetEngine {
 public:
  /// `graph` must outlive this and have in-edges.
  CudaIndependentSet(const PackedGraph& graph, std::uint64_t seed);

  /// Writes 1 or 0 for every node, in the caller's numbering, and returns the size of the set. Waits for it.
  NodeId run(std::uint8_t* member) override;

 private:
  Device device_;
  CudaRows rows_;
  bool symmetric_;
  Buffer<std::uint64_t> priority_;
  Buffer<std::uint8_t> state_;
  Buffer<EdgeOffset> resume_at_;
  Buffer<NodeId> open_[2];
  Buffer<unsigned> control_;
};

}  // namespace bitgraph
