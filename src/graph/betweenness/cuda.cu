// SPDX-License-Identifier: Apache-2.0
// Betweenness from 32 sources in one cooperative launch: a lane has a source and a warp has a row. Each level is a
// list of entries: a row, and the mask of the sources that have the row at that level. Forward along the levels, a row
// adds up the paths of its in-neighbours one level down. Backward, it adds up the dependencies of its out-neighbours
// one level up. Rows pull in the order of their edges, so a sum is the same in every run. It is also the sum of the
// host, except for rows of very many edges, which a block adds up in parts.
#include "graph/betweenness/cuda.cuh"

#include <bitgraph/graph/packed_graph.hpp>

#include "core/cuda/cooperative.cuh"
#include "graph/packed_graph/pattern.hpp"

#include <cooperative_groups.h>

#include <algorithm>
#include <string>
#include <vector>

namespace bitgraph {

namespace {

namespace cg = cooperative_groups;

constexpr unsigned block_threads = 512;
constexpr unsigned warps_of_block = block_threads / 32;
constexpr unsigned small_threads = 256;
constexpr unsigned batch = 32;         ///< sources
constexpr EdgeOffset long_row = 1024;  ///< a row with more edges is shared out in a block

/// State that all blocks share. A phase writes the entry of its number modulo 3.
struct Control {
  unsigned num_entries;
  unsigned num_long[3];
  unsigned overflow;  ///< the first source with too many paths
};

struct Args {
  CsrPatternView out;
  CsrPatternView in;
  const NodeId* sources;  ///< rows
  unsigned num_sources;   ///< at most a batch
  unsigned first_source;  ///< its place among all
  NodeId* entry_row;      ///< scratch for a batch of n
  unsigned* entry_mask;
  NodeId* level_begin;  ///< the first entry of each level: n + 1 elements
  NodeId* long_entries;
  unsigned* seen;      ///< sources that have reached each row; zeros before
  unsigned* front[3];  ///< of each row, the sources that have it at a level, for three levels; zeros before
  double* paths;       ///< a batch a row
  double* dependency;
  double* score;  ///< of rows
  Control* control;
};

class Brandes {
 public:
  __device__ Brandes(const Args& args, double (&parts)[warps_of_block][batch])
      : a_(args),
        parts_(parts),
        n_(args.out.nrows),
        thread_(blockIdx.x * block_threads + threadIdx.x),
        num_threads_(gridDim.x * block_threads),
        lane_(threadIdx.x % 32) {}

  __device__ void run() {
    begin();
    NodeId level = 0;
    NodeId first = 0;
    NodeId end = finish_phase();
    settle_sources(end);
    finish_phase();
    while (true) {
      const NodeId reached = find_next(level, first, end);
      if (thread_ == 0) a_.level_begin[level + 1] = end;
      if (reached == end) break;
      first = end;
      end = reached;
      add_paths(++level, first, end);
    }
    cg::this_grid().sync();
    for (NodeId back = level + 1; back-- > 0;) add_dependencies(back, level);
    add_scores();
  }

 private:
  /// Ends a phase; the number of entries there are.
  __device__ NodeId finish_phase() {
    cg::this_grid().sync();
    return next_phase();
  }

  /// The same; entries of long rows that were put off are done before.
  template <class Rest>
  __device__ NodeId finish_walk(Rest&& rest) {
    cg::this_grid().sync();
    const unsigned num_long = __ldcg(&a_.control->num_long[phase_ % 3]);
    if (num_long == 0) return next_phase();
    for (unsigned i = blockIdx.x; i < num_long; i += gridDim.x) rest(__ldcg(a_.long_entries + i));
    return finish_phase();
  }

  __device__ NodeId next_phase() {
    ++phase_;
    if (thread_ == 0) a_.control->num_long[(phase_ + 1) % 3] = 0;
    return __ldcg(&a_.control->num_entries);
  }

  /// walk(entry, row, first edge, end of its edges) by whole warps; rows of very many edges are put off.
  template <class Walk>
  __device__ void each_entry(const CsrPatternView& a, NodeId first, NodeId end, Walk&& walk) const {
    for (NodeId entry = first + thread_ / 32; entry < end; entry += num_threads_ / 32) {
      const NodeId row = __ldcg(a_.entry_row + entry);
      const EdgeOffset begin = a.row_ptr[row];
      const EdgeOffset length = a.row_ptr[row + 1] - begin;
      if (length <= long_row) {
        walk(entry, row, begin, begin + length);
      } else if (lane_ == 0) {
        a_.long_entries[atomicAdd(&a_.control->num_long[phase_ % 3], 1U)] = entry;
      }
    }
  }

