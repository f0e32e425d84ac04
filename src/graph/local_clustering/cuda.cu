// SPDX-License-Identifier: Apache-2.0
// The walk in rounds, in one cooperative launch: all queued rows keep their part, then they give the rest to their
// neighbours. Rank is a whole number, so the sums equal those of the host in any order of additions. The walk reads
// only the surroundings of the seeds, so few blocks suffice. The host sorts the rows found. The device then counts,
// for each of them, the edges to the rows before it.
#include "graph/local_clustering/cuda.cuh"

#include <bitgraph/graph/packed_graph.hpp>

#include "core/cuda/cooperative.cuh"
#include "graph/priority_order.cuh"

#include <cooperative_groups.h>

#include <algorithm>

namespace bitgraph {

namespace {

namespace cg = cooperative_groups;

constexpr unsigned block_threads = 256;
constexpr std::size_t most_threads = 16384;

/// State that all blocks share. A round writes the entry of its number modulo 3.
struct Control {
  unsigned queued[3];
  unsigned touched;
  unsigned found;
  unsigned long long volume;
};

struct Args {
  CudaUndirectedView graph;
  RankRule rule;
  const std::uint32_t* degree;
  std::uint64_t* rank;
  std::uint64_t* residual;
  std::uint64_t* to_each;  ///< of every row in the queue
  NodeId* place;           ///< 1 once a row is touched
  NodeId* touched;
  NodeId* queue[2];
  Control* control;
};

__device__ void append(NodeId* list, unsigned* size, NodeId row) { list[atomicAdd(size, 1U)] = row; }

/// Gives a row rank; the one that fills it puts it in the queue.
__device__ void give(const Args& a, NodeId row, std::uint64_t amount, NodeId* queue, unsigned* queued) {
  const std::uint64_t before =
      atomicAdd(reinterpret_cast<unsigned long long*>(a.residual + row), static_cast<unsigned long long>(amount));
  const std::uint64_t enough = a.rule.enough(__ldg(a.degree + row));
  if (before < enough && before + amount >= enough) append(queue, queued, row);
  if (__ldcg(a.place + row) == 0 && atomicExch(a.place + row, NodeId{1}) == 0) {
    append(a.touched, &a.control->touched, row);
  }
}

/// The first queue has those of the seeds' rows that have enough.
__global__ void __launch_bounds__(block_threads) push_in_rounds(Args a) {
  const cg::grid_group grid = cg::this_grid();
  const auto thread = static_cast<unsigned>(grid.thread_rank());
  const auto num_threads = static_cast<unsigned>(grid.num_threads());
  const unsigned lane = threadIdx.x % 32;
  unsigned left = a.control->queued[0];
  for (unsigned round = 0; left != 0; ++round) {
    const NodeId* const from = a.queue[round % 2];
    NodeId* const to = a.queue[(round + 1) % 2];
    unsigned* const queued = &a.control->queued[(round + 1) % 3];
    if (thread == 0) a.control->queued[(round + 2) % 3] = 0;
    for (unsigned k = thread; k < left; k += num_threads) {
      const NodeId row = __ldcg(from + k);
      const std::uint32_t degree = __ldg(a.degree + row);
      const RankPush pushed = a.rule.push(__ldcg(a.residual + row), degree);
      a.rank[row] = __ldcg(a.rank + row) + pushed.stays;
      __stcg(a.residual + row, pushed.left);
      __stcg(a.to_each + k, pushed.to_each);
      if (pushed.left >= a.rule.enough(degree)) append(to, queued, row);
    }
    grid.sync();
    for (unsigned k = thread / 32; k < left; k += num_threads / 32) {
      const std::uint64_t amount = __ldcg(a.to_each + k);
      if (amount == 0) continue;
      const NodeId of = __ldcg(from + k);
      const CudaUndirectedView::Row row = a.graph.row(of);
      for (EdgeOffset e = lane; e < row.length; e += 32) {
        const NodeId neighbor = row[e];
        if (neighbor != of) give(a, neighbor, amount, to, queued);
      }
    }
    grid.sync();
    left = __ldcg(queued);
  }
}

/// Each seed's share; seeds may repeat.
__global__ void give_to_seeds(Args a, const NodeId* seed, std::size_t count, std::uint64_t amount) {
  const std::size_t k = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (k < count) give(a, seed[k], amount, a.queue[0], &a.control->queued[0]);
}

__global__ void find_degrees(CudaUndirectedView graph, std::uint32_t* degree, Control* control) {
  const NodeId v = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t own = v < graph.nrows() ? graph.degree(v) : 0;
  if (v < graph.nrows()) degree[v] = own;
  unsigned long long sum = own;
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0 && sum != 0) atomicAdd(&control->volume, sum);
}

/// Rows with rank are found; all that were touched are cleared but for that mark.
__global__ void collect_ranks(Args a, RankedRow* found) {
  const unsigned k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= a.control->touched) return;
  const NodeId row = a.touched[k];
  if (a.rank[row] != 0) found[atomicAdd(&a.control->found, 1U)] = {a.rank[row], row, a.degree[row]};
  a.rank[row] = 0;
  a.residual[row] = 0;
  a.place[row] = 0;
}

__global__ void give_places(const NodeId* rows, NodeId count, NodeId* place) {
  const NodeId k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < count) place[rows[k]] = k + 1;
}

