// SPDX-License-Identifier: Apache-2.0
// Connected components in one cooperative launch: Afforest, with the steps of cpu.cpp. Every row first points to its
// smallest neighbour, without atomic operations. If that does not put nearly all rows into one component, the second
// neighbours are linked. Then the rows outside the largest component link all their edges.
#include "graph/components/cuda.cuh"

#include <bitgraph/graph/packed_graph.hpp>

#include <bitgraph/core/kernel.cuh>
#include "core/cuda/cooperative.cuh"
#include "graph/cuda_labels.cuh"

#include <cooperative_groups.h>

namespace bitgraph {

namespace {

namespace cg = cooperative_groups;

constexpr unsigned block_threads = 1024;
constexpr unsigned sample_size = block_threads;
constexpr unsigned nearly_all = sample_size * 9 / 10;
constexpr EdgeOffset lane_edges = 4;  ///< edges of a row that a lane takes on itself

class Forest {
 public:
  __device__ explicit Forest(const CudaComponentsArgs& args)
      : a_(args),
        n_(args.out.nrows),
        thread_(blockIdx.x * block_threads + threadIdx.x),
        num_threads_(gridDim.x * block_threads),
        lane_(threadIdx.x % 32) {}

  __device__ void run(NodeId (&roots)[sample_size], unsigned (&counts)[sample_size]) {
    const cg::grid_group grid = cg::this_grid();
    if (thread_ == 0) *a_.control = ComponentsControl{};
    link_first();
    grid.sync();
    compress();
    grid.sync();
    if (blockIdx.x == 0) sample(roots, counts);
    grid.sync();
    // First for some rows, evenly: most trees are one then, and the other rows find that out in few steps.
    for (const bool others : {false, true}) {
      if (__ldcg(&a_.control->share) >= nearly_all) break;
      link_second(others);
      grid.sync();
      compress();
      grid.sync();
      if (blockIdx.x == 0) sample(roots, counts);
      grid.sync();
    }
    // Where an edge is in one list only, leaving rows out would lose it.
    link_rest(a_.seen_from_both ? __ldcg(&a_.control->largest) : n_);
    grid.sync();
    if (const NodeId num_long = __ldcg(&a_.control->num_long); num_long != 0) {
      link_long(num_long);
      grid.sync();
    }
    count_roots(compress());
  }

 private:
  __device__ NodeId get(NodeId v) const { return __ldcg(a_.parent + v); }

  /// Joins the trees of two rows: the larger root points to the smaller one.
  __device__ void link(NodeId v, NodeId u) {
    NodeId x = get(v);
    NodeId y = get(u);
    while (x != y) {
      const NodeId high = max(x, y);
      const NodeId low = min(x, y);
      const NodeId above = get(high);
      if (above == low) return;
      if (above == high && atomicCAS(a_.parent + high, high, low) == high) return;
      x = get(get(high));
      y = get(low);
    }
  }

  __device__ void link_first() {
    for (NodeId v = thread_; v < n_; v += num_threads_) {
      const EdgeOffset begin = a_.out.row_ptr[v];
      a_.parent[v] = begin == a_.out.row_ptr[v + 1] ? v : min(v, __ldg(a_.out.col_ind + begin));
    }
  }

  /// Whole warps take part or not: rows that stand together are read together.
  __device__ void link_second(bool others) {
    for (NodeId v = thread_; v < n_; v += num_threads_) {
      if ((v / 32 % 8 != 0) != others) continue;
      const EdgeOffset begin = a_.out.row_ptr[v];
      if (begin + 1 < a_.out.row_ptr[v + 1]) link(v, __ldg(a_.out.col_ind + begin + 1));
    }
  }

  /// Makes every row point to its root; the number of roots that this thread has seen. All rows climb at a time and
  /// leave what they find at every step, so a path of any length is done in a logarithm of steps. Nobody links
  /// meanwhile: what the nearest cache has is an ancestor still, and first looks there spare the few roots a rush.
  __device__ NodeId compress() {
    constexpr unsigned first_looks = 2;
    NodeId roots = 0;
    for (NodeId v = thread_; v < n_; v += num_threads_) {
      NodeId parent = a_.parent[v];
      NodeId above = a_.parent[parent];
      roots += parent == v ? 1 : 0;
      for (unsigned look = 1; above != parent; ++look) {
        a_.parent[v] = above;
        parent = above;
        above = look < first_looks ? a_.parent[parent] : get(parent);
      }
    }
    return roots;
  }

  /// The root that most of an even sample of the rows have.
  __device__ void sample(NodeId (&roots)[sample_size], unsigned (&counts)[sample_size]) {
    const unsigned t = threadIdx.x;
    const NodeId root = get(static_cast<NodeId>(std::uint64_t{n_} * t / sample_size));
    roots[t] = n_;
    counts[t] = 0;
    __syncthreads();
    unsigned at = root * 2654435769U >> 22U;  // a table of the roots
    static_assert(sample_size == 1U << 10U);
    while (true) {
      const NodeId there = atomicCAS(&roots[at], n_, root);
      if (there == n_ || there == root) break;
      at = (at + 1) % sample_size;
    }
    atomicAdd(&counts[at], 1U);
    __syncthreads();
    // Of equals the smallest root, so that every run does the same.
    auto best = static_cast<unsigned long long>(counts[t]) << 32U | (0xFFFFFFFFU - roots[t]);
    for (unsigned step = 16; step != 0; step /= 2) best = max(best, __shfl_xor_sync(full_warp, best, step));
    __shared__ unsigned long long of_warp[block_threads / 32];
    if (lane_ == 0) of_warp[t / 32] = best;
    __syncthreads();
    if (t != 0) return;
    for (unsigned w = 1; w < block_threads / 32; ++w) best = max(best, of_warp[w]);
    a_.control->share = static_cast<NodeId>(best >> 32U);
    a_.control->largest = 0xFFFFFFFFU - static_cast<NodeId>(best);
  }

