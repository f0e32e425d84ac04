// SPDX-License-Identifier: Apache-2.0
// An iteration is a product, mxv over plus_times along in-edges, and one pass over the nodes. See pagerank.cpp for the
// other ways. If all rows are short, one kernel runs all iterations (cuda_short_rows.cu). Large graphs in single
// precision run over strips (cuda_strips.cu).
#include "graph/pagerank/engine.hpp"

#include "graph/pagerank/cuda_short_rows.cuh"
#include "graph/pagerank/cuda_strips.cuh"
#include "graph/pagerank/row_sum.cuh"

#include <bitgraph/graph/pagerank.hpp>
#include <bitgraph/ops/mxv.hpp>
#include <bitgraph/ops/semiring.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace bitgraph {

namespace {

using namespace pagerank_cuda;

constexpr unsigned threads = 512;
constexpr EdgeOffset short_mean = 8;  ///< entries of a mean row up to which product and step are one kernel

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
  gather<threads>(sums, mine);
}

template <class T>
__global__ void step(Nodes<T> nodes, double damping, Gathering sums) {
  const Step<T> take(nodes, damping, sums.totals->stranded);
  Totals mine;
  for (NodeId i = blockIdx.x * threads + threadIdx.x; i < nodes.n; i += gridDim.x * threads) {
    mine = mine + take(i, nodes.sum[i], nodes.share);
  }
  gather<threads>(sums, mine);
}

/// The product and the step in one, for short rows: a few lanes a row. With longer ones, too few loads are under way.
/// The new shares go where sums are else.
template <class T>
__global__ void __launch_bounds__(threads)
    pull_and_step(CsrPatternView in, Nodes<T> nodes, T* next_share, double damping, Gathering sums) {
  const Step<T> take(nodes, damping, sums.totals->stranded);
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
      sum = warp_sum(sum, row_lanes);
      sum = __shfl_sync(full_warp, sum, static_cast<int>(lane % groups * row_lanes));
      if (lane / groups == round) sum_of_mine = sum;
    }
    if (first + lane < nodes.n) mine = mine + take(first + lane, sum_of_mine, next_share);
  }
  gather<threads>(sums, mine);
}

template <class T>
__global__ void give(double* out, const T* rank, const NodeId* row, NodeId n, const Totals* totals) {
  const NodeId i = blockIdx.x * threads + threadIdx.x;
  if (i < n) out[i] = rank[row == nullptr ? i : row[i]] / totals->rank;
}

template <class T>
struct State {
  Buffer<T> rank, share, inverse_degree, sum;

  void make(const PackedGraph& graph, bool over_table) {
    const Device& device = graph.device();
    const NodeId n = graph.num_nodes();
    rank = Buffer<T>(n, T{0}, device);
    inverse_degree = Buffer<T>(n, device);
    std::visit([&](const auto& out) { mxv_into(inverse_degree, plus_pair, out, rank); }, graph.out());
    invert<<<blocks_for(n, threads), threads, 0, stream_of(device)>>>(inverse_degree.data(), n);
    cuda_check_launch("invert");
    // A column that is not there is one more, whose share is 0.
    const std::size_t columns = std::size_t{n} + (over_table ? 1 : 0);
    share = Buffer<T>(columns, T{0}, device);
    sum = Buffer<T>(columns, T{0}, device);
  }
  [[nodiscard]] Nodes<T> nodes() {
    return {static_cast<NodeId>(rank.size()), rank.data(), share.data(), inverse_degree.data(), sum.data()};
  }
};

/// Iterations over strips, in single precision.
struct StripState {
  StripLayout layout;
  Buffer<float> rank, share, inverse_degree, next_share, piece_sum;

  StripState(StripLayout made, const CsrPatternView& out, const Device& device) : layout(std::move(made)) {
    const StripView a = layout.view();
    const std::size_t places = a.deal.num_places();
    rank = Buffer<float>(places, 0.0F, device);
    inverse_degree = Buffer<float>(places, 0.0F, device);
    share = Buffer<float>(places + 4, 0.0F, device);
    next_share = Buffer<float>(places + 4, 0.0F, device);
    piece_sum = Buffer<float>(a.num_pieces, device);
    layout.invert_degrees(out, inverse_degree.data());
  }
  [[nodiscard]] Nodes<float> nodes() {
    return {layout.view().deal.n, rank.data(), share.data(), inverse_degree.data(), nullptr};
  }
};

class CudaPageRank final : public PageRankEngine {
 public:
  explicit CudaPageRank(const PackedGraph& graph)
      : graph_(graph), blocks_(std::min(blocks_for(graph.num_nodes(), threads), most_blocks)) {
    const Device& device = graph.device();
    const ScopedCudaDevice scope(device.index());
    partial_ = Buffer<Totals>(2 * most_blocks, device);
    totals_ = Buffer<Totals>(1, device);
    done_ = Buffer<unsigned>(1, 0U, device);
    iterations_ = Buffer<int>(1, device);
    if (!graph.new_id().empty()) row_of_node_ = Buffer<NodeId>::copy_of(graph.new_id(), device);
    if (graph.num_nodes() == 0) return;
    choose_way();
    if (strips_) {
      single_.rank = Buffer<float>(graph.num_nodes(), device);
    } else {
      single_.make(graph, width_ != 0);
    }
  }

