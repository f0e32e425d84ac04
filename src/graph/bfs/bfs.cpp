// SPDX-License-Identifier: Apache-2.0
#include "graph/bfs/bfs.hpp"

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/graph/bfs.hpp>

#include "core/parallel.hpp"
#include "formats/rows.hpp"
#include "graph/bfs/device_search.hpp"
#include "graph/packed_graph/views.hpp"
#include "graph/source.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <variant>

namespace bitgraph {

namespace {

constexpr std::size_t grain = std::size_t{1} << 14;

NodeId largest_degree(const CsrPatternView& a, const Device& device) {
  std::atomic<NodeId> largest{0};
  parallel_ranges(device, a.nrows, grain, [&](Range range) {
    EdgeOffset degree = 0;
    for (std::size_t i = range.begin; i < range.end; ++i) degree = std::max(degree, a.row_ptr[i + 1] - a.row_ptr[i]);
    NodeId seen = largest.load();
    while (seen < degree && !largest.compare_exchange_weak(seen, static_cast<NodeId>(degree))) {
    }
  });
  return largest.load();
}
/// For tiles a bound is enough.
template <int K>
NodeId largest_degree(const BitTileView<K>& a, const Device&) {
  EdgeOffset tiles = 0;
  for (NodeId i = 0; i < a.num_tile_rows; ++i) tiles = std::max(tiles, a.tile_row_ptr[i + 1] - a.tile_row_ptr[i]);
  return static_cast<NodeId>(std::min<EdgeOffset>(tiles * K, a.ncols));
}

template <class Graph>
void mark_empty_rows(const Graph& a, std::span<std::uint64_t> marks, const Device& device) {
  parallel_ranges(device, marks.size(), grain / 64, [&](Range range) {
    for (std::size_t w = range.begin; w < range.end; ++w) {
      std::uint64_t word = 0;
      for (std::size_t b = 0; b < 64; ++b) {
        const std::size_t i = w * 64 + b;
        if (i >= a.nrows || !any_entry(a, static_cast<NodeId>(i), [](NodeId) { return true; }))
          word |= std::uint64_t{1} << b;
      }
      marks[w] = word;
    }
  });
}

}  // namespace

BfsSearch::BfsSearch(BfsSearch&&) noexcept = default;
BfsSearch& BfsSearch::operator=(BfsSearch&&) noexcept = default;
BfsSearch::~BfsSearch() = default;

BfsSearch::BfsSearch(const PackedGraph& graph) : graph_(&graph) {
  const std::size_t n = graph.num_nodes();
  const Device& device = graph.device();
  result_.level = Buffer<std::int32_t>(n, device);
  if (!device.is_host()) {
    there_ = make_cuda_bfs(graph);
    return;
  }
  unreachable_ = Buffer<std::uint64_t>(words_for_bits(n), device);
  visited_ = Buffer<std::uint64_t>(words_for_bits(n), device);
  front_ = Buffer<std::uint64_t>(words_for_bits(n), device);
  next_ = Buffer<std::uint64_t>(words_for_bits(n), device);
  queue_ = Buffer<NodeId>(n + queue_slack, device);
  if (!graph.new_id().empty()) row_level_ = Buffer<std::int32_t>(n, device);
  with_views(graph, [&](const auto& out, const auto& in) {
    max_degree_ = largest_degree(out, device);
    if (graph.has_in()) {
      mark_empty_rows(in, unreachable_.span(), device);
    } else {
      unreachable_.fill(0);
      if (n % 64 != 0) unreachable_[n / 64] = ~std::uint64_t{0} << (n % 64);
    }
  });
}

const BfsResult& BfsSearch::run(const BfsOptions& options) { return run(options, -1); }

const BfsResult& BfsSearch::run(const BfsOptions& options, std::int32_t unreached) {
  const NodeId n = graph_->num_nodes();
  check_source(options.source, n);
  if (n == 0) return result_;
  graph_->device().throw_if_stopped();
  if (there_) {
    there_->run(result_, options, unreached);
    return result_;
  }
  const Device& device = graph_->device();
  std::int32_t* level = row_level_.empty() ? result_.level.data() : row_level_.data();
  BfsCounts counts;
  with_views(*graph_, [&]<class View>(const View& out, const View& in) {
    const BfsArgs<View> args{out,
                             in,
                             graph_->has_in(),
                             graph_->row_of(options.source),
                             max_degree_,
                             unreached,
                             level,
                             &counts,
                             unreachable_.data(),
                             visited_.data(),
                             front_.data(),
                             next_.data(),
                             queue_.data()};
    with_host_backend(device, "bfs", [&](const auto& backend) { bfs(backend, args); });
  });
  if (!row_level_.empty()) {
    const NodeId* row = graph_->new_id().data();
    parallel_for(device, n, grain, [&](std::size_t i) { result_.level[i] = row_level_[row[i]]; });
  }
  result_.num_levels = counts.num_levels;
  result_.reached = counts.reached;
  if (options.parents) find_parents(options.source, unreached);
  return result_;
}

/// Afterwards, from the levels: which row was first to reach another depends on the threads, the smallest does not.
void BfsSearch::find_parents(NodeId source, std::int32_t unreached) {
  const NodeId n = graph_->num_nodes();
  if (result_.parent.size() != n) result_.parent = Buffer<NodeId>(n, graph_->device());
  const std::int32_t* level = row_level_.empty() ? result_.level.data() : row_level_.data();
  NodeId* parent = result_.parent.data();
  const bool as_they_are = graph_->new_id().empty();
  if (graph_->has_in()) {
    with_view(graph_->in(), [&](const auto& in) {
      parallel_chunks(graph_->device(), n, 1024, [&](Range range) {
        for (std::size_t i = range.begin; i < range.end; ++i) {
          const auto row = static_cast<NodeId>(i);
          NodeId smallest = no_parent;
          any_entry(in, row, [&](NodeId j) {
            if (level[j] != level[row] - 1) return false;
            smallest = std::min(smallest, graph_->node_of(j));
            return as_they_are;  // rows are sorted: the first is the smallest
          });
          parent[graph_->node_of(row)] = smallest;
        }
      });
    });
  } else {
    std::fill_n(parent, n, no_parent);
    with_view(graph_->out(), [&](const auto& out) {
      for (NodeId row = 0; row < n; ++row) {
        if (level[row] == unreached) continue;
        for_each_entry(out, row, [&](NodeId j) {
          if (level[j] != level[row] + 1) return;
          NodeId& of = parent[graph_->node_of(j)];
          of = std::min(of, graph_->node_of(row));
        });
      }
    });
  }
  parent[source] = source;
}

BfsResult bfs(const PackedGraph& graph, const BfsOptions& options) {
  BfsSearch search(graph);
  search.run(options);
  return std::move(search).take();
}

}  // namespace bitgraph