  __device__ void link_rest(NodeId largest) {
    for (NodeId first = thread_ - lane_; first < n_; first += num_threads_) {
      const NodeId v = first + lane_;
      const bool left_out = v >= n_ || get(v) == largest;
      if (__all_sync(full_warp, left_out)) continue;
      link_rows(a_.out, v, left_out);
      if (a_.both) link_rows(a_.in, v, left_out);
    }
  }

  /// The edges of a row a lane: few by the lane itself, more by the warp, very many later by everybody.
  __device__ void link_rows(const CsrPatternView& a, NodeId v, bool left_out) {
    const EdgeOffset begin = left_out ? 0 : a.row_ptr[v];
    const EdgeOffset end = left_out ? 0 : a.row_ptr[v + 1];
    if (end - begin <= lane_edges) {
      for (EdgeOffset e = begin; e < end; ++e) link(v, __ldg(a.col_ind + e));
    } else if (end - begin > components_long_row) {
      // A row may stand here twice, once for either direction: then it is done twice.
      a_.long_rows[atomicAdd(&a_.control->num_long, 1U)] = v;
    }
    const bool is_shared = end - begin > lane_edges && end - begin <= components_long_row;
    for (unsigned rest = __ballot_sync(full_warp, is_shared); rest != 0; rest &= rest - 1) {
      const int owner = __ffs(static_cast<int>(rest)) - 1;
      const EdgeOffset from = __shfl_sync(full_warp, begin, owner);
      const EdgeOffset to = __shfl_sync(full_warp, end, owner);
      const NodeId row = __shfl_sync(full_warp, v, owner);
      for (EdgeOffset e = from + lane_; e < to; e += 32) link(row, __ldg(a.col_ind + e));
    }
  }

  __device__ void link_long(NodeId num_long) {
    for (NodeId i = 0; i < num_long; ++i) {
      const NodeId v = __ldcg(a_.long_rows + i);
      for (EdgeOffset e = a_.out.row_ptr[v] + thread_; e < a_.out.row_ptr[v + 1]; e += num_threads_)
        link(v, __ldg(a_.out.col_ind + e));
      if (!a_.both) continue;
      for (EdgeOffset e = a_.in.row_ptr[v] + thread_; e < a_.in.row_ptr[v + 1]; e += num_threads_)
        link(v, __ldg(a_.in.col_ind + e));
    }
  }

  __device__ void count_roots(NodeId roots) {
    __shared__ NodeId of_block;
    if (threadIdx.x == 0) of_block = 0;
    __syncthreads();
    roots = __reduce_add_sync(full_warp, roots);
    if (lane_ == 0 && roots != 0) atomicAdd(&of_block, roots);
    __syncthreads();
    if (threadIdx.x == 0 && of_block != 0) atomicAdd(&a_.control->count, of_block);
  }

  const CudaComponentsArgs& a_;
  NodeId n_;
  NodeId thread_;
  NodeId num_threads_;
  unsigned lane_;
};

__global__ void __launch_bounds__(block_threads, 2) components_kernel(CudaComponentsArgs args) {
  __shared__ NodeId roots[sample_size];
  __shared__ unsigned counts[sample_size];
  Forest(args).run(roots, counts);
}

}  // namespace

void launch_components(const Device& device, const CudaComponentsArgs& args) {
  launch_cooperative<block_threads>(device, &components_kernel, args.out.nrows, args, "components_kernel");
}

CudaComponents::CudaComponents(const PackedGraph& graph)
    : device_(graph.device()),
      rows_(graph),
      symmetric_(graph.symmetric()),
      has_in_(graph.has_in()),
      long_rows_(2 * (graph.num_edges() / components_long_row) + 1, device_),
      control_(1, device_) {
  if (rows_.new_id() == nullptr) return;
  parent_ = Buffer<NodeId>(graph.num_nodes(), device_);
  smallest_ = Buffer<NodeId>(graph.num_nodes(), device_);
}

NodeId CudaComponents::run(NodeId* label) {
  const NodeId n = rows_.out().nrows;
  if (n == 0) return 0;
  const bool reordered = rows_.new_id() != nullptr;
  const CudaComponentsArgs args{.out = rows_.out(),
                                .in = rows_.in(),
                                .both = has_in_ && !symmetric_,
                                .seen_from_both = symmetric_ || has_in_,
                                .parent = reordered ? parent_.data() : label,
                                .long_rows = long_rows_.data(),
                                .control = control_.data()};
  launch_components(device_, args);
  if (reordered) {
    give_smallest_labels(device_, n, rows_.new_id(), parent_.data(), smallest_.data(), label);
  }
  ComponentsControl found{};
  Device::copy(&found, Device{}, control_.data(), device_, sizeof(found));
  return found.count;
}

std::unique_ptr<ComponentsEngine> make_components_engine(const Cuda&, const PackedGraph& graph) {
  return std::make_unique<CudaComponents>(graph);
}

}  // namespace bitgraph
