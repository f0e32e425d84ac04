// SPDX-License-Identifier: Apache-2.0
// The memory of searches on a CUDA device, and what follows a search: parents, the caller's numbering.
#include "graph/bfs/device_search.hpp"

#include "core/cuda.cuh"
#include "graph/bfs/cuda.cuh"

#include <variant>

namespace bitgraph {

namespace {

constexpr unsigned threads = 256;

/// out[i] = by_row[row of node i].
__global__ void take_rows(std::int32_t* out, const std::int32_t* by_row, const NodeId* row, NodeId n) {
  const NodeId i = blockIdx.x * threads + threadIdx.x;
  if (i < n) out[i] = by_row[row[i]];
}

/// The smallest node one level up with an edge to the row; a warp a row. `node` is null where rows are nodes.
__global__ void find_parents(NodeId* parent, CsrPatternView in, const std::int32_t* level, const NodeId* node,
                             NodeId source, std::int32_t unreached) {
  const auto row = static_cast<NodeId>((std::size_t{blockIdx.x} * threads + threadIdx.x) / 32);
  if (row >= in.nrows) return;
  const unsigned lane = threadIdx.x % 32;
  NodeId smallest = no_parent;
  if (level[row] > 0 && level[row] != unreached) {
    const EdgeOffset end = in.row_ptr[row + 1];
    for (EdgeOffset e = in.row_ptr[row]; e < end; e += 32) {
      if (e + lane < end) {
        const NodeId j = in.col_ind[e + lane];
        if (level[j] == level[row] - 1) smallest = min(smallest, node == nullptr ? j : node[j]);
      }
      // Rows are sorted: where rows are nodes, the first hit is the smallest.
      if (node == nullptr && __any_sync(0xFFFFFFFFU, smallest != no_parent)) break;
    }
    smallest = __reduce_min_sync(0xFFFFFFFFU, smallest);
  }
  if (lane == 0)
    parent[node == nullptr ? row : node[row]] = row == source ? (node == nullptr ? row : node[row]) : smallest;
}

class CudaBfs final : public DeviceBfs {
 public:
  explicit CudaBfs(const PackedGraph& graph)
      : graph_(graph), out_(std::get<CsrPattern>(graph.out())), in_(std::get<CsrPattern>(graph.in())) {
    const Device& device = graph.device();
    const std::size_t n = graph.num_nodes();
    const std::size_t words = (n + 31) / 32;
    for (Buffer<std::uint32_t>& visited : visited_) visited = Buffer<std::uint32_t>(words, device);
    alone_ = Buffer<std::uint32_t>(words, device);
    rows_ = Buffer<std::uint64_t>(n, device);
    for (Buffer<EdgeOffset>& first : queue_first_) first = Buffer<EdgeOffset>(bfs_queue_capacity, device);
    for (Buffer<unsigned>& before : queue_before_) before = Buffer<unsigned>(bfs_queue_capacity, device);
    control_ = Buffer<std::byte>(sizeof(BfsControl), device);
    if (!graph.new_id().empty()) {
      row_level_ = Buffer<std::int32_t>(n, device);
      row_of_node_ = Buffer<NodeId>::copy_of(graph.new_id(), device);
      node_of_row_ = Buffer<NodeId>::copy_of(graph.old_id(), device);
    }
    if (n == 0) return;
    Buffer<unsigned> count(1, 0U, device);
    find_alone(device, in_.view(), alone_.data(), count.data());
    pack_bfs_rows(device, out_.view(), rows_.data());
    num_alone_ = count.to(Device{})[0];
  }

  void run(BfsResult& result, const BfsOptions& options, std::int32_t unreached) override {
    const Device& device = graph_.device();
    const NodeId n = graph_.num_nodes();
    std::int32_t* level = row_level_.empty() ? result.level.data() : row_level_.data();
    BfsCudaArgs args;
    args.out = out_.view();
    args.in = in_.view();
    args.rows = rows_.data();
    args.nvals = out_.nvals();
    args.source = graph_.row_of(options.source);
    args.unreached = unreached;
    args.level = level;
    args.alone = alone_.data();
    args.num_alone = num_alone_;
    for (int i = 0; i < 2; ++i) {
      args.visited[i] = visited_[i].data();
      args.queue[i] = {queue_first_[i].data(), queue_before_[i].data()};
    }
    args.control = reinterpret_cast<BfsControl*>(control_.data());
    launch_bfs(device, args);
    const ScopedCudaDevice scope(device.index());
    const cudaStream_t stream = stream_of(device);
    if (!row_level_.empty()) {
      take_rows<<<blocks_for(n, threads), threads, 0, stream>>>(result.level.data(), level, row_of_node_.data(), n);
      cuda_check_launch("take_rows");
    }
    if (options.parents) {
      if (result.parent.size() != n) result.parent = Buffer<NodeId>(n, device);
      find_parents<<<blocks_for(std::size_t{n} * 32, threads), threads, 0, stream>>>(
          result.parent.data(), in_.view(), level, node_of_row_.data(), args.source, unreached);
      cuda_check_launch("find_parents");
    }
    BfsControl control;
    Device::copy(&control, Device{}, control_.data(), device, sizeof(control));
    result.num_levels = control.num_levels;
    result.reached = control.reached;
  }

 private:
  const PackedGraph& graph_;
  const CsrPattern& out_;
  const CsrPattern& in_;
  Buffer<std::uint32_t> visited_[2], alone_;
  Buffer<std::uint64_t> rows_;
  Buffer<EdgeOffset> queue_first_[2];
  Buffer<unsigned> queue_before_[2];
  Buffer<std::byte> control_;
  Buffer<std::int32_t> row_level_;  ///< where rows are not nodes, as the next two
  Buffer<NodeId> row_of_node_, node_of_row_;
  NodeId num_alone_ = 0;
};

}  // namespace

std::unique_ptr<DeviceBfs> make_cuda_bfs(const PackedGraph& graph) {
  if (graph.tile_dim() != csr_tile || !graph.has_in()) {
    fail(ErrorCode::not_possible,
         graph.device().name() + ": bfs needs the graph as pattern CSR, both directions (--tile csr or auto)");
  }
  return std::make_unique<CudaBfs>(graph);
}

}  // namespace bitgraph
