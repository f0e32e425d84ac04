// SPDX-License-Identifier: Apache-2.0
// Strongly connected components in one cooperative launch. Rows without in-edges or without out-edges are components
// of their own. They are removed until none is left. Then every row sends its colour along its edges, and the highest
// colour wins (Orzan, "On distributed verification and verified distribution", 2004). The rows that lead back to the
// origin of their colour, over rows of that colour, are a component. The other rows repeat this, each colour for
// itself. Colours are random, and rows with many edges draw the highest: so the first round finds the giant component,
// and a chain of components splits into pieces that are each a fraction of its length.
#include "graph/strong_components/cuda.cuh"

#include <bitgraph/graph/packed_graph.hpp>

#include "core/cuda/cooperative.cuh"
#include "graph/bfs/cuda.cuh"
#include "graph/cuda_labels.cuh"
#include "graph/packed_graph/pattern.hpp"
#include "graph/strong_components/cuda_walks.cuh"

#include <cooperative_groups.h>

#include <algorithm>
#include <utility>

namespace bitgraph {

namespace {

namespace cg = cooperative_groups;
using namespace strong_cuda;

constexpr unsigned block_threads = 1024;
constexpr EdgeOffset lane_edges = 8;   ///< edges of a row that a lane takes on itself
constexpr EdgeOffset long_row = 2048;  ///< a row with more is shared out among all blocks
constexpr EdgeOffset short_row = 64;   ///< where no row has more, a queue of few rows is left to one block
constexpr unsigned batch = 4;          ///< edges that a lane has under way at a time

/// Different for different rows.
__device__ unsigned scrambled(NodeId v) {
  v *= 0x9E3779B1U;
  v ^= v >> 15U;
  v *= 0x85EBCA77U;
  return v ^ v >> 13U;
}

class StrongSearch {
 public:
  __device__ StrongSearch(const Args& args, Alone& alone)
      : a_(args),
        alone_(alone),
        n_(args.out.nrows),
        thread_(blockIdx.x * block_threads + threadIdx.x),
        num_threads_(gridDim.x * block_threads),
        lane_(threadIdx.x % 32) {}

  __device__ void run() {
    trim();
    NodeId left = gather_open();
    for (unsigned turn = 0; left != 0; ++turn) {
      const NodeId* open = a_.open[turn % 2];
      send_colors(open, left);
      send_owners(open, left);
      left = keep_open(open, left, a_.open[(turn + 1) % 2]);
    }
    count_components();
  }

 private:
  // Steps: at the end of each all blocks wait for one another, or the threads of the block that is alone.

  __device__ void sync() const {
    if (is_alone_) {
      __syncthreads();
    } else {
      cg::this_grid().sync();
    }
  }

  /// Calls queued = step(turn, queued) until nothing is queued; one block alone while it is little, as on long paths:
  /// its threads wait for one another in a fraction of the time. It calls queued = alone(turn, queued), which counts
  /// its turns, for as long as that is so.
  template <class Step, class Solo>
  __device__ void repeat(unsigned queued, Step&& step, Solo&& alone) {
    for (unsigned turn = 0; queued != 0;) {
      if (queued > a_.few_rows) {
        queued = step(turn++, queued);
        continue;
      }
      if (blockIdx.x == 0) {
        const unsigned grid_step = step_;
        begin_alone();
        queued = alone(turn, queued);
        is_alone_ = false;
        num_threads_ = gridDim.x * block_threads;
        // The entries that the blocks share are as they were.
        while (step_ % 3 != grid_step % 3) ++step_;
        if (threadIdx.x == 0) {
          a_.control->queued_alone = queued;
          a_.control->turn_alone = turn;
          a_.control->step_alone = step_;
        }
      }
      cg::this_grid().sync();
      queued = __ldcg(&a_.control->queued_alone);
      turn = __ldcg(&a_.control->turn_alone);
      step_ = __ldcg(&a_.control->step_alone);
      // What was left off is read by all before a block is alone again.
      cg::this_grid().sync();
    }
  }

  template <class Step>
  __device__ void repeat(unsigned queued, Step&& step) {
    repeat(queued, step, [&](unsigned& turn, unsigned few) {
      while (few != 0 && few <= a_.few_rows) few = step(turn++, few);
      return few;
    });
  }

