// SPDX-License-Identifier: Apache-2.0
// An iteration is a product, mxv over plus_times along in-edges, and one pass over the nodes. The sums over all nodes
// are taken by a fixed number of blocks and then in order, so a run gives the same bits again.
#include "graph/pagerank/device_pagerank.hpp"

#include "core/cuda.cuh"
#include "ops/cuda_row_sum.cuh"

#include <bitgraph/ops/mxv.hpp>
#include <bitgraph/ops/semiring.hpp>

#include <algorithm>
#include <variant>

namespace bitgraph {

namespace {

constexpr unsigned threads = 512;
constexpr EdgeOffset short_mean = 8;   ///< entries of a mean row up to which product and step are one kernel
constexpr unsigned most_blocks = 528;  ///< each adds up what it is given, however many processors there are
constexpr unsigned full_warp = 0xFFFFFFFFU;

/// Sums over all nodes after an iteration.
struct Totals {
  double change = 0;    ///< of the ranks
  double stranded = 0;  ///< rank of nodes without out-edges
  double rank = 0;
};

__device__ Totals operator+(const Totals& a, const Totals& b) {
  return {a.change + b.change, a.stranded + b.stranded, a.rank + b.rank};
}

__device__ Totals warp_sum(Totals mine) {
  for (unsigned step = 16; step != 0; step /= 2) {
    mine =
        mine + Totals{__shfl_down_sync(full_warp, mine.change, step), __shfl_down_sync(full_warp, mine.stranded, step),
                      __shfl_down_sync(full_warp, mine.rank, step)};
  }
  return mine;
}

/// The block's sum; thread 0 has it.
__device__ Totals block_sum(Totals mine) {
  __shared__ Totals warps[32];
  mine = warp_sum(mine);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x < 32) mine = warp_sum(threadIdx.x < threads / 32 ? warps[threadIdx.x] : Totals{});
  return mine;
}

/// Where blocks leave their sums; the last of them adds up all.
struct Gathering {
  Totals* partial = nullptr;  ///< one a block
  unsigned* done = nullptr;   ///< blocks that have left theirs; 0 between kernels
  Totals* totals = nullptr;   ///< of the last iteration until all blocks are done
};

__device__ void gather(const Gathering& into, Totals mine) {
  mine = block_sum(mine);
  __shared__ bool last;
  if (threadIdx.x == 0) {
    into.partial[blockIdx.x] = mine;
    __threadfence();
    last = atomicAdd(into.done, 1U) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  Totals all;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += threads) all = all + into.partial[b];
  __syncthreads();  // the sums of warps are used again
  all = block_sum(all);
  if (threadIdx.x == 0) {
    *into.totals = all;
    *into.done = 0;
  }
}

template <class T>
struct Nodes {
  NodeId n = 0;
  T* rank = nullptr;
  T* share = nullptr;           ///< what a node gives to each of its neighbours
  T* inverse_degree = nullptr;  ///< 0 where there are no out-edges
  const T* sum = nullptr;       ///< of the shares along in-edges
};

/// From the degrees, which lie in inverse_degree.
template <class T>
__global__ void invert(T* inverse_degree, NodeId n) {
  const NodeId i = blockIdx.x * threads + threadIdx.x;
  if (i < n)
    inverse_degree[i] = inverse_degree[i] == 0 ? T{0} : static_cast<T>(1 / static_cast<double>(inverse_degree[i]));
}

/// The start: equal ranks, or those of an iteration in another precision over their sum.
template <class T, class From>
__global__ void start(Nodes<T> nodes, const From* rank, Gathering sums) {
  Totals mine;
  for (NodeId i = blockIdx.x * threads + threadIdx.x; i < nodes.n; i += gridDim.x * threads) {
    const double value = rank == nullptr ? 1 / static_cast<double>(nodes.n) : rank[i] / sums.totals->rank;
    nodes.rank[i] = static_cast<T>(value);
    nodes.share[i] = nodes.rank[i] * nodes.inverse_degree[i];
    const double kept = nodes.rank[i];  // what rounding left of it
    mine = mine + Totals{0, nodes.inverse_degree[i] == 0 ? kept : 0, kept};
  }
  gather(sums, mine);
}

/// A node's rank and share after an iteration, from the sum of its neighbours' shares.
template <class T>
class Step {
 public:
  __device__ Step(const Nodes<T>& nodes, double damping, const Totals& before)
      : nodes_(nodes),
        base_(static_cast<T>((1 - damping + damping * before.stranded) / nodes.n)),
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

template <class T>
__global__ void step(Nodes<T> nodes, double damping, Gathering sums) {
  const Step<T> take(nodes, damping, *sums.totals);
  Totals mine;
  for (NodeId i = blockIdx.x * threads + threadIdx.x; i < nodes.n; i += gridDim.x * threads) {
    mine = mine + take(i, nodes.sum[i], nodes.share);
  }
  gather(sums, mine);
}

/// The product and the step in one, for short rows: a few lanes a row. With longer ones, too few loads are under way.
/// The new shares go where sums are else.
template <class T>
__global__ void __launch_bounds__(threads)
    pull_and_step(CsrPatternView in, Nodes<T> nodes, T* next_share, double damping, Gathering sums) {
  const Step<T> take(nodes, damping, *sums.totals);
  Totals mine;
  constexpr int row_lanes = 4;
  constexpr unsigned groups = 32 / row_lanes;
  const unsigned lane = threadIdx.x % 32;
  // A warp sums up 32 rows, a few at a time, and then steps them all together.
  for (NodeId first = (blockIdx.x * threads + threadIdx.x) / 32 * 32; first < nodes.n; first += gridDim.x * threads) {
    T sum_of_mine = 0;
    for (unsigned round = 0; round < row_lanes; ++round) {
      const NodeId row = first + round * groups + lane / row_lanes;
      T sum = 0;
      if (row < nodes.n) {
        sum = lane_sum_of_row<PlusTimes, T, row_lanes>(in, row, [&](NodeId j) { return __ldg(nodes.share + j); });
      }
      for (unsigned lanes = row_lanes / 2; lanes != 0; lanes /= 2) sum += __shfl_xor_sync(full_warp, sum, lanes);
      sum = __shfl_sync(full_warp, sum, static_cast<int>(lane % groups * row_lanes));
      if (lane / groups == round) sum_of_mine = sum;
    }
    if (first + lane < nodes.n) mine = mine + take(first + lane, sum_of_mine, next_share);
  }
  gather(sums, mine);
}

template <class T>
__global__ void give(double* out, const T* rank, const NodeId* row, NodeId n, const Totals* totals) {
  const NodeId i = blockIdx.x * threads + threadIdx.x;
  if (i < n) out[i] = rank[row == nullptr ? i : row[i]] / totals->rank;
}

template <class T>
struct State {
  Buffer<T> rank, share, inverse_degree, sum;

