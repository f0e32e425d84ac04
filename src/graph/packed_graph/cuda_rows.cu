// SPDX-License-Identifier: Apache-2.0
#include "graph/packed_graph/cuda_rows.cuh"

#include <bitgraph/core/kernel.cuh>
#include <bitgraph/graph/packed_graph.hpp>

namespace bitgraph {

namespace {

constexpr unsigned block_threads = 256;

__global__ void gather(NodeId n, const NodeId* row, const std::uint32_t* from, std::uint32_t* to) {
  const std::size_t i = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < n) to[i] = from[row[i]];
}

/// Of tiles, of what they are unpacked to.
CsrPatternView view_of(const PackedGraph::Matrix& matrix, std::optional<CsrPattern>& unpacked) {
  if (const auto* csr = std::get_if<CsrPattern>(&matrix)) return csr->view();
  unpacked = unpack(std::get<BitTileMatrix>(matrix));
  return unpacked->view();
}

}  // namespace

CudaRows::CudaRows(const PackedGraph& graph) : device_(graph.device()) {
  out_ = view_of(graph.out(), unpacked_out_);
  in_ = graph.symmetric() || !graph.has_in() ? out_ : view_of(graph.in(), unpacked_in_);
  if (!graph.new_id().empty()) new_id_ = Buffer<NodeId>::copy_of(graph.new_id(), device_);
}

void CudaRows::order(const void* of_row, void* of_node) const {
  if (out_.nrows == 0) return;
  const ScopedCudaDevice scope(device_.index());
  gather<<<blocks_for(out_.nrows, block_threads), block_threads, 0, stream_of(device_)>>>(
      out_.nrows, new_id_.data(), static_cast<const std::uint32_t*>(of_row), static_cast<std::uint32_t*>(of_node));
  cuda_check_launch("gather");
}

}  // namespace bitgraph