  __device__ NodeId level_begin(NodeId level) const { return __ldcg(a_.level_begin + level); }

  __device__ void append(NodeId row) const {
    const auto group = cg::coalesced_threads();
    NodeId at = 0;
    if (group.thread_rank() == 0) at = atomicAdd(&a_.control->num_entries, group.size());
    a_.entry_row[group.shfl(at, 0) + group.thread_rank()] = row;
  }

  __device__ void begin() const {
    if (thread_ >= a_.num_sources) return;
    const NodeId row = a_.sources[thread_];
    if (atomicOr(a_.front[0] + row, 1U << thread_) == 0) append(row);  // a source may be there twice
    if (thread_ == 0) a_.level_begin[0] = 0;
  }

  __device__ void settle_sources(NodeId end) const {
    for (NodeId entry = thread_ / 32; entry < end; entry += num_threads_ / 32) {
      const NodeId row = __ldcg(a_.entry_row + entry);
      const unsigned mask = settle(entry, row, a_.front[0]);
      if ((mask >> lane_ & 1U) != 0) a_.paths[std::size_t{row} * batch + lane_] = 1;
    }
  }

  /// The sources that have reached a row now.
  __device__ unsigned settle(NodeId entry, NodeId row, const unsigned* front) const {
    const unsigned mask = __ldcg(front + row);
    if (lane_ == 0) {
      a_.entry_mask[entry] = mask;
      a_.seen[row] |= mask;
    }
    return mask;
  }

  /// Marks the rows of the next level and appends them; how many entries there are then.
  __device__ NodeId find_next(NodeId level, NodeId first, NodeId end) {
    unsigned* next = a_.front[(level + 1) % 3];
    const auto mark = [&](NodeId entry, EdgeOffset begin, EdgeOffset edges_end, unsigned step) {
      const unsigned mask = __ldcg(a_.entry_mask + entry);
      for (EdgeOffset e = begin; e < edges_end; e += step) {
        const NodeId w = __ldg(a_.out.col_ind + e);
        const unsigned fresh = mask & ~__ldcg(a_.seen + w);
        if ((fresh & ~__ldcg(next + w)) != 0 && atomicOr(next + w, fresh) == 0) append(w);
      }
    };
    if (level != 0) clear(a_.front[(level + 2) % 3], level_begin(level - 1), first);
    each_entry(a_.out, first, end, [&](NodeId entry, NodeId, EdgeOffset begin, EdgeOffset edges_end) {
      mark(entry, begin + lane_, edges_end, 32);
    });
    return finish_walk([&](NodeId entry) {
      const NodeId row = __ldcg(a_.entry_row + entry);
      mark(entry, a_.out.row_ptr[row] + threadIdx.x, a_.out.row_ptr[row + 1], block_threads);
    });
  }

  __device__ void clear(unsigned* front, NodeId first, NodeId end) const {
    for (NodeId entry = first + thread_; entry < end; entry += num_threads_) front[__ldcg(a_.entry_row + entry)] = 0;
  }

  /// The sum, for each lane's source, of term(place) over the edges from `begin` on, 32 of every `step`: where the
  /// neighbour is in front for that source, and the source in the mask.
  template <class Term>
  __device__ double sum_of(const CsrPatternView& a, EdgeOffset begin, EdgeOffset end, EdgeOffset step, unsigned mask,
                           const unsigned* front, Term&& term) const {
    double sum = 0;
    for (EdgeOffset e = begin; e < end; e += step) {
      const NodeId mine = e + lane_ < end ? __ldg(a.col_ind + e + lane_) : 0;
      const unsigned there = e + lane_ < end ? __ldcg(front + mine) & mask : 0;
      for (unsigned rest = __ballot_sync(full_warp, there != 0); rest != 0; rest &= rest - 1) {
        const int from = __ffs(static_cast<int>(rest)) - 1;
        const NodeId neighbour = __shfl_sync(full_warp, mine, from);
        const unsigned sources = __shfl_sync(full_warp, there, from);
        if ((sources >> lane_ & 1U) != 0) sum += term(std::size_t{neighbour} * batch + lane_);
      }
    }
    return sum;
  }

