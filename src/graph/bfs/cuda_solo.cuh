// SPDX-License-Identifier: Apache-2.0
// The levels that one block runs alone. The queue is the block's own, and the visited bits are in shared memory where
// they fit. A barrier of the whole grid would cost more than such a level.
#pragma once

#include "graph/bfs/cuda.cuh"

#include <bitgraph/core/kernel.cuh>

namespace bitgraph::bfs_cuda {

constexpr int count_shift = 44;
constexpr unsigned long long edge_mask = (1ULL << count_shift) - 1;

constexpr unsigned block_threads = 1024;
constexpr unsigned solo_vertices = 2048;  ///< of a frontier that one block takes on
constexpr unsigned solo_edges = 16384;
constexpr unsigned lane_edges = 8;  ///< edges of a vertex that a lane takes on itself
constexpr unsigned batch = 4;       ///< edges that a lane has under way at a time
constexpr unsigned window_slots = 32 * batch;

/// A queue of a block on its own, in shared memory.
struct SoloQueue {
  EdgeOffset first[solo_vertices];
  unsigned degree[solo_vertices];
};
/// The queue's slots that a warp looks through for 128 edges.
struct PushWindow {
  EdgeOffset first[window_slots];
  unsigned edges_before[window_slots];
};
/// What a block works with.
struct SoloState {
  union {
    SoloQueue queue[2];
    PushWindow window[block_threads / 32];
  };
  unsigned edges_before[solo_vertices];
  // What a level finds, by its number modulo 3.
  unsigned count[3];         ///< vertices with edges
  unsigned long_edges[3];    ///< edges where a vertex has more than a lane takes on; saturated
  unsigned has_sink[3];      ///< a vertex without edges
  unsigned found;            ///< vertices of a stay, or of a level of the grid
  unsigned long long edges;  ///< of those, in a level of the grid
  unsigned warp_sums[block_threads / 32];
};

class SoloSearch {
 public:
  __device__ SoloSearch(const BfsCudaArgs& args, SoloState& solo, std::uint32_t* shared_visited)
      : a_(args),
        solo_(solo),
        shared_visited_(shared_visited),
        words_((args.out.nrows + 31) / 32),
        lane_(threadIdx.x % 32) {}

 protected:
  /// The first of a vertex's edges and their number, in one load.
  __device__ BfsRow row(NodeId v) const {
    if (a_.width == 0) return BfsRow{__ldg(a_.rows + v)};
    const EdgeOffset begin = EdgeOffset{v} * a_.width;
    return BfsRow::make(begin, begin + a_.width);
  }

  /// Empties the record of a level to come.
  __device__ void forget(int level) {
    a_.control->queued[level % 3] = 0;
    a_.control->edges[level % 3] = 0;
    a_.control->found[level % 3] = 0;
  }

  __device__ bool visit_solo(NodeId v) {
    const std::uint32_t bit = 1U << (v % 32);
    if (shared_visited_ != nullptr) {
      return (shared_visited_[v / 32] & bit) == 0 && (atomicOr(&shared_visited_[v / 32], bit) & bit) == 0;
    }
    return visit(a_.visited[current_], v, true);
  }

  __device__ bool visit(std::uint32_t* visited, NodeId v, bool look_first) {
    const std::uint32_t bit = 1U << (v % 32);
    if (look_first && (__ldcg(&visited[v / 32]) & bit) != 0) return false;
    return (atomicOr(&visited[v / 32], bit) & bit) == 0;
  }

  /// Visits the vertices of all lanes (nrows stands for none) and queues those that are new and have edges; what does
  /// not fit goes into the global queue.
  __device__ void take_solo(const NodeId (&v)[batch]) {
    EdgeOffset first[batch] = {};
    unsigned edges[batch] = {};
    for (unsigned n = 0; n < batch; ++n) {
      if (v[n] == a_.out.nrows || !visit_solo(v[n])) continue;
      ++found_;
      a_.level[v[n]] = level_;
      const BfsRow found = row(v[n]);
      first[n] = found.first();
      edges[n] = found.degree();
      if (edges[n] == 0) solo_.has_sink[level_ % 3] = 1;
    }
    unsigned lanes[batch];
    unsigned total = 0;
    unsigned longest = 0;
    unsigned all_edges = 0;
    for (unsigned n = 0; n < batch; ++n) {
      lanes[n] = __ballot_sync(full_warp, edges[n] != 0);
      total += __popc(lanes[n]);
      longest = max(longest, edges[n]);
      all_edges += min(edges[n], solo_edges + 1);
    }
    if (total == 0) return;
    if (__any_sync(full_warp, longest > lane_edges)) {
      // One hub alone is too much for a block: what it leads to would be, too.
      const unsigned sum = __reduce_add_sync(full_warp, all_edges);
      if (lane_ == 0) atomicAdd(&solo_.long_edges[level_ % 3], sum);
    }
    unsigned at = 0;
    if (lane_ == 0) at = atomicAdd(&solo_.count[level_ % 3], total);
    at = __shfl_sync(full_warp, at, 0);
    for (unsigned n = 0; n < batch; ++n) {
      if (edges[n] != 0) put_solo(at + __popc(lanes[n] & ((1U << lane_) - 1)), first[n], edges[n]);
      at += __popc(lanes[n]);
    }
  }

