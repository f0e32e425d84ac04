// SPDX-License-Identifier: Apache-2.0
// PageRank by power iteration (Brin and Page 1998; Bit-GraphBLAS, section V: mxv over plus-times).
//
// The idea. All nodes start with the same rank. In each iteration a node gives an equal share of its rank to each of
// its out-neighbours, and receives the shares of its in-neighbours. The rank of nodes without out-edges goes to all
// nodes equally. The iteration stops when the sum of the changes is at most the tolerance, or after max_iterations.
//
// Encoding. The in-edges are a pattern CSR or a matrix of bit tiles, without values. The weight of an edge is 1 over
// the out-degree of its source, so the kernel multiplies a rank by inverse_degree once and gathers the products
// (`share`). Ranks are in single precision. If the tolerance is below single_precision_floor(), the iteration goes on
// in double precision from where single precision ends.
//
// Reproducible sums. Sums over all nodes go block by block (pagerank_block rows), then over the blocks in order. The
// result is the same for every number of threads.
//
// Methods.
//   host   cpu_step.cpp fuses the product and the update of a block of rows. Over pattern CSR it gathers shares. Over
//          tiles it loads the shares of a tile as one run and adds them where the bits are set.
//   CUDA   cuda.cu chooses between four ways. If all rows fit a narrow table, one kernel runs all iterations
//          (cuda_short_rows.cu). Otherwise single precision runs over strips in shared memory where their layout pays
//          (cuda_strips.cu). Else, if rows are short (longest_short_row, short_mean), one kernel an iteration does the
//          product and the update. Else an iteration is an mxv and one pass over the nodes.
#include "graph/pagerank/pagerank.hpp"

#include <bitgraph/graph/pagerank.hpp>

#include <bitgraph/ops/semiring.hpp>

#include "core/threads/parallel.hpp"
#include "formats/rows.hpp"
#include "graph/pagerank/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace bitgraph {

namespace {

constexpr std::size_t grain = std::size_t{1} << 12;
constexpr std::size_t padding = 64;  // whole tiles of every side, whole vectors

std::size_t num_blocks(const PackedGraph& graph) {
  return (std::size_t{graph.num_nodes()} + pagerank_block - 1) / pagerank_block;
}

/// Sum of value(i) over [0, n), block by block, so that the number of threads does not show.
template <class Value>
double block_sum(const Device& device, std::size_t n, std::span<double> partial, const Value& value) {
  const std::size_t blocks = (n + pagerank_block - 1) / pagerank_block;
  parallel_for(device, blocks, 16, [&](std::size_t block) {
    double sum = 0;
    for (std::size_t i = block * pagerank_block; i < std::min(n, (block + 1) * pagerank_block); ++i) sum += value(i);
    partial[block] = sum;
  });
  double sum = 0;
  for (std::size_t block = 0; block < blocks; ++block) sum += partial[block];
  return sum;
}

/// 1 over the number of out-edges of every row; 0 where there are none.
template <class T>
void invert_degrees(const PackedGraph& graph, Buffer<T>& inverse) {
  with_view(graph.out(), [&](const auto& out) {
    parallel_ranges(graph.device(), out.nrows, grain, [&](Range range) {
      for (std::size_t i = range.begin; i < range.end; ++i) {
        EdgeOffset degree = 0;
        for_each_entry(out, static_cast<NodeId>(i), [&](NodeId) { ++degree; });
        inverse[i] = degree == 0 ? T{0} : static_cast<T>(1 / static_cast<double>(degree));
      }
    });
  });
}

/// State of the iteration in one precision; values of rows, padded to whole tiles.
template <class T>
struct State {
  Buffer<T> rank, inverse_degree, share, next_share;

  void allocate(const PackedGraph& graph) {
    const std::size_t padded = (std::size_t{graph.num_nodes()} + padding - 1) / padding * padding;
    for (Buffer<T>* values : {&rank, &inverse_degree, &share, &next_share})
      *values = Buffer<T>(padded, T{0}, graph.device());
    invert_degrees(graph, inverse_degree);
  }
};

template <class Backend>
class HostPageRank final : public PageRankEngine {
 public:
  HostPageRank(const Backend& backend, const PackedGraph& graph, const PageRankOptions& options)
      : backend_(backend), graph_(graph), partial_(2 * num_blocks(graph), graph.device()) {
    single_.allocate(graph);
    if (options.tolerance != 0 && options.tolerance < single_precision_floor(options.damping)) double_.allocate(graph);
  }