  void make(const PackedGraph& graph) {
    const Device& device = graph.device();
    const NodeId n = graph.num_nodes();
    rank = Buffer<T>(n, T{0}, device);
    share = Buffer<T>(n, device);
    sum = Buffer<T>(n, device);
    inverse_degree = Buffer<T>(n, device);
    std::visit([&](const auto& out) { mxv_into(inverse_degree, plus_pair, out, rank); }, graph.out());
    invert<<<blocks_for(n, threads), threads, 0, stream_of(device)>>>(inverse_degree.data(), n);
    cuda_check_launch("invert");
  }
  [[nodiscard]] Nodes<T> nodes() {
    return {static_cast<NodeId>(rank.size()), rank.data(), share.data(), inverse_degree.data(), sum.data()};
  }
};

class CudaPageRank final : public DevicePageRank {
 public:
  explicit CudaPageRank(const PackedGraph& graph)
      : graph_(graph), blocks_(std::min(blocks_for(graph.num_nodes(), threads), most_blocks)) {
    const Device& device = graph.device();
    const ScopedCudaDevice scope(device.index());
    const auto* csr = std::get_if<CsrPattern>(&graph.in());
    rows_are_short_ = csr != nullptr && csr->view().longest_row <= longest_short_row &&
                      csr->nvals() / std::max<NodeId>(graph.num_nodes(), 1) <= short_mean;
    partial_ = Buffer<Totals>(most_blocks, device);
    totals_ = Buffer<Totals>(1, device);
    done_ = Buffer<unsigned>(1, 0U, device);
    if (!graph.new_id().empty()) row_of_node_ = Buffer<NodeId>::copy_of(graph.new_id(), device);
    if (graph.num_nodes() != 0) single_.make(graph);
  }

