// SPDX-License-Identifier: Apache-2.0
// A breadth-first search in one cooperative launch. Each level runs in the way that promises the least work:
//   alone   One block runs small levels with its own queue. The visited bits are in shared memory where they fit. A
//           barrier of the whole grid would cost more than such a level.
//   push    Warps divide the edges of the frontier evenly. The queue stores how many edges precede each vertex.
//   pull    Every unvisited vertex looks for a visited in-neighbour and stops at the first one. That neighbour is
//           always of the last level: an older neighbour would have found the vertex before.
// Pull reads the visited bits of the last level and writes those of the next level. So a vertex found in this level
// never counts as an older one.
#include "core/cuda/cooperative.cuh"
#include "graph/bfs/cuda_solo.cuh"

#include <cooperative_groups.h>

namespace bitgraph {

namespace {

namespace cg = cooperative_groups;
using namespace bfs_cuda;

/// What every block knows of the frontier of a level. It ends the search that no edges leave.
struct Frontier {
  bool queued;     ///< in the queue, else as bits
  unsigned count;  ///< queued vertices, which have edges; of a frontier kept as bits all
  unsigned long long edges;
};

class Search : SoloSearch {
 public:
  __device__ Search(const BfsCudaArgs& args, SoloState& solo, std::uint32_t* shared_visited)
      : SoloSearch(args, solo, shared_visited),
        warp_((blockIdx.x * block_threads + threadIdx.x) / 32),
        num_warps_(gridDim.x * block_threads / 32) {}

  __device__ void run() {
    const cg::grid_group grid = cg::this_grid();
    prepare();
    grid.sync();
    Frontier frontier{true, 1, row(a_.source).degree()};
    const unsigned source_unreachable = (a_.unreachable[a_.source / 32] >> (a_.source % 32)) & 1U;
    const unsigned reachable = a_.out.nrows - a_.num_unreachable + source_unreachable;
    while (frontier.edges != 0 && reached_ < reachable) {
      if (frontier.count <= solo_vertices && frontier.edges <= solo_edges &&
          !(choose_pull(frontier) && !frontier.queued)) {
        if (!frontier.queued) {
          make_queue();
          grid.sync();
          frontier = read_frontier(true);
          if (frontier.edges == 0) break;
        }
        if (blockIdx.x == 0) run_solo(frontier.count, static_cast<unsigned>(frontier.edges));
        grid.sync();
        level_ = __ldcg(&a_.control->level);
        reached_ = __ldcg(&a_.control->reached);
        deepest_ = __ldcg(&a_.control->num_levels);
        frontier = read_frontier(true);
        continue;
      }
      if (blockIdx.x == 0 && threadIdx.x == 0) forget(level_ + 2);
      const bool queues = run_level(grid, frontier);
      grid.sync();
      ++level_;
      const unsigned found = __ldcg(&a_.control->found[level_ % 3]);
      reached_ += found;
      if (found != 0) deepest_ = level_;
      frontier = read_frontier(queues);
    }
    if (levels_missing_) write_levels();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
      a_.control->reached = reached_;
      a_.control->num_levels = deepest_ + 1;
    }
  }

 private:
  /// From level_ to the next with the whole grid; true if what it finds is queued.
  __device__ bool run_level(const cg::grid_group& grid, Frontier frontier) {
    if (choose_pull(frontier)) {
      pull_level();
      current_ ^= 1;
      levels_missing_ = false;
      return false;
    }
    if (!frontier.queued) {
      make_queue();
      grid.sync();
      frontier = read_frontier(true);
    }
    const bool queues = frontier.edges <= bfs_queue_capacity;
    if (!queues) {
      copy_visited();
      grid.sync();
      current_ ^= 1;
    }
    push_level(frontier, queues);
    levels_missing_ = !queues;
    return queues;
  }