  /// The same by a block: a warp takes every so-manieth piece, and the first one adds up what they have. give(sum) is
  /// called there.
  template <class Term, class Give>
  __device__ void sum_of_block(const CsrPatternView& a, NodeId row, unsigned mask, const unsigned* front, Term&& term,
                               Give&& give) const {
    const unsigned warp = threadIdx.x / 32;
    parts_[warp][lane_] = sum_of(a, a.row_ptr[row] + warp * 32, a.row_ptr[row + 1], block_threads, mask, front, term);
    __syncthreads();
    if (warp == 0) {
      double sum = 0;
      for (const auto& part : parts_) sum += part[lane_];
      give(sum);
    }
    __syncthreads();
  }

  __device__ void add_paths(NodeId level, NodeId first, NodeId end) {
    const unsigned* before = a_.front[(level + 2) % 3];
    const unsigned* now = a_.front[level % 3];
    const auto term = [&](std::size_t at) { return __ldcg(a_.paths + at); };
    const auto give = [&](NodeId row, unsigned mask, double sum) {
      if ((mask >> lane_ & 1U) == 0) return;
      a_.paths[std::size_t{row} * batch + lane_] = sum;
      if (!isfinite(sum)) atomicMin(&a_.control->overflow, a_.first_source + lane_);
    };
    each_entry(a_.in, first, end, [&](NodeId entry, NodeId row, EdgeOffset begin, EdgeOffset edges_end) {
      const unsigned mask = settle(entry, row, now);
      give(row, mask, sum_of(a_.in, begin, edges_end, 32, mask, before, term));
    });
    finish_walk([&](NodeId entry) {
      const NodeId row = __ldcg(a_.entry_row + entry);
      const unsigned mask = __ldcg(now + row);
      if (threadIdx.x < 32) settle(entry, row, now);
      sum_of_block(a_.in, row, mask, before, term, [&](double sum) { give(row, mask, sum); });
    });
  }

  /// Of the rows of a level, from those one level up, whose masks are in front.
  __device__ void add_dependencies(NodeId level, NodeId last) {
    const NodeId first = level_begin(level);
    const NodeId end = level_begin(level + 1);
    const unsigned* above = a_.front[(level + 1) % 3];
    unsigned* now = a_.front[level % 3];
    if (level + 2 <= last) clear(a_.front[(level + 2) % 3], level_begin(level + 2), level_begin(level + 3));
    const auto dependency = [&](NodeId row) {
      const double own = __ldcg(a_.paths + std::size_t{row} * batch + lane_);
      return [this, own](std::size_t at) { return own / __ldcg(a_.paths + at) * (1 + __ldcg(a_.dependency + at)); };
    };
    const auto give = [&](NodeId row, unsigned mask, double sum) {
      if ((mask >> lane_ & 1U) != 0) a_.dependency[std::size_t{row} * batch + lane_] = sum;
      if (lane_ == 0) now[row] = mask;
    };
    each_entry(a_.out, first, end, [&](NodeId entry, NodeId row, EdgeOffset begin, EdgeOffset edges_end) {
      const unsigned mask = __ldcg(a_.entry_mask + entry);
      give(row, mask, sum_of(a_.out, begin, edges_end, 32, mask, above, dependency(row)));
    });
    finish_walk([&](NodeId entry) {
      const NodeId row = __ldcg(a_.entry_row + entry);
      const unsigned mask = __ldcg(a_.entry_mask + entry);
      sum_of_block(a_.out, row, mask, above, dependency(row), [&](double sum) { give(row, mask, sum); });
    });
  }

  /// In the order of the sources.
  __device__ void add_scores() const {
    for (NodeId row = thread_; row < n_; row += num_threads_) {
      const unsigned seen = __ldcg(a_.seen + row);
      double score = a_.score[row];
      for (unsigned s = 0; s < a_.num_sources; ++s) {
        if ((seen >> s & 1U) != 0 && a_.sources[s] != row)
          score += __ldcg(a_.dependency + std::size_t{row} * batch + s);
      }
      a_.score[row] = score;
    }
  }

