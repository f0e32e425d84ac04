// SPDX-License-Identifier: Apache-2.0
// Host side of a search on a CUDA device: the memory, the launch, and the passes after it, which find the parents and
// renumber the results.
#include "graph/bfs/engine.hpp"

#include <bitgraph/core/kernel.cuh>
#include <bitgraph/graph/bfs.hpp>

#include "graph/bfs/cuda.cuh"
#include "graph/packed_graph/cuda_rows.cuh"

namespace bitgraph {

namespace {

constexpr unsigned threads = 256;

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
      if (node == nullptr && __any_sync(full_warp, smallest != no_parent)) break;
    }
    smallest = __reduce_min_sync(full_warp, smallest);
  }
  if (lane == 0)
    parent[node == nullptr ? row : node[row]] = row == source ? (node == nullptr ? row : node[row]) : smallest;
}

/// The width of the table of short rows, if at least half of it is used; else 0.
unsigned short_width(const CsrPatternView& out) {
  for (const unsigned width : bfs_short_widths) {
    if (out.longest_row <= width) return 2 * out.num_entries >= EdgeOffset{out.nrows} * width ? width : 0;
  }
  return 0;
}

class CudaBfs final : public BfsEngine {
 public:
  explicit CudaBfs(const PackedGraph& graph) : graph_(graph), csr_(graph) {
    const Device& device = graph.device();
    const std::size_t n = graph.num_nodes();
    const std::size_t words = (n + 31) / 32;
    for (Buffer<std::uint32_t>& visited : visited_) visited = Buffer<std::uint32_t>(words, device);
    unreachable_ = Buffer<std::uint32_t>(words, device);
    width_ = short_width(csr_.out());
    if (width_ != 0) {
      short_rows_ = Buffer<NodeId>(n * width_, device);
    } else {
      rows_ = Buffer<std::uint64_t>(n, device);
    }
    for (Buffer<EdgeOffset>& first : queue_first_) first = Buffer<EdgeOffset>(bfs_queue_capacity, device);
    for (Buffer<unsigned>& before : queue_before_) before = Buffer<unsigned>(bfs_queue_capacity, device);
    control_ = Buffer<std::byte>(sizeof(BfsControl), device);
    if (!graph.new_id().empty()) {
      row_level_ = Buffer<std::int32_t>(n, device);
      node_of_row_ = Buffer<NodeId>::copy_of(graph.old_id(), device);
    }
    if (n == 0) return;
    Buffer<unsigned> count(1, 0U, device);
    find_unreachable(device, csr_.in(), unreachable_.data(), count.data());
    if (width_ != 0) {
      pack_bfs_short_rows(device, csr_.out(), width_, short_rows_.data());
    } else {
      pack_bfs_rows(device, csr_.out(), rows_.data());
    }
    num_unreachable_ = count.to(Device{})[0];
  }

  void run(BfsResult& result, const BfsOptions& options, std::int32_t unreached) override {
    const Device& device = graph_.device();
    const NodeId n = graph_.num_nodes();
    std::int32_t* level = row_level_.empty() ? result.level.data() : row_level_.data();
    BfsCudaArgs args;
    args.out = csr_.out();
    args.in = csr_.in();
    args.rows = rows_.data();
    args.columns = width_ != 0 ? short_rows_.data() : args.out.col_ind;
    args.width = width_;
    args.nvals = csr_.out().num_entries;
    args.source = graph_.row_of(options.source);
    args.unreached = unreached;
    args.level = level;
    args.unreachable = unreachable_.data();
    args.num_unreachable = num_unreachable_;
    for (int i = 0; i < 2; ++i) {
      args.visited[i] = visited_[i].data();
      args.queue[i] = {queue_first_[i].data(), queue_before_[i].data()};
    }
    args.control = reinterpret_cast<BfsControl*>(control_.data());
    launch_bfs(device, args);
    const ScopedCudaDevice scope(device.index());
    const cudaStream_t stream = stream_of(device);
    if (!row_level_.empty()) {
      csr_.order(level, result.level.data());
    }
    if (options.parents) {
      allocate_result(result.parent, n, device);
      find_parents<<<blocks_for(std::size_t{n} * 32, threads), threads, 0, stream>>>(
          result.parent.data(), csr_.in(), level, node_of_row_.data(), args.source, unreached);
      cuda_check_launch("find_parents");
    }
    BfsControl control;
    Device::copy(&control, Device{}, control_.data(), device, sizeof(control));
    result.num_levels = control.num_levels;
    result.reached = control.reached;
  }

 private:
  const PackedGraph& graph_;
  CudaRows csr_;
  Buffer<std::uint32_t> visited_[2], unreachable_;
  Buffer<std::uint64_t> rows_;
  Buffer<NodeId> short_rows_;  ///< instead, where all rows have at most width_ entries
  unsigned width_ = 0;
  Buffer<EdgeOffset> queue_first_[2];
  Buffer<unsigned> queue_before_[2];
  Buffer<std::byte> control_;
  Buffer<std::int32_t> row_level_;  ///< where rows are not nodes, as the next
  Buffer<NodeId> node_of_row_;
  NodeId num_unreachable_ = 0;
};

}  // namespace

std::unique_ptr<BfsEngine> make_bfs_engine(const Cuda&, const PackedGraph& graph) {
  if (!graph.has_in()) {
    fail(ErrorCode::not_possible,
         graph.device().name() + ": bfs needs both directions of the edges: pack the graph with the transpose");
  }
  return std::make_unique<CudaBfs>(graph);
}

}  // namespace bitgraph