  __device__ void prepare() {
    const std::size_t step = std::size_t{gridDim.x} * block_threads;
    const std::size_t me = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
    for (std::size_t v = me; v < a_.out.nrows; v += step) a_.level[v] = v == a_.source ? 0 : a_.unreached;
    for (std::size_t w = me; w < words_; w += step) {
      a_.visited[0][w] = a_.unreachable[w] | (w == a_.source / 32 ? 1U << (a_.source % 32) : 0U);
    }
    if (me == 0) {
      BfsControl& control = *a_.control;
      control = BfsControl{};
      const BfsRow start = row(a_.source);
      control.queued[0] = (1ULL << count_shift) | start.degree();
      a_.queue[0].first[0] = start.first();
      a_.queue[0].edges_before[0] = 0;
    }
  }

  __device__ Frontier read_frontier(bool queued) const {
    const unsigned at = level_ % 3;
    if (!queued) return {false, __ldcg(&a_.control->found[at]), __ldcg(&a_.control->edges[at])};
    const unsigned long long packed = __ldcg(&a_.control->queued[at]);
    return {true, static_cast<unsigned>(packed >> count_shift), packed & edge_mask};
  }

  /// Edges that pulling would look at against those that pushing would.
  __device__ bool choose_pull(const Frontier& frontier) const {
    if (frontier.count > bfs_queue_capacity || frontier.edges >= (1ULL << 31)) return true;
    const float rows = static_cast<float>(a_.out.nrows - a_.num_unreachable);
    const float unvisited = fmaxf(0.0F, rows - static_cast<float>(reached_));
    const float nvals = static_cast<float>(a_.nvals);
    const float looks = fminf(nvals / fmaxf(rows, 1.0F), nvals / static_cast<float>(frontier.edges + 1));
    return unvisited * looks + static_cast<float>(words_) < static_cast<float>(frontier.edges);
  }

  /// The visited bits that the next level goes on writing.
  __device__ void copy_visited() {
    const std::size_t step = std::size_t{gridDim.x} * block_threads;
    for (std::size_t w = std::size_t{blockIdx.x} * block_threads + threadIdx.x; w < words_; w += step) {
      a_.visited[current_ ^ 1][w] = __ldcg(&a_.visited[current_][w]);
    }
  }

  /// The last queue slot with edges_before <= edge: 32 lanes look at a time.
  __device__ unsigned slot_of(const unsigned* edges_before, unsigned count, unsigned edge) const {
    unsigned low = 0;  // edges_before[low] <= edge
    unsigned high = count;
    while (high - low > 1) {
      const unsigned step = (high - low + 31) / 32;
      const unsigned at = low + lane_ * step;
      const bool below = at < high && __ldcg(&edges_before[at]) <= edge;
      const unsigned last = 31 - __clz(static_cast<int>(__ballot_sync(full_warp, below)));
      high = min(high, low + (last + 1) * step);
      low += last * step;
    }
    return low;
  }

  /// A frontier that is not queued is left as bits: its levels are written when the bits are read next.
  __device__ void push_level(const Frontier& frontier, bool queues) {
    const BfsQueue from = a_.queue[level_ % 2];
    const bool look_first = 4ULL * reached_ > a_.out.nrows;
    const unsigned edges = static_cast<unsigned>(frontier.edges);
    const unsigned share = (edges / num_warps_ / window_slots + 1) * window_slots;
    PushWindow& window = solo_.window[threadIdx.x / 32];
    found_ = 0;
    for (unsigned begin = warp_ * share; begin < edges; begin += num_warps_ * share) {
      const unsigned end = min(edges, begin + share);
      unsigned slot = slot_of(from.edges_before, frontier.count, begin);
      for (unsigned base = begin; base < end; base += window_slots) {
        // So many edges lie in at most so many slots, for no queued vertex is without edges.
        __syncwarp();
        for (unsigned n = lane_; n < window_slots; n += 32) {
          const bool there = slot + n < frontier.count;
          window.edges_before[n] = there ? __ldcg(&from.edges_before[slot + n]) : edges;
          window.first[n] = there ? __ldcg(&from.first[slot + n]) : 0;
        }
        __syncwarp();
        NodeId v[batch];
        unsigned last = 0;
        for (unsigned n = 0; n < batch; ++n) {
          const unsigned edge = base + n * 32 + lane_;
          last = slot_in(window.edges_before, window_slots, min(edge, edges - 1));
          v[n] = a_.out.nrows;
          if (edge < end) v[n] = __ldg(a_.columns + window.first[last] + (edge - window.edges_before[last]));
        }
        take_push(v, queues, look_first);
        slot += __shfl_sync(full_warp, last, 31);
        const unsigned next_edge = base + window_slots;
        if (next_edge < end && slot + 1 < frontier.count && __ldcg(&from.edges_before[slot + 1]) <= next_edge) ++slot;
      }
    }
    // Where nothing is queued, the number of edges is a guess that the next choice of direction can live with.
    const unsigned long long degree = a_.nvals / a_.out.nrows + 1;
    report(found_, queues ? 0 : found_ * degree);
  }