  void run(PageRankResult& result, const PageRankOptions& options) override {
    const NodeId n = graph_.num_nodes();
    const double floor = single_precision_floor(options.damping);
    result.iterations = 0;
    result.residual = 0;
    result.converged = n == 0;
    if (n == 0) return;
    const ScopedCudaDevice scope(graph_.device().index());
    const bool fixed = options.tolerance == 0;
    run_single(result, options, fixed ? -1 : std::max(options.tolerance, floor));
    const bool widens = !fixed && options.tolerance < floor && result.iterations < options.max_iterations;
    if (widens) {
      if (double_.rank.size() != n) double_.make(graph_, width_ != 0);
      start<<<blocks_, threads, 0, stream()>>>(double_.nodes(), single_.rank.data(), sums());
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
  [[nodiscard]] cudaStream_t stream() const { return stream_of(graph_.device()); }
  [[nodiscard]] Gathering sums() { return {partial_.data(), done_.data(), totals_.data()}; }

  [[nodiscard]] Totals totals() const {
    Totals host;
    Device::copy(&host, Device{}, totals_.data(), graph_.device(), sizeof(Totals));
    return host;
  }

  void choose_way() {
    const auto* in = std::get_if<CsrPattern>(&graph_.in());
    const auto* out = std::get_if<CsrPattern>(&graph_.out());
    if (in == nullptr || out == nullptr) return;
    const Device& device = graph_.device();
    width_ = width_of_short_rows(in->view());
    if (width_ != 0) {
      short_rows_ = Buffer<NodeId>(std::size_t{width_} * in->nrows(), device);
      pack_short_rows(device, in->view(), width_, short_rows_.data());
      return;
    }
    rows_are_short_ = in->view().longest_row <= longest_short_row && in->nvals() / in->nrows() <= short_mean;
    if (auto layout = StripLayout::make(device, in->view(), out->view())) {
      strips_.emplace(std::move(*layout), out->view(), device);
    }
  }

  void run_single(PageRankResult& result, const PageRankOptions& options, double tolerance) {
    if (strips_) {
      strips_->layout.start(strips_->nodes(), sums());
      repeat(result, options, tolerance, [&] { step_over_strips(options.damping); });
      strips_->layout.order(strips_->rank.data(), single_.rank.data());
      return;
    }
    start<float, float><<<blocks_, threads, 0, stream()>>>(single_.nodes(), nullptr, sums());
    cuda_check_launch("start");
    iterate(single_, result, options, tolerance);
  }

  /// Below 0, a tolerance is never reached, and the host does not wait for an iteration's end.
  template <class Iteration>
  void repeat(PageRankResult& result, const PageRankOptions& options, double tolerance, Iteration&& iteration) {
    for (bool goes_on = true; goes_on && result.iterations < options.max_iterations; ++result.iterations) {
      graph_.device().throw_if_stopped();
      iteration();
      goes_on = tolerance < 0 || totals().change > tolerance;
    }
  }

  template <class T>
  void iterate(State<T>& state, PageRankResult& result, const PageRankOptions& options, double tolerance) {
    if (width_ != 0) return iterate_short_rows(state, result, options, tolerance);
    repeat(result, options, tolerance, [&] {
      if (rows_are_short_) return pull_and_step_rows(state, options.damping);
      std::visit([&](const auto& in) { mxv_into(state.sum, plus_times, in, state.share); }, graph_.in());
      step<<<blocks_, threads, 0, stream()>>>(state.nodes(), options.damping, sums());
      cuda_check_launch("step");
    });
  }

  template <class T>
  void iterate_short_rows(State<T>& state, PageRankResult& result, const PageRankOptions& options, double tolerance) {
    const int most = options.max_iterations - result.iterations;
    if (most <= 0) return;
    launch_short_rows(graph_.device(),
                      ShortRows<T>{short_rows_.data(), width_, state.nodes(), state.sum.data(), options.damping,
                                   tolerance, most, partial_.data(), totals_.data(), iterations_.data()});
    result.iterations += tolerance < 0 ? most : iterations_.to(Device{})[0];
  }

  template <class T>
  void pull_and_step_rows(State<T>& state, double damping) {
    const CsrPatternView in = std::get<CsrPattern>(graph_.in()).view();
    pull_and_step<T><<<most_blocks, threads, 0, stream()>>>(in, state.nodes(), state.sum.data(), damping, sums());
    cuda_check_launch("pull_and_step");
    state.share.swap(state.sum);
  }

  void step_over_strips(double damping) {
    StripState& state = *strips_;
    launch_strips(graph_.device(), {state.layout.view(), state.nodes(), state.next_share.data(), state.piece_sum.data(),
                                    damping, sums()});
    state.share.swap(state.next_share);
  }

  template <class T>
  void store(const State<T>& state, PageRankResult& result) {
    const NodeId n = graph_.num_nodes();
    give<<<blocks_for(n, threads), threads, 0, stream()>>>(
        result.rank.data(), state.rank.data(), row_of_node_.empty() ? nullptr : row_of_node_.data(), n, totals_.data());
    cuda_check_launch("give");
  }

  const PackedGraph& graph_;
  unsigned blocks_;
  // How an iteration goes: over strips, by a table of short rows of this width, by one kernel for short rows, or by a
  // product.
  std::optional<StripState> strips_;
  unsigned width_ = 0;
  bool rows_are_short_ = false;
  Buffer<NodeId> short_rows_;
  State<float> single_;
  State<double> double_;
  Buffer<Totals> partial_, totals_;
  Buffer<unsigned> done_;
  Buffer<int> iterations_;
  Buffer<NodeId> row_of_node_;
};

}  // namespace

std::unique_ptr<PageRankEngine> make_pagerank_engine(const Cuda&, const PackedGraph& graph, const PageRankOptions&) {
  return std::make_unique<CudaPageRank>(graph);
}

}  // namespace bitgraph