  const Args& a_;
  double (&parts_)[warps_of_block][batch];
  NodeId n_;
  NodeId thread_;
  NodeId num_threads_;
  unsigned lane_;
  unsigned phase_ = 0;
};

__global__ void __launch_bounds__(block_threads, 2) betweenness_kernel(Args args) {
  __shared__ double parts[warps_of_block][batch];
  Brandes(args, parts).run();
}

__global__ void give_scores(NodeId n, const NodeId* new_id, const double* of_row, double scale, double* score) {
  const NodeId node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node < n) score[node] = of_row[new_id == nullptr ? node : new_id[node]] * scale;
}

}  // namespace

CudaBetweenness::CudaBetweenness(const PackedGraph& graph) : graph_(graph), device_(graph.device()), rows_(graph) {
  const std::size_t n = graph.num_nodes();
  if (n >= std::size_t{1} << 27U) {
    fail(ErrorCode::not_possible,
         "betweenness on a CUDA device: " + std::to_string(n) + " nodes, and there may be fewer than 2^27");
  }
  if (!graph.has_in()) transposed_ = transposed(graph);
  entry_row_ = Buffer<NodeId>(n * batch, device_);
  entry_mask_ = Buffer<unsigned>(n * batch, device_);
  level_begin_ = Buffer<NodeId>(n + 1, device_);
  long_entries_ = Buffer<NodeId>((graph.num_edges() / long_row + 1) * batch, device_);
  seen_ = Buffer<unsigned>(n, device_);
  front_ = Buffer<unsigned>(3 * n, device_);
  paths_ = Buffer<double>(n * batch, device_);
  dependency_ = Buffer<double>(n * batch, device_);
  score_ = Buffer<double>(n, device_);
  control_ = Buffer<unsigned>(sizeof(Control) / sizeof(unsigned), device_);
}

std::size_t CudaBetweenness::run(std::span<const NodeId> sources, double scale, double* score) {
  const NodeId n = graph_.num_nodes();
  std::vector<NodeId> rows;
  for (const NodeId source : sources) rows.push_back(graph_.row_of(source));
  const Buffer<NodeId> of_sources = Buffer<NodeId>::copy_of(rows, device_);
  score_.fill(0);
  control_.fill(~0U);
  auto* control = reinterpret_cast<Control*>(control_.data());
  const ScopedCudaDevice scope(device_.index());
  const cudaStream_t stream = stream_of(device_);
  for (std::size_t first = 0; first < rows.size(); first += batch) {
    device_.throw_if_stopped();
    seen_.fill(0);
    front_.fill(0);
    cuda_check(cudaMemsetAsync(control, 0, offsetof(Control, overflow), stream), "cudaMemsetAsync");
    const Args args{.out = rows_.out(),
                    .in = transposed_ ? transposed_->view() : rows_.in(),
                    .sources = of_sources.data() + first,
                    .num_sources = static_cast<unsigned>(std::min<std::size_t>(batch, rows.size() - first)),
                    .first_source = static_cast<unsigned>(first),
                    .entry_row = entry_row_.data(),
                    .entry_mask = entry_mask_.data(),
                    .level_begin = level_begin_.data(),
                    .long_entries = long_entries_.data(),
                    .seen = seen_.data(),
                    .front = {front_.data(), front_.data() + n, front_.data() + 2 * std::size_t{n}},
                    .paths = paths_.data(),
                    .dependency = dependency_.data(),
                    .score = score_.data(),
                    .control = control};
    launch_cooperative<block_threads>(device_, betweenness_kernel, std::size_t{n} * 32, args, "betweenness_kernel");
  }
  give_scores<<<blocks_for(n, small_threads), small_threads, 0, stream>>>(n, rows_.new_id(), score_.data(), scale,
                                                                          score);
  cuda_check_launch("give_scores");
  Control found{};
  Device::copy(&found, Device{}, control, device_, sizeof(found));
  return std::min<std::size_t>(found.overflow, sources.size());
}

std::size_t betweenness_scores(const Cuda&, const PackedGraph& graph, std::span<const NodeId> sources, double scale,
                               double* score) {
  return CudaBetweenness(graph).run(sources, scale, score);
}

}  // namespace bitgraph