__global__ void clear_places(const NodeId* rows, NodeId count, NodeId* place) {
  const NodeId k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < count) place[rows[k]] = 0;
}

/// A warp a row.
__global__ void count_before(CudaUndirectedView graph, const NodeId* rows, NodeId count, const NodeId* place,
                             EdgeOffset* before) {
  const auto k = static_cast<NodeId>((std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32);
  if (k >= count) return;
  const CudaUndirectedView::Row row = graph.row(rows[k]);
  unsigned sum = 0;
  for (EdgeOffset e = threadIdx.x % 32; e < row.length; e += 32) {
    const NodeId there = place[row[e]];
    sum += there != 0 && there <= k ? 1 : 0;
  }
  sum = __reduce_add_sync(full_warp, sum);
  if (threadIdx.x % 32 == 0) before[k] = sum;
}

}  // namespace

CudaLocalWalk::CudaLocalWalk(const PackedGraph& graph, const RankRule& rule)
    : device_(graph.device()), rows_(graph), symmetric_(graph.symmetric()), rule_(rule) {
  const NodeId n = graph.num_nodes();
  degree_ = Buffer<std::uint32_t>(n, device_);
  rank_ = Buffer<std::uint64_t>(n, 0, device_);
  residual_ = Buffer<std::uint64_t>(n, 0, device_);
  to_each_ = Buffer<std::uint64_t>(n, device_);
  place_ = Buffer<NodeId>(n, 0, device_);
  touched_ = Buffer<NodeId>(n, device_);
  for (Buffer<NodeId>& queue : queue_) queue = Buffer<NodeId>(n, device_);
  found_ = Buffer<RankedRow>(n, device_);
  control_ = Buffer<unsigned>(sizeof(Control) / sizeof(unsigned), 0, device_);
  if (n == 0) return;
  const ScopedCudaDevice scope(device_.index());
  auto* const control = reinterpret_cast<Control*>(control_.data());
  find_degrees<<<blocks_for(n, block_threads), block_threads, 0, stream_of(device_)>>>(
      {rows_.out(), rows_.in(), symmetric_}, degree_.data(), control);
  cuda_check_launch("find_degrees");
  Control found{};
  Device::copy(&found, Device{}, control, device_, sizeof(found));
  volume_ = found.volume;
}

std::vector<RankedRow> CudaLocalWalk::run(std::span<const NodeId> seed_rows) {
  const ScopedCudaDevice scope(device_.index());
  const cudaStream_t stream = stream_of(device_);
  control_.fill(0);
  auto* const control = reinterpret_cast<Control*>(control_.data());
  const Args args{.graph = {rows_.out(), rows_.in(), symmetric_},
                  .rule = rule_,
                  .degree = degree_.data(),
                  .rank = rank_.data(),
                  .residual = residual_.data(),
                  .to_each = to_each_.data(),
                  .place = place_.data(),
                  .touched = touched_.data(),
                  .queue = {queue_[0].data(), queue_[1].data()},
                  .control = control};
  const Buffer<NodeId> seeds = Buffer<NodeId>::copy_of(seed_rows, device_);
  give_to_seeds<<<blocks_for(seeds.size(), block_threads), block_threads, 0, stream>>>(args, seeds.data(), seeds.size(),
                                                                                       whole_rank / seeds.size());
  cuda_check_launch("give_to_seeds");
  launch_cooperative<block_threads>(device_, push_in_rounds, most_threads, args, "push_in_rounds");
  Control state{};
  Device::copy(&state, Device{}, control, device_, sizeof(state));
  collect_ranks<<<blocks_for(state.touched, block_threads), block_threads, 0, stream>>>(args, found_.data());
  cuda_check_launch("collect_ranks");
  Device::copy(&state, Device{}, control, device_, sizeof(state));
  std::vector<RankedRow> found(state.found);
  Device::copy(found.data(), Device{}, found_.data(), device_, found.size() * sizeof(RankedRow));
  return found;
}

std::vector<EdgeOffset> CudaLocalWalk::entries_before(std::span<const NodeId> rows) {
  std::vector<EdgeOffset> before(rows.size());
  if (rows.empty()) return before;
  const ScopedCudaDevice scope(device_.index());
  const cudaStream_t stream = stream_of(device_);
  const auto count = static_cast<NodeId>(rows.size());
  const Buffer<NodeId> device_rows = Buffer<NodeId>::copy_of(rows, device_);
  EdgeOffset* const counts = to_each_.data();
  const unsigned blocks = blocks_for(count, block_threads);
  give_places<<<blocks, block_threads, 0, stream>>>(device_rows.data(), count, place_.data());
  cuda_check_launch("give_places");
  count_before<<<blocks_for(std::size_t{count} * 32, block_threads), block_threads, 0, stream>>>(
      {rows_.out(), rows_.in(), symmetric_}, device_rows.data(), count, place_.data(), counts);
  cuda_check_launch("count_before");
  clear_places<<<blocks, block_threads, 0, stream>>>(device_rows.data(), count, place_.data());
  cuda_check_launch("clear_places");
  Device::copy(before.data(), Device{}, counts, device_, before.size() * sizeof(EdgeOffset));
  return before;
}

std::unique_ptr<LocalWalkEngine> make_local_walk_engine(const Cuda&, const PackedGraph& graph, const RankRule& rule) {
  return std::make_unique<CudaLocalWalk>(graph, rule);
}

}  // namespace bitgraph
