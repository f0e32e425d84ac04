// SPDX-License-Identifier: Apache-2.0
// Betweenness on a CUDA device. See cuda.cu.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include "graph/betweenness/betweenness.hpp"
#include "graph/packed_graph/cuda_rows.cuh"

#include <cstddef>
#include <optional>
#include <span>

namespace bitgraph {

/// Searches from many sources over one packed graph, 32 at a time, and the memory they take: 796 bytes a node.
class CudaBetweenness {
 public:
  /// `graph` must outlive this. In-edges that it was packed without are made. Throws not_possible for 2^27 nodes.
  explicit CudaBetweenness(const PackedGraph& graph);

  /// Writes the score of every node times `scale`, in the caller's numbering. Waits for it. Returns the place in
  /// `sources` of the first one with more paths than a double counts; sources.size() where there is none.
  std::size_t run(std::span<const NodeId> sources, double scale, double* score);

 private:
  const PackedGraph& graph_;
  Device device_;
  CudaRows rows_;
  std::optional<CsrPattern> transposed_;
  Buffer<NodeId> entry_row_, level_begin_, long_entries_;
  Buffer<unsigned> entry_mask_, seen_, front_, control_;
  Buffer<double> paths_, dependency_, score_;
};

}  // namespace bitgraph