  __device__ void begin_alone() {
    is_alone_ = true;
    num_threads_ = block_threads;
    if (threadIdx.x < 3) alone_.queued[threadIdx.x] = 0;
    __syncthreads();
  }

  /// Ends a step; the number of rows that it queued.
  __device__ unsigned finish_step() {
    sync();
    return next_step();
  }

  /// The same after each_edge: where rows were put off, rest() does them before.
  template <class Rest>
  __device__ unsigned finish_walk(Rest&& rest) {
    sync();
    if (is_alone_ || (num_long(0) | num_long(1)) == 0) return next_step();
    rest();
    return finish_step();
  }

  __device__ unsigned next_step() {
    const unsigned queued = is_alone_ ? alone_.queued[step_ % 3] : __ldcg(&a_.control->queued[step_ % 3]);
    ++step_;
    // Nobody reads the entries of the step before the last any more.
    if (is_alone_) {
      if (threadIdx.x == 0) alone_.queued[(step_ + 1) % 3] = 0;
    } else if (thread_ == 0) {
      a_.control->queued[(step_ + 1) % 3] = 0;
      for (auto& entries : a_.control->num_long) entries[(step_ + 1) % 3] = 0;
    }
    return queued;
  }

  __device__ unsigned num_long(int which) const { return __ldcg(&a_.control->num_long[which][step_ % 3]); }

  /// Of the threads that are here together; not where a block is alone.
  __device__ void push(NodeId* list, NodeId v) const {
    const auto group = cg::coalesced_threads();
    unsigned at = 0;
    if (group.thread_rank() == 0) at = atomicAdd(&a_.control->queued[step_ % 3], group.size());
    list[group.shfl(at, 0) + group.thread_rank()] = v;
  }

  /// Calls put(at, k) for the lanes' rows that are to be queued, of a whole warp.
  template <unsigned Count, class Put>
  __device__ void push_all(const bool (&queues)[Count], Put&& put) const {
    unsigned lanes[Count];
    unsigned total = 0;
    for (unsigned k = 0; k < Count; ++k) {
      lanes[k] = __ballot_sync(full_warp, queues[k]);
      total += __popc(lanes[k]);
    }
    if (total == 0) return;
    unsigned at = 0;
    if (lane_ == 0) at = atomicAdd(is_alone_ ? &alone_.queued[step_ % 3] : &a_.control->queued[step_ % 3], total);
    at = __shfl_sync(full_warp, at, 0);
    for (unsigned k = 0; k < Count; ++k) {
      if (queues[k]) put(at + __popc(lanes[k] & ((1U << lane_) - 1)), k);
      at += __popc(lanes[k]);
    }
  }

  /// fn(v) for the rows of a list, or for all.
  template <class Fn>
  __device__ void each_row(const NodeId* list, NodeId count, Fn&& fn) const {
    for (NodeId i = thread_; i < count; i += num_threads_) fn(list == nullptr ? i : __ldcg(list + i));
  }

  /// Count edges of a lane, `stride` apart, of the row that `row` is known of.
  template <unsigned Count, class Walk>
  __device__ void take_edges(const CsrPatternView& a, const typename Walk::Known& row, EdgeOffset first,
                             EdgeOffset stride, EdgeOffset end, NodeId* to, const Walk& walk) const {
    NodeId w[Count];
    bool queues[Count];
    for (unsigned k = 0; k < Count; ++k) {
      queues[k] = first + k * stride < end;
      w[k] = queues[k] ? __ldg(a.col_ind + first + k * stride) : 0;
    }
    take_rows(row, w, queues, walk);
    push_all(queues, [&](unsigned at, unsigned k) { to[at] = w[k]; });
  }

  /// Those of a lane's rows w that `queues` names; afterwards it names those that are to be queued.
  template <unsigned Count, class Walk>
  __device__ void take_rows(const typename Walk::Known& row, const NodeId (&w)[Count], bool (&queues)[Count],
                            const Walk& walk) const {
    typename Walk::Known known[Count];
    for (unsigned k = 0; k < Count; ++k) known[k] = walk.look(w[k]);
    unsigned before[Count];
    for (unsigned k = 0; k < Count; ++k) {
      queues[k] = queues[k] && walk.wants(row, known[k]);
      if (queues[k]) before[k] = walk.take(row, w[k]);
    }
    for (unsigned k = 0; k < Count; ++k) queues[k] = queues[k] && walk.is_first(w[k], before[k]);
  }

