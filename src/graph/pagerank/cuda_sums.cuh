// SPDX-License-Identifier: Apache-2.0
// The update of a node, which all PageRank kernels share, and the sums over all nodes. A fixed number of blocks adds
// up the sums, and their parts are combined in order, so a run gives the same bits again.
#pragma once

#include <bitgraph/core/types.hpp>

#include <bitgraph/core/kernel.cuh>

namespace bitgraph::pagerank_cuda {

/// Sums over all nodes after an iteration.
struct Totals {
  double change = 0;    ///< of the ranks
  double stranded = 0;  ///< rank of nodes without out-edges
  double rank = 0;
};

__device__ inline Totals operator+(const Totals& a, const Totals& b) {
  return {a.change + b.change, a.stranded + b.stranded, a.rank + b.rank};
}

__device__ inline Totals warp_sum(Totals mine) {
  for (unsigned step = 16; step != 0; step /= 2) {
    mine =
        mine + Totals{__shfl_down_sync(full_warp, mine.change, step), __shfl_down_sync(full_warp, mine.stranded, step),
                      __shfl_down_sync(full_warp, mine.rank, step)};
  }
  return mine;
}

/// The block's sum; thread 0 has it.
template <unsigned Threads>
__device__ Totals block_sum(Totals mine) {
  __shared__ Totals warps[32];
  mine = warp_sum(mine);
  __syncthreads();  // the sums of warps may be of another call
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x < 32) mine = warp_sum(threadIdx.x < Threads / 32 ? warps[threadIdx.x] : Totals{});
  return mine;
}

/// Where blocks leave their sums; the last of them adds up all.
struct Gathering {
  Totals* partial = nullptr;  ///< one a block
  unsigned* done = nullptr;   ///< blocks that have left theirs; 0 between kernels
  Totals* totals = nullptr;   ///< of the last iteration until all blocks are done
};

/// True in the last block to come here. It sees what the others wrote before.
template <unsigned Threads>
__device__ bool leave_sums(const Gathering& into, Totals mine) {
  mine = block_sum<Threads>(mine);
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    into.partial[blockIdx.x] = mine;
    __threadfence();
    last = atomicAdd(into.done, 1U) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

/// By the last block: all sums, and `mine` of its threads.
template <unsigned Threads>
__device__ void add_up(const Gathering& into, Totals mine) {
  for (unsigned b = threadIdx.x; b < gridDim.x; b += Threads) mine = mine + into.partial[b];
  mine = block_sum<Threads>(mine);
  if (threadIdx.x == 0) {
    *into.totals = mine;
    *into.done = 0;
  }
}

template <unsigned Threads>
__device__ void gather(const Gathering& into, Totals mine) {
  if (leave_sums<Threads>(into, mine)) add_up<Threads>(into, {});
}

template <class T>
struct Nodes {
  NodeId n = 0;
  T* rank = nullptr;
  T* share = nullptr;           ///< what a node gives to each of its neighbours
  T* inverse_degree = nullptr;  ///< 0 where there are no out-edges
  const T* sum = nullptr;       ///< of the shares along in-edges
};

/// A node's rank and share after an iteration, from the sum of its neighbours' shares.
template <class T>
class Step {
 public:
  __device__ Step(const Nodes<T>& nodes, double damping, double stranded)
      : nodes_(nodes),
        base_(static_cast<T>((1 - damping + damping * stranded) / nodes.n)),
        damping_(static_cast<T>(damping)) {}

  __device__ Totals operator()(NodeId i, T sum, T* share) const {
    const T inverse_degree = nodes_.inverse_degree[i];
    const T old = nodes_.rank[i];
    const T now = base_ + damping_ * sum;
    nodes_.rank[i] = now;
    share[i] = now * inverse_degree;
    return {fabs(static_cast<double>(now) - old), inverse_degree == 0 ? static_cast<double>(now) : 0, now};
  }

 private:
  const Nodes<T>& nodes_;
  T base_, damping_;
};

}  // namespace bitgraph::pagerank_cuda