  __device__ void put_solo(unsigned at, EdgeOffset first, unsigned edges) {
    if (at < solo_vertices) {
      solo_.queue[level_ % 2].first[at] = first;
      solo_.queue[level_ % 2].degree[at] = edges;
    } else {
      const BfsQueue spill = a_.queue[level_ % 2];
      spill.first[at - solo_vertices] = first;
      spill.edges_before[at - solo_vertices] = edges;  // its own edges, until the queue is made
    }
  }

  /// The first of `count` columns; nrows beyond.
  __device__ void load_columns(NodeId (&v)[batch], EdgeOffset first, unsigned count) const {
    static_assert(batch == 4 && bfs_short_widths[0] % batch == 0);
    if (a_.width != 0) {
      uint4 all{a_.out.nrows, a_.out.nrows, a_.out.nrows, a_.out.nrows};
      if (count != 0) all = __ldg(reinterpret_cast<const uint4*>(a_.columns + first));
      v[0] = all.x;
      v[1] = all.y;
      v[2] = all.z;
      v[3] = all.w;
      return;
    }
    for (unsigned n = 0; n < batch; ++n) v[n] = n < count ? __ldg(a_.columns + first + n) : a_.out.nrows;
  }

  /// A lane a vertex: none has many edges.
  __device__ void solo_level_of_short() {
    const SoloQueue& from = solo_.queue[(level_ - 1) % 2];
    const unsigned count = solo_.count[(level_ - 1) % 3];
    for (unsigned base = threadIdx.x / 32 * 32; base < count; base += block_threads) {
      const unsigned at = base + lane_;
      const EdgeOffset first = at < count ? from.first[at] : 0;
      const unsigned edges = at < count ? from.degree[at] : 0;
      for (unsigned e = 0; e < lane_edges; e += batch) {
        if (__ballot_sync(full_warp, e < edges) == 0) break;
        NodeId v[batch];
        load_columns(v, first + e, edges > e ? edges - e : 0);
        take_solo(v);
      }
    }
  }

  /// The frontier's edges in equal parts.
  __device__ void solo_level_of_long() {
    const SoloQueue& from = solo_.queue[(level_ - 1) % 2];
    const unsigned count = solo_.count[(level_ - 1) % 3];
    unsigned edges = 0;
    for (unsigned base = 0; base < count; base += block_threads) {
      const unsigned i = base + threadIdx.x;
      unsigned total = 0;
      const unsigned before = block_scan(i < count ? from.degree[i] : 0, total);
      if (i < count) solo_.edges_before[i] = edges + before;
      edges += total;
    }
    __syncthreads();
    for (unsigned base = threadIdx.x / 32 * 32; base < edges; base += batch * block_threads) {
      NodeId v[batch];
      for (unsigned n = 0; n < batch; ++n) {
        const unsigned e = base + n * block_threads + lane_;
        v[n] = a_.out.nrows;
        if (e >= edges) continue;
        const unsigned at = slot_in(solo_.edges_before, count, e);
        v[n] = __ldg(a_.columns + from.first[at] + (e - solo_.edges_before[at]));
      }
      take_solo(v);
    }
  }

  /// The last of `count` slots with edges_before <= edge; the first one has.
  __device__ static unsigned slot_in(const unsigned* edges_before, unsigned count, unsigned edge) {
    unsigned low = 0;
    for (unsigned size = count; size > 1;) {
      const unsigned half = size / 2;
      low += edges_before[low + half] <= edge ? half : 0;
      size -= half;
    }
    return low;
  }

