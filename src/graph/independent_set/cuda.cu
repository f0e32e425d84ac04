// SPDX-License-Identifier: Apache-2.0
// A maximal independent set in one cooperative launch. A row looks for an open neighbour of higher priority and stops
// at the first one. It continues there in the next round, because the neighbours before it stay outside. A row that
// enters the set puts its neighbours outside, so most rows never read all their edges.
#include "graph/independent_set/cuda.cuh"

#include <bitgraph/graph/packed_graph.hpp>

#include "core/cuda/cooperative.cuh"
#include "core/cuda/random.cuh"
#include "graph/independent_set/state.hpp"
#include "graph/priority_order.cuh"

#include <cooperative_groups.h>

namespace bitgraph {

namespace {

namespace cg = cooperative_groups;

constexpr unsigned block_threads = 512;
constexpr unsigned small_threads = 256;

struct Args {
  CudaUndirectedView graph;
  const std::uint64_t* priority;
  std::uint8_t* state;    ///< of rows; all open before
  EdgeOffset* resume_at;  ///< edges of every row that need not be looked at again; zeros before
  OpenRows open;
};

enum class Verdict : unsigned { undecided, waits, inside, outside };

class Decision {
 public:
  __device__ explicit Decision(const Args& args) : a_(args), lane_(threadIdx.x % 32) {}

  /// Whole warps; a row a lane. True where the row is in the set or out of it.
  __device__ bool operator()(NodeId v, bool takes_part) {
    const bool is_open = takes_part && state_of(v) == independent_set_state::open;
    Verdict verdict = Verdict::waits;
    CudaUndirectedView::Row row;
    EdgeOffset at = 0;
    if (is_open) {
      row = a_.graph.row(v);
      at = a_.resume_at[v];
      verdict = look_alone(v, row, at);
    }
    for (unsigned rest = __ballot_sync(full_warp, verdict == Verdict::undecided); rest != 0; rest &= rest - 1) {
      const int owner = __ffs(static_cast<int>(rest)) - 1;
      const NodeId of_owner = __shfl_sync(full_warp, v, owner);
      EdgeOffset reached = __shfl_sync(full_warp, at, owner);
      const Verdict found = look_together(of_owner, reached);
      if (static_cast<int>(lane_) == owner) {
        verdict = found;
        at = reached;
      }
    }
    if (is_open && verdict == Verdict::waits) a_.resume_at[v] = at;
    if (verdict == Verdict::inside) __stcg(a_.state + v, independent_set_state::inside);
    if (verdict == Verdict::outside) __stcg(a_.state + v, independent_set_state::outside);
    push_outside(v, row, verdict == Verdict::inside);
    return !is_open || verdict != Verdict::waits;
  }

 private:
  __device__ std::uint8_t state_of(NodeId v) const { return __ldcg(a_.state + v); }

  /// What a neighbour says: waits where it is open still, inside where it is in the set, undecided where it does not
  /// matter.
  __device__ Verdict ask(NodeId neighbor, std::uint64_t own) const {
    if (__ldg(a_.priority + neighbor) <= own) return Verdict::undecided;  // the row itself too
    const std::uint8_t state = state_of(neighbor);
    return state == independent_set_state::open     ? Verdict::waits
           : state == independent_set_state::inside ? Verdict::outside
                                                    : Verdict::undecided;
  }

  __device__ Verdict look_alone(NodeId v, const CudaUndirectedView::Row& row, EdgeOffset& at) const {
    const std::uint64_t own = __ldg(a_.priority + v);
    for (EdgeOffset end = min(row.length, at + lane_edges); at < end; ++at) {
      const Verdict said = ask(row[at], own);
      if (said != Verdict::undecided) return said;
    }
    return at == row.length ? Verdict::inside : Verdict::undecided;
  }

  __device__ Verdict look_together(NodeId v, EdgeOffset& at) const {
    const std::uint64_t own = __ldg(a_.priority + v);
    const CudaUndirectedView::Row row = a_.graph.row(v);
    for (; at < row.length; at += 32) {
      const Verdict said = at + lane_ < row.length ? ask(row[at + lane_], own) : Verdict::undecided;
      if (__any_sync(full_warp, said == Verdict::outside)) return Verdict::outside;
      const unsigned open = __ballot_sync(full_warp, said == Verdict::waits);
      if (open == 0) continue;
      at += static_cast<unsigned>(__ffs(static_cast<int>(open)) - 1);
      return Verdict::waits;
    }
    return Verdict::inside;
  }