  __device__ void take_push(const NodeId (&v)[batch], bool queues, bool look_first) {
    std::uint32_t* visited = a_.visited[current_];
    EdgeOffset first[batch] = {};
    unsigned edges[batch] = {};
    for (unsigned n = 0; n < batch; ++n) {
      if (v[n] == a_.out.nrows || !visit(visited, v[n], look_first)) continue;
      ++found_;
      if (!queues) continue;
      a_.level[v[n]] = level_ + 1;
      const BfsRow found = row(v[n]);
      first[n] = found.first();
      edges[n] = found.degree();
    }
    if (!queues) return;
    for (unsigned n = 0; n < batch; ++n) append(level_ + 1, first[n], edges[n]);
  }

  /// Lanes with edges put their vertex into the queue: one atomic a warp gives both places.
  __device__ void append(int level, EdgeOffset first, unsigned edges) {
    const unsigned lanes = __ballot_sync(full_warp, edges != 0);
    if (lanes == 0) return;
    unsigned sum = edges;
    sum = warp_inclusive_sum(sum);
    unsigned long long base = 0;
    if (lane_ == 31) {
      const auto count = static_cast<unsigned long long>(__popc(lanes));
      base = atomicAdd(&a_.control->queued[level % 3], (count << count_shift) | sum);
    }
    base = __shfl_sync(full_warp, base, 31);
    if (edges == 0) return;
    const unsigned at = static_cast<unsigned>(base >> count_shift) + __popc(lanes & ((1U << lane_) - 1));
    const BfsQueue into = a_.queue[level % 2];
    into.first[at] = first;
    into.edges_before[at] = static_cast<unsigned>(base & edge_mask) + sum - edges;
  }

  /// Adds what a block has found to the next level's record.
  __device__ void report(unsigned found, unsigned long long edges) {
    const unsigned next = (level_ + 1) % 3;
    found = __reduce_add_sync(full_warp, found);
    edges = warp_sum(edges);
    __syncthreads();
    if (threadIdx.x == 0) {
      solo_.found = 0;
      solo_.edges = 0;
    }
    __syncthreads();
    if (lane_ == 0 && found != 0) {
      atomicAdd(&solo_.found, found);
      atomicAdd(&solo_.edges, edges);
    }
    __syncthreads();
    if (threadIdx.x == 0 && solo_.found != 0) {
      atomicAdd(&a_.control->found[next], solo_.found);
      if (solo_.edges != 0) atomicAdd(&a_.control->edges[next], solo_.edges);
    }
  }

  __device__ bool is_visited(NodeId v) const {
    const std::uint32_t word =
        shared_visited_ != nullptr ? shared_visited_[v / 32] : __ldcg(&a_.visited[current_][v / 32]);
    return ((word >> (v % 32)) & 1U) != 0;
  }