  void run(PageRankResult& result, const PageRankOptions& options) override {
    const std::size_t n = graph_.num_nodes();
    result.iterations = 0;
    result.residual = n == 0 ? 0 : unreached<double>();
    start(n == 0 ? 0 : 1 / static_cast<double>(n));
    // Never to stop early, a tolerance that no change is below.
    const double tolerance = options.tolerance == 0 ? -1 : options.tolerance;
    const double floor = single_precision_floor(options.damping);
    iterate(single_, result, options, tolerance < 0 ? tolerance : std::max(tolerance, floor));
    if (double_.rank.size() != 0 && result.iterations < options.max_iterations) {
      widen();
      result.residual = unreached<double>();
      iterate(double_, result, options, tolerance);
      store(double_, result.rank);
    } else {
      store(single_, result.rank);
    }
    if (options.max_iterations == 0) result.residual = 0;
    result.converged = n == 0 || (result.iterations > 0 && result.residual <= options.tolerance);
  }

 private:
  void start(double equal) {
    stranded_ = block_sum(graph_.device(), graph_.num_nodes(), partial_.span(), [&](std::size_t i) {
      single_.rank[i] = static_cast<float>(equal);
      single_.share[i] = static_cast<float>(equal) * single_.inverse_degree[i];
      return single_.inverse_degree[i] == 0 ? equal : 0;
    });
  }

  template <class T>
  void iterate(State<T>& state, PageRankResult& result, const PageRankOptions& options, double tolerance) {
    const double n = graph_.num_nodes();
    while (result.iterations < options.max_iterations && !(result.residual <= tolerance)) {
      graph_.device().throw_if_stopped();
      const double base = (1 - options.damping) / n + options.damping * stranded_ / n;
      with_view(graph_.in(), [&](const auto& in) {
        using Graph = std::remove_cvref_t<decltype(in)>;
        pagerank_step(backend_, PageRankArgs<Graph, T>{in, static_cast<T>(base), static_cast<T>(options.damping),
                                                       state.inverse_degree.data(), state.share.data(),
                                                       state.next_share.data(), state.rank.data(), partial_.data()});
      });
      state.share.swap(state.next_share);
      result.residual = stranded_ = 0;
      for (std::size_t block = 0; block < num_blocks(graph_); ++block) {
        result.residual += partial_[2 * block];
        stranded_ += partial_[2 * block + 1];
      }
      ++result.iterations;
    }
  }

  /// Goes on in double precision from where single precision ends.
  void widen() {
    const std::size_t n = graph_.num_nodes();
    const double sum =
        block_sum(graph_.device(), n, partial_.span(), [&](std::size_t i) { return double{single_.rank[i]}; });
    stranded_ = block_sum(graph_.device(), n, partial_.span(), [&](std::size_t i) {
      double_.rank[i] = single_.rank[i] / sum;
      double_.share[i] = double_.rank[i] * double_.inverse_degree[i];
      return double_.inverse_degree[i] == 0 ? double_.rank[i] : 0;
    });
  }

  template <class T>
  void store(const State<T>& state, Buffer<double>& rank) {
    const std::size_t n = graph_.num_nodes();
    const double sum =
        block_sum(graph_.device(), n, partial_.span(), [&](std::size_t i) { return double{state.rank[i]}; });
    parallel_for(graph_.device(), n, grain,
                 [&](std::size_t i) { rank[graph_.node_of(static_cast<NodeId>(i))] = state.rank[i] / sum; });
  }

  Backend backend_;
  const PackedGraph& graph_;
  State<float> single_;
  State<double> double_;    ///< only where the tolerance asks for it
  Buffer<double> partial_;  ///< change and stranded rank of every block of rows
  double stranded_ = 0;     ///< rank of nodes without out-edges
};

template <class Backend>
std::unique_ptr<PageRankEngine> make_pagerank_engine(const Backend& backend, const PackedGraph& graph,
                                                     const PageRankOptions& options) {
  return std::make_unique<HostPageRank<Backend>>(backend, graph, options);
}

}  // namespace

PageRank::PageRank(const PackedGraph& graph, const PageRankOptions& options) : graph_(&graph), options_(options) {
  require(options.damping >= 0 && options.damping < 1, "PageRank: the damping must be at least 0 and below 1");
  require(options.tolerance >= 0, "PageRank: the tolerance must not be negative");
  require(options.max_iterations >= 0, "PageRank: the number of iterations must not be negative");
  static_cast<void>(graph.in());
  engine_ = with_backend(graph.device(), "PageRank",
                         [&](const auto& backend) { return make_pagerank_engine(backend, graph, options); });
}
PageRank::PageRank(PageRank&&) noexcept = default;
PageRank& PageRank::operator=(PageRank&&) noexcept = default;
PageRank::~PageRank() = default;

const PageRankResult& PageRank::run() {
  graph_->device().throw_if_stopped();
  allocate_result(result_.rank, graph_->num_nodes(), graph_->device());
  engine_->run(result_, options_);
  return result_;
}

PageRankResult pagerank(const PackedGraph& graph, const PageRankOptions& options) {
  PageRank iteration(graph, options);
  iteration.run();
  return iteration.take();
}

}  // namespace bitgraph