  /// No neighbour of a row that has entered may. All of higher priority are outside already, and none of lower priority
  /// can have entered while this row was open.
  __device__ void push_outside(NodeId v, const CudaUndirectedView::Row& row, bool has_entered) const {
    const bool is_short = row.length <= lane_edges;
    if (has_entered && is_short) {
      for (EdgeOffset e = 0; e < row.length; ++e) put_outside(row[e], v);
    }
    for (unsigned rest = __ballot_sync(full_warp, has_entered && !is_short); rest != 0; rest &= rest - 1) {
      const NodeId of_owner = __shfl_sync(full_warp, v, __ffs(static_cast<int>(rest)) - 1);
      const CudaUndirectedView::Row shared = a_.graph.row(of_owner);
      for (EdgeOffset e = lane_; e < shared.length; e += 32) put_outside(shared[e], of_owner);
    }
  }

  __device__ void put_outside(NodeId neighbor, NodeId v) const {
    if (neighbor != v) __stcg(a_.state + neighbor, independent_set_state::outside);
  }

  const Args& a_;
  unsigned lane_;
};

__global__ void __launch_bounds__(block_threads, 2) independent_set_kernel(Args args) {
  Decision decision(args);
  decide_in_rounds(cg::this_grid(), args.graph.nrows(), args.open,
                   [&](NodeId v, bool takes_part) { return decision(v, takes_part); });
}

/// As independent_set.cpp has it.
__global__ void draw_priorities(CudaUndirectedView graph, const NodeId* old_id, std::uint64_t seed,
                                std::uint64_t* priority) {
  const NodeId v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= graph.nrows()) return;
  const NodeId node = old_id == nullptr ? v : old_id[v];
  const std::uint64_t drawn = cuda_random_bits({seed, 40, 0}, node) >> 32U;
  const std::uint64_t weighed = drawn / (2 * std::uint64_t{graph.degree(v)} + 1);
  priority[v] = weighed << 32U | (~std::uint64_t{node} & 0xFFFFFFFFU);
}

__global__ void give_members(NodeId n, const NodeId* new_id, const std::uint8_t* state, std::uint8_t* member,
                             unsigned* size) {
  const NodeId node = blockIdx.x * blockDim.x + threadIdx.x;
  const bool inside = node < n && state[new_id == nullptr ? node : new_id[node]] == independent_set_state::inside;
  if (node < n) member[node] = inside ? 1 : 0;
  const int of_block = __syncthreads_count(inside ? 1 : 0);
  if (threadIdx.x == 0 && of_block != 0) atomicAdd(size, static_cast<unsigned>(of_block));
}

}  // namespace

CudaIndependentSet::CudaIndependentSet(const PackedGraph& graph, std::uint64_t seed)
    : device_(graph.device()), rows_(graph), symmetric_(graph.symmetric()) {
  const NodeId n = graph.num_nodes();
  priority_ = Buffer<std::uint64_t>(n, device_);
  state_ = Buffer<std::uint8_t>(n, device_);
  resume_at_ = Buffer<EdgeOffset>(n, device_);
  for (Buffer<NodeId>& open : open_) open = Buffer<NodeId>(n, device_);
  control_ = Buffer<unsigned>(sizeof(OpenRowsControl) / sizeof(unsigned), device_);
  if (n == 0) return;
  const Buffer<NodeId> old_id = Buffer<NodeId>::copy_of(graph.old_id(), device_);
  const ScopedCudaDevice scope(device_.index());
  draw_priorities<<<blocks_for(n, small_threads), small_threads, 0, stream_of(device_)>>>(
      {rows_.out(), rows_.in(), symmetric_}, old_id.data(), seed, priority_.data());
  cuda_check_launch("draw_priorities");
}

NodeId CudaIndependentSet::run(std::uint8_t* member) {
  const NodeId n = rows_.out().nrows;
  if (n == 0) return 0;
  state_.fill(independent_set_state::open);
  resume_at_.fill(0);
  control_.fill(0);
  auto* control = reinterpret_cast<OpenRowsControl*>(control_.data());
  launch_cooperative<block_threads>(device_, independent_set_kernel, n,
                                    Args{.graph = {rows_.out(), rows_.in(), symmetric_},
                                         .priority = priority_.data(),
                                         .state = state_.data(),
                                         .resume_at = resume_at_.data(),
                                         .open = {{open_[0].data(), open_[1].data()}, control}},
                                    "independent_set_kernel");
  const ScopedCudaDevice scope(device_.index());
  give_members<<<blocks_for(n, small_threads), small_threads, 0, stream_of(device_)>>>(n, rows_.new_id(), state_.data(),
                                                                                       member, &control->result);
  cuda_check_launch("give_members");
  OpenRowsControl found{};
  Device::copy(&found, Device{}, control, device_, sizeof(found));
  return found.result;
}

std::unique_ptr<IndependentSetEngine> make_independent_set_engine(const Cuda&, const PackedGraph& graph,
                                                                  std::uint64_t seed) {
  return std::make_unique<CudaIndependentSet>(graph, seed);
}

}  // namespace bitgraph