  /// From level to level while the frontier is small. Of what a level finds all threads read the record while the next
  /// one writes another, so one barrier a level is enough.
  __device__ void run_solo(unsigned frontier_count, unsigned frontier_edges) {
    const BfsQueue queue = a_.queue[level_ % 2];
    SoloQueue& start = solo_.queue[level_ % 2];
    for (unsigned i = threadIdx.x; i < frontier_count; i += block_threads) {
      const unsigned before = __ldcg(&queue.edges_before[i]);
      const unsigned after = i + 1 < frontier_count ? __ldcg(&queue.edges_before[i + 1]) : frontier_edges;
      start.first[i] = __ldcg(&queue.first[i]);
      start.degree[i] = after - before;
    }
    std::uint32_t* visited = a_.visited[current_];
    if (shared_visited_ != nullptr) {
      for (unsigned w = threadIdx.x; w < words_; w += block_threads) shared_visited_[w] = __ldcg(&visited[w]);
    }
    if (threadIdx.x == 0) {
      solo_.count[level_ % 3] = frontier_count;
      solo_.long_edges[level_ % 3] = 1;
      solo_.found = 0;
      forget_solo(level_ + 1);
    }
    unsigned at = level_ % 3;
    found_ = 0;
    __syncthreads();
    do {
      if (threadIdx.x == 0) forget_solo(level_ + 2);
      ++level_;
      if (solo_.long_edges[at] != 0) {
        solo_level_of_long();
      } else {
        solo_level_of_short();
      }
      at = level_ % 3;
      __syncthreads();
      if (solo_.count[at] != 0 || solo_.has_sink[at] != 0) deepest_ = level_;
    } while (solo_.count[at] != 0 && solo_.count[at] <= solo_vertices && solo_.long_edges[at] <= solo_edges);
    const unsigned found = __reduce_add_sync(full_warp, found_);
    if (lane_ == 0) atomicAdd(&solo_.found, found);
    if (shared_visited_ != nullptr) {
      for (unsigned w = threadIdx.x; w < words_; w += block_threads) visited[w] = shared_visited_[w];
    }
    leave_solo();
  }

  __device__ void forget_solo(int level) {
    solo_.count[level % 3] = 0;
    solo_.long_edges[level % 3] = 0;
    solo_.has_sink[level % 3] = 0;
  }

  /// Makes the global queue of what one block has found.
  __device__ void leave_solo() {
    const BfsQueue queue = a_.queue[level_ % 2];
    const SoloQueue& found = solo_.queue[level_ % 2];
    const unsigned count = solo_.count[level_ % 3];
    const unsigned spilled = count > solo_vertices ? count - solo_vertices : 0;
    // Spilled vertices lie at the front of the queue's arrays: they move behind the others, from the last one on.
    for (unsigned end = spilled; end != 0; end = end > block_threads ? end - block_threads : 0) {
      const unsigned i = (end > block_threads ? end - block_threads : 0) + threadIdx.x;
      const EdgeOffset first = i < end ? queue.first[i] : 0;
      const unsigned degree = i < end ? queue.edges_before[i] : 0;
      __syncthreads();
      if (i < end) {
        queue.first[i + solo_vertices] = first;
        queue.edges_before[i + solo_vertices] = degree;
      }
      __syncthreads();
    }
    __syncthreads();  // for all to have added what they found
    unsigned long long before = 0;
    for (unsigned base = 0; base < count; base += block_threads) {
      const unsigned i = base + threadIdx.x;
      unsigned degree = 0;
      if (i < count) degree = i < solo_vertices ? found.degree[i] : queue.edges_before[i];
      unsigned total = 0;
      const unsigned offset = block_scan(degree, total);
      if (i < count) {
        if (i < solo_vertices) queue.first[i] = found.first[i];
        queue.edges_before[i] = static_cast<unsigned>(before) + offset;
      }
      before += total;
    }
    if (threadIdx.x == 0) {
      BfsControl& control = *a_.control;
      control.queued[level_ % 3] = (static_cast<unsigned long long>(count) << count_shift) | before;
      forget(level_ + 1);
      control.level = level_;
      control.reached = reached_ + solo_.found;
      control.num_levels = deepest_;
    }
  }

  /// Exclusive prefix sum over the block.
  __device__ unsigned block_scan(unsigned value, unsigned& total) {
    unsigned sum = value;
    sum = warp_inclusive_sum(sum);
    __syncthreads();
    if (lane_ == 31) solo_.warp_sums[threadIdx.x / 32] = sum;
    __syncthreads();
    unsigned before = 0;
    total = 0;
    for (unsigned w = 0; w < block_threads / 32; ++w) {
      if (w < threadIdx.x / 32) before += solo_.warp_sums[w];
      total += solo_.warp_sums[w];
    }
    return before + sum - value;
  }

  const BfsCudaArgs& a_;
  SoloState& solo_;
  std::uint32_t* shared_visited_;  ///< null where the bits do not fit
  unsigned words_;
  unsigned lane_;
  unsigned current_ = 0;  ///< which visited bits are those of the level
  int level_ = 0;         ///< of the frontier
  int deepest_ = 0;       ///< the last level that has vertices
  unsigned reached_ = 1;
  unsigned found_ = 0;           ///< by this thread in this stay or level
  bool levels_missing_ = false;  ///< the frontier is left as bits, and its levels are not written
};

}  // namespace bitgraph::bfs_cuda
