// SPDX-License-Identifier: Apache-2.0
#include "graph/pagerank/pagerank.hpp"

#include <bitgraph/graph/pagerank.hpp>

#include <bitgraph/ops/semiring.hpp>

#include "core/parallel.hpp"
#include "formats/rows.hpp"
#include "graph/pagerank/device_pagerank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace bitgraph {

namespace {

/// The change of the ranks below which rounding in single precision would show: a row's sum is off by 1e-6 of it at
/// most, and what an iteration is off by the next ones hand on, 1 / (1 - damping) times in all.
double single_precision_floor(double damping) { return 1.5e-6 / (1 - damping); }

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

}  // namespace

template <class T>
void PageRank::State<T>::reserve(std::size_t size, const Device& device) {
  const std::size_t padded = (size + padding - 1) / padding * padding;
  rank = Buffer<T>(padded, T{0}, device);
  inverse_degree = Buffer<T>(padded, T{0}, device);
  share = Buffer<T>(padded, T{0}, device);
  next_share = Buffer<T>(padded, T{0}, device);
}

PageRank::PageRank(PageRank&&) noexcept = default;
PageRank::~PageRank() = default;

PageRank::PageRank(const PackedGraph& graph, const PageRankOptions& options) : graph_(graph), options_(options) {
  require(options.damping >= 0 && options.damping < 1, "PageRank: the damping must be at least 0 and below 1");
  require(options.tolerance >= 0, "PageRank: the tolerance must not be negative");
  require(options.max_iterations >= 0, "PageRank: the number of iterations must not be negative");
  static_cast<void>(graph.in());
  const Device& device = graph.device();
  if (!device.is_host()) {
    there_ = make_cuda_pagerank(graph);
    return;
  }
  single_.reserve(graph.num_nodes(), device);
  invert_degrees(graph, single_.inverse_degree);
  if (options.tolerance != 0 && options.tolerance < single_precision_floor(options.damping)) {
    double_.reserve(graph.num_nodes(), device);
    invert_degrees(graph, double_.inverse_degree);
  }
  partial_ = Buffer<double>(2 * num_blocks(graph), device);
}

template <class T>
void PageRank::iterate(State<T>& state, double tolerance) {
  const double n = graph_.num_nodes();
  while (result_.iterations < options_.max_iterations && !(result_.residual <= tolerance)) {
    graph_.device().throw_if_stopped();
    const double base = (1 - options_.damping) / n + options_.damping * stranded_ / n;
    with_host_backend(graph_.device(), "PageRank", [&](const auto& backend) {
      with_view(graph_.in(), [&](const auto& in) {
        using Graph = std::remove_cvref_t<decltype(in)>;
        pagerank_step(backend, PageRankArgs<Graph, T>{in, static_cast<T>(base), static_cast<T>(options_.damping),
                                                      state.inverse_degree.data(), state.share.data(),
                                                      state.next_share.data(), state.rank.data(), partial_.data()});
      });
    });
    state.share.swap(state.next_share);
    result_.residual = stranded_ = 0;
    for (std::size_t block = 0; block < num_blocks(graph_); ++block) {
      result_.residual += partial_[2 * block];
      stranded_ += partial_[2 * block + 1];
    }
    ++result_.iterations;
  }
}

/// Goes on in double precision from where single precision ends.
void PageRank::widen() {
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
void PageRank::store(const State<T>& state) {
  const std::size_t n = graph_.num_nodes();
  if (result_.rank.size() != n) result_.rank = Buffer<double>(n, graph_.device());
  const double sum =
      block_sum(graph_.device(), n, partial_.span(), [&](std::size_t i) { return double{state.rank[i]}; });
  parallel_for(graph_.device(), n, grain,
               [&](std::size_t i) { result_.rank[graph_.node_of(static_cast<NodeId>(i))] = state.rank[i] / sum; });
}

const PageRankResult& PageRank::run() {
  graph_.device().throw_if_stopped();
  if (there_) {
    there_->run(result_, options_, single_precision_floor(options_.damping));
    return result_;
  }
  const std::size_t n = graph_.num_nodes();
  const double equal = n == 0 ? 0 : 1 / static_cast<double>(n);
  result_.iterations = 0;
  result_.residual = n == 0 ? 0 : unreached<double>();
  stranded_ = block_sum(graph_.device(), n, partial_.span(), [&](std::size_t i) {
    single_.rank[i] = static_cast<float>(equal);
    single_.share[i] = static_cast<float>(equal) * single_.inverse_degree[i];
    return single_.inverse_degree[i] == 0 ? equal : 0;
  });
  // Never to stop early, a tolerance that no change is below.
  const double tolerance = options_.tolerance == 0 ? -1 : options_.tolerance;
  iterate(single_, tolerance < 0 ? tolerance : std::max(tolerance, single_precision_floor(options_.damping)));
  if (double_.rank.size() != 0 && result_.iterations < options_.max_iterations) {
    widen();
    result_.residual = unreached<double>();
    iterate(double_, tolerance);
    store(double_);
  } else {
    store(single_);
  }
  if (options_.max_iterations == 0) result_.residual = 0;
  result_.converged = n == 0 || (result_.iterations > 0 && result_.residual <= options_.tolerance);
  return result_;
}

PageRankResult pagerank(const PackedGraph& graph, const PageRankOptions& options) {
  PageRank search(graph, options);
  search.run();
  return search.take();
}

}  // namespace bitgraph