  /// The edges of the rows of a list: few by a lane, more by a warp; rows of very many are put off.
  template <class Walk>
  __device__ void each_edge(const CsrPatternView& a, int which, const NodeId* list, NodeId count, NodeId* to,
                            const Walk& walk) const {
    for (NodeId first = thread_ - lane_; first < count; first += num_threads_) {
      const bool takes_part = first + lane_ < count;
      const NodeId v = takes_part ? __ldcg(list + first + lane_) : 0;
      const EdgeOffset begin = takes_part ? a.row_ptr[v] : 0;
      const EdgeOffset end = takes_part ? a.row_ptr[v + 1] : 0;
      const auto known = walk.of_row(v);
      const EdgeOffset own_end = end - begin <= lane_edges ? end : begin;
      for (EdgeOffset e = begin; __any_sync(full_warp, e < own_end); e += batch) {
        take_edges<batch>(a, known, e, 1, own_end, to, walk);
      }
      if (end - begin > long_row) {
        a_.long_rows[which][atomicAdd(&a_.control->num_long[which][step_ % 3], 1U)] = v;
      }
      const bool is_shared = end - begin > lane_edges && end - begin <= long_row;
      for (unsigned rest = __ballot_sync(full_warp, is_shared); rest != 0; rest &= rest - 1) {
        const int owner = __ffs(static_cast<int>(rest)) - 1;
        const auto of_owner = walk.of_row(__shfl_sync(full_warp, v, owner));
        const EdgeOffset to_end = __shfl_sync(full_warp, end, owner);
        EdgeOffset e = __shfl_sync(full_warp, begin, owner);
        for (; e + 32 < to_end; e += 32 * batch) {
          take_edges<batch>(a, of_owner, e + lane_, 32, to_end, to, walk);
        }
        if (e < to_end) take_edges<1>(a, of_owner, e + lane_, 32, to_end, to, walk);
      }
    }
  }

  /// The rows that each_edge has put off.
  template <class Walk>
  __device__ void each_long_edge(const CsrPatternView& a, int which, NodeId* to, const Walk& walk) const {
    const unsigned count = num_long(which);
    for (unsigned i = 0; i < count; ++i) {
      const NodeId v = __ldcg(a_.long_rows[which] + i);
      const auto known = walk.of_row(v);
      const EdgeOffset end = a.row_ptr[v + 1];
      for (EdgeOffset e = a.row_ptr[v] + thread_ - lane_; e < end; e += num_threads_) {
        take_edges<1>(a, known, e + lane_, 32, end, to, walk);
      }
    }
  }

  /// Goes along edges, from the rows of a list on, until a step queues none. `make` gives the walk of a step.
  template <class Make>
  __device__ void spread(const CsrPatternView& a, const uint4* near, const NodeId* list, NodeId count, Make&& make) {
    const auto from = [&](unsigned turn) { return turn == 0 ? list : a_.queue[turn % 2]; };
    const auto step = [&](unsigned turn, unsigned queued) {
      NodeId* to = a_.queue[(turn + 1) % 2];
      const auto walk = make(step_);
      each_edge(a, 0, from(turn), queued, to, walk);
      return finish_walk([&] { each_long_edge(a, 0, to, walk); });
    };
    if (near == nullptr) return repeat(count, step);
    repeat(count, step, [&](unsigned& turn, unsigned few) { return spread_near(near, from(turn), few, turn, make); });
  }

  /// The same while a block is alone and rows have few columns, which it queues with them in shared memory: a step
  /// waits twice for memory.
  template <class Make>
  __device__ unsigned spread_near(const uint4* near, const NodeId* list, unsigned queued, unsigned& turn, Make&& make) {
    for (unsigned i = threadIdx.x; i < queued; i += block_threads) {
      alone_.row[turn % 2][i] = __ldcg(list + i);
      alone_.columns[turn % 2][i] = __ldg(near + alone_.row[turn % 2][i]);
    }
    __syncthreads();
    while (queued != 0 && queued <= a_.few_rows) {
      const auto walk = make(step_);
      for (unsigned i = threadIdx.x; i - lane_ < queued; i += block_threads) take_near(near, i, queued, turn, walk);
      queued = finish_step();
      ++turn;
    }
    for (unsigned i = threadIdx.x; i < min(queued, most_near); i += block_threads) {
      a_.queue[turn % 2][i] = alone_.row[turn % 2][i];
    }
    return queued;
  }

