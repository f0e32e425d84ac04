// SPDX-License-Identifier: Apache-2.0
// Strongly connected components on a CUDA device. See cuda.cu.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include "graph/components/engine.hpp"
#include "graph/packed_graph/cuda_rows.cuh"

#include <cstdint>
#include <optional>

namespace bitgraph {

/// The searches over one packed graph and the memory they take.
class CudaStrongComponents final : public ComponentsEngine {
 public:
  /// `graph` must outlive this. In-edges that it was packed without are made.
  explicit CudaStrongComponents(const PackedGraph& graph);

  /// Writes the label of every node, in the caller's numbering, and returns the number of components. Waits for it.
  NodeId run(NodeId* label) override;

 private:
  [[nodiscard]] CsrPatternView in_rows() const;

  Device device_;
  CudaRows rows_;
  std::optional<CsrPattern> transposed_;
  Buffer<NodeId> owner_, smallest_;
  Buffer<NodeId> queue_[2], open_[2], long_rows_[2];
  Buffer<NodeId> near_out_, near_in_;  ///< columns of short rows, where all are short
  Buffer<std::uint64_t> color_, part_;
  Buffer<unsigned> num_in_, num_out_, control_;
};

}  // namespace bitgraph