  __device__ void pull_level() {
    const std::uint32_t* visited = a_.visited[current_];
    if (shared_visited_ != nullptr) {
      for (unsigned w = threadIdx.x; w < words_; w += block_threads) shared_visited_[w] = __ldcg(&visited[w]);
      __syncthreads();
    }
    const bool symmetric = a_.in.row_ptr == a_.out.row_ptr;
    unsigned found = 0;
    unsigned long long found_edges = 0;
    for (unsigned w = warp_; w < words_; w += num_warps_) {
      const std::uint32_t before = __ldcg(&visited[w]);
      const NodeId v = w * 32 + lane_;
      const bool looks = v < a_.in.nrows && ((before >> lane_) & 1U) == 0;
      const EdgeOffset begin = looks ? a_.in.row_ptr[v] : 0;
      const EdgeOffset end = looks ? a_.in.row_ptr[v + 1] : 0;
      if (levels_missing_ && (((before & ~__ldcg(&a_.visited[current_ ^ 1][w])) >> lane_) & 1U) != 0) {
        a_.level[v] = level_;
      }
      bool hit = pull_alone(begin, end);
      hit |= pull_together(begin, end, hit);
      const unsigned hits = __ballot_sync(full_warp, hit);
      if (lane_ == 0) a_.visited[current_ ^ 1][w] = before | hits;
      if (hit) {
        a_.level[v] = level_ + 1;
        ++found;
        found_edges += symmetric ? end - begin : row(v).degree();
      }
    }
    report(found, found_edges);
  }

  static constexpr unsigned first_looks = 8;

  /// Each lane looks at the first neighbours of its own vertex: at all of them at once where the bits are near, else
  /// half by half, for a look then costs as much as a neighbour.
  __device__ bool pull_alone(EdgeOffset begin, EdgeOffset end) const {
    if (shared_visited_ != nullptr) return look<first_looks>(begin, end);
    return look<first_looks / 2>(begin, end) || look<first_looks / 2>(begin + first_looks / 2, end);
  }

  template <unsigned Count>
  __device__ bool look(EdgeOffset begin, EdgeOffset end) const {
    if (begin >= end) return false;
    NodeId u[Count];
    for (unsigned n = 0; n < Count; ++n) u[n] = __ldg(a_.in.col_ind + min(begin + n, end - 1));
    bool hit = false;
    for (unsigned n = 0; n < Count; ++n) hit |= is_visited(u[n]);
    return hit;
  }

  /// The warp looks together through what is left of each lane's neighbours.
  __device__ bool pull_together(EdgeOffset begin, EdgeOffset end, bool done) const {
    bool mine = false;
    for (unsigned rest = __ballot_sync(full_warp, !done && begin + first_looks < end); rest != 0; rest &= rest - 1) {
      const int owner = __ffs(static_cast<int>(rest)) - 1;
      const EdgeOffset from = __shfl_sync(full_warp, begin, owner) + first_looks;
      const EdgeOffset to = __shfl_sync(full_warp, end, owner);
      bool hit = false;
      for (EdgeOffset e = from; e < to && !hit; e += 32) {
        const bool mine_hits = e + lane_ < to && is_visited(__ldg(a_.in.col_ind + e + lane_));
        hit = __any_sync(full_warp, mine_hits);
      }
      if (static_cast<int>(lane_) == owner) mine = hit;
    }
    return mine;
  }

  /// The queue of a frontier that the last level left as bits.
  __device__ void make_queue() {
    for (unsigned w = warp_; w < words_; w += num_warps_) {
      const std::uint32_t bits = __ldcg(&a_.visited[current_][w]) & ~__ldcg(&a_.visited[current_ ^ 1][w]);
      if (bits == 0) continue;
      const NodeId v = w * 32 + lane_;
      const bool mine = ((bits >> lane_) & 1U) != 0;
      if (mine && levels_missing_) a_.level[v] = level_;
      const BfsRow found = mine ? row(v) : BfsRow{0};
      append(level_, found.first(), found.degree());
    }
    levels_missing_ = false;
  }