  template <class Walk>
  __device__ void take_near(const uint4* near, unsigned i, unsigned queued, unsigned turn, const Walk& walk) const {
    const bool takes_part = i < queued;
    const uint4 four = takes_part ? alone_.columns[turn % 2][i] : uint4{n_, n_, n_, n_};
    const auto row = walk.of_row(takes_part ? alone_.row[turn % 2][i] : 0);
    NodeId w[near_width] = {four.x, four.y, four.z, four.w};
    bool queues[near_width];
    uint4 columns[near_width];
    for (unsigned k = 0; k < near_width; ++k) {
      queues[k] = w[k] != n_;
      if (!queues[k]) w[k] = 0;
      columns[k] = __ldg(near + w[k]);
    }
    take_rows(row, w, queues, walk);
    const unsigned next = (turn + 1) % 2;
    push_all(queues, [&](unsigned at, unsigned k) {
      if (at < most_near) {
        alone_.row[next][at] = w[k];
        alone_.columns[next][at] = columns[k];
      } else {
        a_.queue[next][at] = w[k];
      }
    });
  }

  __device__ NodeId owner_of(NodeId v) const { return __ldcg(a_.owner + v); }

  __device__ void trim() {
    each_row(nullptr, n_, [&](NodeId v) {
      a_.num_out[v] = others(a_.out, v);
      a_.num_in[v] = others(a_.in, v);
      a_.part[v] = 0;
      const bool is_alone = a_.num_out[v] == 0 || a_.num_in[v] == 0;
      a_.owner[v] = none;
      if (is_alone && take_away(a_, v)) push(a_.queue[0], v);
    });
    repeat(finish_step(), [&](unsigned turn, unsigned queued) {
      const NodeId* from = a_.queue[turn % 2];
      NodeId* to = a_.queue[(turn + 1) % 2];
      const LeaveNeighbors along{a_, a_.num_in};
      const LeaveNeighbors back{a_, a_.num_out};
      each_edge(a_.out, 0, from, queued, to, along);
      each_edge(a_.in, 1, from, queued, to, back);
      return finish_walk([&] {
        each_long_edge(a_.out, 0, to, along);
        each_long_edge(a_.in, 1, to, back);
      });
    });
  }

  /// Neighbours of a row, itself left out.
  __device__ static unsigned others(const CsrPatternView& a, NodeId v) {
    EdgeOffset low = a.row_ptr[v];
    const EdgeOffset length = a.row_ptr[v + 1] - low;
    for (EdgeOffset size = length; size != 0;) {
      const EdgeOffset half = size / 2;
      const NodeId there = __ldg(a.col_ind + low + half);
      if (there == v) return static_cast<unsigned>(length - 1);
      low += there < v ? half + 1 : 0;
      size = there < v ? size - half - 1 : half;
    }
    return static_cast<unsigned>(length);
  }

  __device__ NodeId gather_open() {
    each_row(nullptr, n_, [&](NodeId v) {
      a_.num_in[v] = 0;  // no step
      if (owner_of(v) == none) push(a_.open[0], v);
    });
    return finish_step();
  }

  /// High for rows with many edges both ways.
  __device__ std::uint64_t own_color(NodeId v) const {
    const EdgeOffset num_out = a_.out.row_ptr[v + 1] - a_.out.row_ptr[v];
    const EdgeOffset num_in = a_.in.row_ptr[v + 1] - a_.in.row_ptr[v];
    const auto size = static_cast<unsigned>(64 - __clzll(static_cast<long long>((num_out + 1) * (num_in + 1))));
    return std::uint64_t{size} << 32U | scrambled(v);
  }

  __device__ void send_colors(const NodeId* open, NodeId left) {
    each_row(open, left, [&](NodeId v) { a_.color[v] = own_color(v); });
    finish_step();
    spread(a_.out, a_.near_out, open, left, [&](unsigned step) { return RaiseColors{a_, step}; });
  }

  __device__ void send_owners(const NodeId* open, NodeId left) {
    each_row(open, left, [&](NodeId v) {
      if (load(a_.color + v) != own_color(v)) return;
      a_.owner[v] = v;
      push(a_.queue[0], v);
    });
    const unsigned owners = finish_step();
    spread(a_.in, a_.near_in, a_.queue[0], owners, [&](unsigned) { return SendOwners{a_}; });
  }

