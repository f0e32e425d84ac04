// SPDX-License-Identifier: Apache-2.0
// Greedy colouring on a CUDA device. See cuda.cu.
#pragma once

#include <bitgraph/core/buffer.hpp>

#include "graph/coloring/engine.hpp"
#include "graph/packed_graph/cuda_rows.cuh"

#include <cstdint>

namespace bitgraph {

/// The colourings of one packed graph and the memory they take.
class CudaColoring final : public ColoringEngine {
 public:
  /// `graph` must outlive this and have in-edges. Throws not_possible for 2^31 nodes.
  CudaColoring(const PackedGraph& graph, std::uint64_t seed);

  /// Writes the colour of every node, in the caller's numbering, and returns how many there are. Waits for it.
  std::int32_t run(std::int32_t* color) override;

 private:
  void collect(const PackedGraph& graph, std::uint64_t seed);

  Device device_;
  CudaRows rows_;
  bool symmetric_;
  Buffer<NodeId> before_;  ///< of every row the neighbours of higher priority, where its edges stand
  Buffer<unsigned> num_before_, resume_at_, control_;
  Buffer<NodeId> open_[2];
  Buffer<std::int32_t> color_;  ///< of rows; only where the order was changed
};

}  // namespace bitgraph
