// SPDX-License-Identifier: Apache-2.0
// The rows of a packed graph on a CUDA device, in the form that all algorithms there need.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <cstdint>
#include <optional>

namespace bitgraph {

class PackedGraph;

/// The rows of a packed graph as pattern CSR on its device, where the kernels walk them one by one. Tiles are unpacked
/// there, once; a CSR is used where it is. And the order of the rows, on the device too.
class CudaRows {
 public:
  /// `graph` must outlive this.
  explicit CudaRows(const PackedGraph& graph);

  [[nodiscard]] const CsrPatternView& out() const noexcept { return out_; }
  [[nodiscard]] const CsrPatternView& in() const noexcept { return in_; }  ///< out() where there is no other

  /// The row of each node; null where rows are in the caller's order.
  [[nodiscard]] const NodeId* new_id() const noexcept { return new_id_.data(); }

  /// Values of the rows, 4 bytes each, in the caller's order. Put on the device's stream.
  void order(const void* of_row, void* of_node) const;

 private:
  Device device_;
  CsrPatternView out_, in_;
  std::optional<CsrPattern> unpacked_out_, unpacked_in_;
  Buffer<NodeId> new_id_;
};

}  // namespace bitgraph
