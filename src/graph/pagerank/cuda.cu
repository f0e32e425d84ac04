// SPDX-License-Identifier: Apache-2.0
// An iteration is a product, mxv over plus_times along in-edges, and one pass over the nodes. The sums over all nodes
// are taken in blocks of one size and then in order, so a run gives the same bits again.
#include "graph/pagerank/device_pagerank.hpp"

#include "core/cuda.cuh"

#include <bitgraph/ops/mxv.hpp>

#include <algorithm>
#include <variant>

namespace bitgraph {

namespace {

constexpr unsigned threads = 512;
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

/// The block's sum; thread 0 has it.
__device__ Totals block_sum(Totals mine) {
  __shared__ Totals warps[threads / 32];
  for (unsigned step = 16; step != 0; step /= 2) {
    mine =
        mine + Totals{__shfl_down_sync(full_warp, mine.change, step), __shfl_down_sync(full_warp, mine.stranded, step),
                      __shfl_down_sync(full_warp, mine.rank, step)};
  }
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
  __syncthreads();
  for (unsigned w = 1; threadIdx.x == 0 && w < threads / 32; ++w) mine = mine + warps[w];
  return mine;
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
__global__ void start(Nodes<T> nodes, const From* rank, const Totals* totals, Totals* partial) {
  const NodeId i = blockIdx.x * threads + threadIdx.x;
  Totals mine;
  if (i < nodes.n) {
    const double value = rank == nullptr ? 1 / static_cast<double>(nodes.n) : rank[i] / totals->rank;
    nodes.rank[i] = static_cast<T>(value);
    nodes.share[i] = nodes.rank[i] * nodes.inverse_degree[i];
    const double kept = nodes.rank[i];  // what rounding left of it
    mine = {0, nodes.inverse_degree[i] == 0 ? kept : 0, kept};
  }
  mine = block_sum(mine);
  if (threadIdx.x == 0) partial[blockIdx.x] = mine;
}

template <class T>
__global__ void step(Nodes<T> nodes, double damping, const Totals* before, Totals* partial) {
  const NodeId i = blockIdx.x * threads + threadIdx.x;
  Totals mine;
  if (i < nodes.n) {
    const T base = static_cast<T>((1 - damping + damping * before->stranded) / nodes.n);
    const T old = nodes.rank[i];
    const T now = base + static_cast<T>(damping) * nodes.sum[i];
    nodes.rank[i] = now;
    nodes.share[i] = now * nodes.inverse_degree[i];
    mine = {fabs(static_cast<double>(now) - old), nodes.inverse_degree[i] == 0 ? static_cast<double>(now) : 0, now};
  }
  mine = block_sum(mine);
  if (threadIdx.x == 0) partial[blockIdx.x] = mine;
}

/// One block adds up what the others have.
__global__ void add_up(const Totals* partial, unsigned count, Totals* totals) {
  Totals mine;
  for (unsigned b = threadIdx.x; b < count; b += threads) mine = mine + partial[b];
  mine = block_sum(mine);
  if (threadIdx.x == 0) *totals = mine;
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
  explicit CudaPageRank(const PackedGraph& graph) : graph_(graph), blocks_(blocks_for(graph.num_nodes(), threads)) {
    const Device& device = graph.device();
    const ScopedCudaDevice scope(device.index());
    partial_ = Buffer<Totals>(blocks_, device);
    totals_ = Buffer<Totals>(1, device);
    out_ = Buffer<double>(graph.num_nodes(), device);
    if (!graph.new_id().empty()) row_of_node_ = Buffer<NodeId>::copy_of(graph.new_id(), device);
    if (graph.num_nodes() != 0) single_.make(graph);
  }

  void run(PageRankResult& result, const PageRankOptions& options, double floor) override {
    const NodeId n = graph_.num_nodes();
    if (result.rank.size() != n) result.rank = Buffer<double>(n);
    result.iterations = 0;
    result.residual = 0;
    result.converged = n == 0;
    if (n == 0) return;
    const ScopedCudaDevice scope(graph_.device().index());
    const cudaStream_t stream = stream_of(graph_.device());
    const bool fixed = options.tolerance == 0;
    start<float, float><<<blocks_, threads, 0, stream>>>(single_.nodes(), nullptr, nullptr, partial_.data());
    add_up_totals();
    iterate(single_, result, options, fixed ? -1 : std::max(options.tolerance, floor));
    const bool widens = !fixed && options.tolerance < floor && result.iterations < options.max_iterations;
    if (widens) {
      if (double_.rank.size() != n) double_.make(graph_);
      start<<<blocks_, threads, 0, stream>>>(double_.nodes(), single_.rank.data(), totals_.data(), partial_.data());
      add_up_totals();
      iterate(double_, result, options, options.tolerance);
      store(double_);
    } else {
      store(single_);
    }
    Device::copy(result.rank.data(), Device{}, out_.data(), graph_.device(), out_.bytes());
    if (result.iterations > 0) result.residual = totals().change;
    result.converged = result.iterations > 0 && result.residual <= options.tolerance;
  }

 private:
  void add_up_totals() {
    add_up<<<1, threads, 0, stream_of(graph_.device())>>>(partial_.data(), blocks_, totals_.data());
    cuda_check_launch("add_up");
  }

  [[nodiscard]] Totals totals() const {
    Totals host;
    Device::copy(&host, Device{}, totals_.data(), graph_.device(), sizeof(Totals));
    return host;
  }

  /// Below 0, a tolerance is never reached, and the host does not wait for an iteration's end.
  template <class T>
  void iterate(State<T>& state, PageRankResult& result, const PageRankOptions& options, double tolerance) {
    for (bool goes_on = true; goes_on && result.iterations < options.max_iterations; ++result.iterations) {
      std::visit([&](const auto& in) { mxv_into(state.sum, plus_times, in, state.share); }, graph_.in());
      step<<<blocks_, threads, 0, stream_of(graph_.device())>>>(state.nodes(), options.damping, totals_.data(),
                                                                partial_.data());
      cuda_check_launch("step");
      add_up_totals();
      goes_on = tolerance < 0 || totals().change > tolerance;
    }
  }

  template <class T>
  void store(const State<T>& state) {
    const NodeId n = graph_.num_nodes();
    give<<<blocks_for(n, threads), threads, 0, stream_of(graph_.device())>>>(
        out_.data(), state.rank.data(), row_of_node_.empty() ? nullptr : row_of_node_.data(), n, totals_.data());
    cuda_check_launch("give");
  }

  const PackedGraph& graph_;
  unsigned blocks_;
  State<float> single_;
  State<double> double_;
  Buffer<Totals> partial_, totals_;
  Buffer<double> out_;
  Buffer<NodeId> row_of_node_;
};

}  // namespace

std::unique_ptr<DevicePageRank> make_cuda_pagerank(const PackedGraph& graph) {
  return std::make_unique<CudaPageRank>(graph);
}

}  // namespace bitgraph