  /// The levels of a frontier that was left as bits.
  __device__ void write_levels() {
    for (unsigned w = warp_; w < words_; w += num_warps_) {
      const std::uint32_t bits = __ldcg(&a_.visited[current_][w]) & ~__ldcg(&a_.visited[current_ ^ 1][w]);
      if (((bits >> lane_) & 1U) != 0) a_.level[w * 32 + lane_] = level_;
    }
  }

  unsigned warp_;
  unsigned num_warps_;
};

__global__ void __launch_bounds__(block_threads, 1) search_kernel(BfsCudaArgs args, bool shares_visited) {
  extern __shared__ __align__(16) unsigned char shared[];
  SoloState& solo = *reinterpret_cast<SoloState*>(shared);
  auto* visited = reinterpret_cast<std::uint32_t*>(shared + sizeof(SoloState));
  Search(args, solo, shares_visited ? visited : nullptr).run();
}

__global__ void mark_unreachable(CsrPatternView in, std::uint32_t* unreachable, unsigned* count) {
  const std::size_t v = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const bool mine = v < in.nrows && in.row_ptr[v] == in.row_ptr[v + 1];
  const unsigned bits = __ballot_sync(full_warp, mine);
  if (threadIdx.x % 32 == 0 && v / 32 < (std::size_t{in.nrows} + 31) / 32) {
    unreachable[v / 32] = bits;
    if (bits != 0) atomicAdd(count, __popc(bits));
  }
}

__global__ void pack_rows(CsrPatternView out, std::uint64_t* rows) {
  const std::size_t v = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (v < out.nrows) rows[v] = BfsRow::make(out.row_ptr[v], out.row_ptr[v + 1]).packed;
}

__global__ void pack_short_rows(CsrPatternView out, unsigned width, NodeId* columns) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= std::size_t{out.nrows} * width) return;
  const EdgeOffset at = out.row_ptr[i / width] + i % width;
  columns[i] = at < out.row_ptr[i / width + 1] ? out.col_ind[at] : out.nrows;
}

}  // namespace

void pack_bfs_short_rows(const Device& device, const CsrPatternView& out, unsigned width, NodeId* columns) {
  const ScopedCudaDevice scope(device.index());
  pack_short_rows<<<blocks_for(std::size_t{out.nrows} * width, 256), 256, 0, stream_of(device)>>>(out, width, columns);
  cuda_check_launch("pack_short_rows");
}

void pack_bfs_rows(const Device& device, const CsrPatternView& out, std::uint64_t* rows) {
  const ScopedCudaDevice scope(device.index());
  pack_rows<<<blocks_for(out.nrows, 256), 256, 0, stream_of(device)>>>(out, rows);
  cuda_check_launch("pack_rows");
}

void find_unreachable(const Device& device, const CsrPatternView& in, std::uint32_t* unreachable, unsigned* count) {
  const ScopedCudaDevice scope(device.index());
  mark_unreachable<<<blocks_for(in.nrows, 256), 256, 0, stream_of(device)>>>(in, unreachable, count);
  cuda_check_launch("mark_unreachable");
}

void launch_bfs(const Device& device, const BfsCudaArgs& args) {
  const ScopedCudaDevice scope(device.index());
  const CudaLimits& limits = cuda_limits(device);
  const std::size_t visited_bytes = (std::size_t{args.out.nrows} + 31) / 32 * 4;
  bool shares = visited_bytes + sizeof(SoloState) <= limits.shared_bytes_a_block;
  const std::size_t dynamic = sizeof(SoloState) + (shares ? visited_bytes : 0);
  allow_shared_bytes(search_kernel, dynamic, "search_kernel");
  BfsCudaArgs copy = args;
  void* parameters[] = {&copy, &shares};
  cuda_check(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(search_kernel), dim3(limits.multiprocessors),
                                         dim3(block_threads), parameters, dynamic, stream_of(device)),
             "search_kernel");
}

}  // namespace bitgraph