  __device__ NodeId keep_open(const NodeId* open, NodeId left, NodeId* to) {
    each_row(open, left, [&](NodeId v) {
      const bool is_open = owner_of(v) == none;
      a_.part[v] = is_open ? load(a_.color + v) : done;
      if (is_open) push(to, v);
    });
    return finish_step();
  }

  __device__ void count_components() const {
    unsigned roots = 0;
    each_row(nullptr, n_, [&](NodeId v) { roots += owner_of(v) == v ? 1 : 0; });
    roots = __reduce_add_sync(full_warp, roots);
    if (lane_ == 0 && roots != 0) atomicAdd(&a_.control->count, roots);
  }

  const Args& a_;
  Alone& alone_;
  NodeId n_;
  NodeId thread_;
  NodeId num_threads_;
  unsigned lane_;
  unsigned step_ = 1;
  bool is_alone_ = false;
};

__global__ void __launch_bounds__(block_threads, 1) strong_components_kernel(const __grid_constant__ Args args) {
  __shared__ Alone alone;
  StrongSearch(args, alone).run();
}

}  // namespace

CudaStrongComponents::CudaStrongComponents(const PackedGraph& graph) : device_(graph.device()), rows_(graph) {
  const NodeId n = graph.num_nodes();
  if (!graph.has_in()) transposed_ = transposed(graph);
  for (Buffer<NodeId>* rows : {&owner_, &smallest_, &queue_[0], &queue_[1], &open_[0], &open_[1]})
    *rows = Buffer<NodeId>(n, device_);
  for (Buffer<std::uint64_t>* colors : {&color_, &part_}) *colors = Buffer<std::uint64_t>(n, device_);
  for (Buffer<unsigned>* counts : {&num_in_, &num_out_}) *counts = Buffer<unsigned>(n, device_);
  for (Buffer<NodeId>& rows : long_rows_) rows = Buffer<NodeId>(graph.num_edges() / long_row + 1, device_);
  control_ = Buffer<unsigned>(sizeof(Control) / sizeof(unsigned), device_);
  const CsrPatternView in = in_rows();
  if (n == 0 || std::max(rows_.out().longest_row, in.longest_row) > near_width) return;
  for (auto& [rows, near] : {std::pair{&rows_.out(), &near_out_}, std::pair{&in, &near_in_}}) {
    *near = Buffer<NodeId>(std::size_t{n} * near_width, device_);
    pack_bfs_short_rows(device_, *rows, near_width, near->data());
  }
}

CsrPatternView CudaStrongComponents::in_rows() const { return transposed_ ? transposed_->view() : rows_.in(); }

NodeId CudaStrongComponents::run(NodeId* label) {
  const NodeId n = rows_.out().nrows;
  if (n == 0) return 0;
  control_.fill(0);
  auto* control = reinterpret_cast<Control*>(control_.data());
  const CsrPatternView in = in_rows();
  const EdgeOffset longest = std::max(rows_.out().longest_row, in.longest_row);
  launch_cooperative<block_threads>(device_, strong_components_kernel, n,
                                    Args{.out = rows_.out(),
                                         .in = in,
                                         .near_out = reinterpret_cast<const uint4*>(near_out_.data()),
                                         .near_in = reinterpret_cast<const uint4*>(near_in_.data()),
                                         .few_rows = longest <= short_row ? most_near : 0,
                                         .owner = owner_.data(),
                                         .color = color_.data(),
                                         .part = part_.data(),
                                         .num_in = num_in_.data(),
                                         .num_out = num_out_.data(),
                                         .queue = {queue_[0].data(), queue_[1].data()},
                                         .open = {open_[0].data(), open_[1].data()},
                                         .long_rows = {long_rows_[0].data(), long_rows_[1].data()},
                                         .control = control},
                                    "strong_components_kernel");
  give_smallest_labels(device_, n, rows_.new_id(), owner_.data(), smallest_.data(), label);
  Control found{};
  Device::copy(&found, Device{}, control, device_, sizeof(found));
  return found.count;
}

std::unique_ptr<ComponentsEngine> make_strong_components_engine(const Cuda&, const PackedGraph& graph) {
  return std::make_unique<CudaStrongComponents>(graph);
}

}  // namespace bitgraph