  void run(PageRankResult& result, const PageRankOptions& options, double floor) override {
    const NodeId n = graph_.num_nodes();
    if (result.rank.size() != n) result.rank = Buffer<double>(n, graph_.device());
    result.iterations = 0;
    result.residual = 0;
    result.converged = n == 0;
    if (n == 0) return;
    const ScopedCudaDevice scope(graph_.device().index());
    const cudaStream_t stream = stream_of(graph_.device());
    const bool fixed = options.tolerance == 0;
    start<float, float><<<blocks_, threads, 0, stream>>>(single_.nodes(), nullptr, sums());
    cuda_check_launch("start");
    iterate(single_, result, options, fixed ? -1 : std::max(options.tolerance, floor));
    const bool widens = !fixed && options.tolerance < floor && result.iterations < options.max_iterations;
    if (widens) {
      if (double_.rank.size() != n) double_.make(graph_);
      start<<<blocks_, threads, 0, stream>>>(double_.nodes(), single_.rank.data(), sums());
      cuda_check_launch("start");
      iterate(double_, result, options, options.tolerance);
      store(double_, result);
    } else {
      store(single_, result);
    }
    if (result.iterations > 0) result.residual = totals().change;
    result.converged = result.iterations > 0 && result.residual <= options.tolerance;
  }

 private:
  [[nodiscard]] Gathering sums() { return {partial_.data(), done_.data(), totals_.data()}; }

  [[nodiscard]] Totals totals() const {
    Totals host;
    Device::copy(&host, Device{}, totals_.data(), graph_.device(), sizeof(Totals));
    return host;
  }

  /// Below 0, a tolerance is never reached, and the host does not wait for an iteration's end.
  template <class T>
  void iterate(State<T>& state, PageRankResult& result, const PageRankOptions& options, double tolerance) {
    for (bool goes_on = true; goes_on && result.iterations < options.max_iterations; ++result.iterations) {
      if (rows_are_short_) {
        pull_and_step_rows(state, options.damping);
      } else {
        std::visit([&](const auto& in) { mxv_into(state.sum, plus_times, in, state.share); }, graph_.in());
        step<<<blocks_, threads, 0, stream_of(graph_.device())>>>(state.nodes(), options.damping, sums());
        cuda_check_launch("step");
      }
      goes_on = tolerance < 0 || totals().change > tolerance;
    }
  }

  template <class T>
  void pull_and_step_rows(State<T>& state, double damping) {
    const CsrPatternView in = std::get<CsrPattern>(graph_.in()).view();
    pull_and_step<T>
        <<<most_blocks, threads, 0, stream_of(graph_.device())>>>(in, state.nodes(), state.sum.data(), damping, sums());
    cuda_check_launch("pull_and_step");
    state.share.swap(state.sum);
  }

  template <class T>
  void store(const State<T>& state, PageRankResult& result) {
    const NodeId n = graph_.num_nodes();
    give<<<blocks_for(n, threads), threads, 0, stream_of(graph_.device())>>>(
        result.rank.data(), state.rank.data(), row_of_node_.empty() ? nullptr : row_of_node_.data(), n, totals_.data());
    cuda_check_launch("give");
  }

  const PackedGraph& graph_;
  unsigned blocks_;
  bool rows_are_short_ = false;
  State<float> single_;
  State<double> double_;
  Buffer<Totals> partial_, totals_;
  Buffer<unsigned> done_;
  Buffer<NodeId> row_of_node_;
};

}  // namespace

std::unique_ptr<DevicePageRank> make_cuda_pagerank(const PackedGraph& graph) {
  return std::make_unique<CudaPageRank>(graph);
}

}  // namespace bitgraph
