// SPDX-License-Identifier: Apache-2.0
// Breadth-first search: the level of every node, which is its distance from the source in edges. The search is
// direction-optimising (Beamer, Asanovic, Patterson, "Direction-optimizing breadth-first search", 2012).
//
// Encoding. The graph is a pattern CSR or a matrix of bit tiles, without values. The sets of visited rows and of
// frontier rows are bit vectors of one bit a row. Over tiles, one AND of a word tests a row of a tile against the
// frontier.
//
// Methods on the host (cpu.cpp).
//   top down   The frontier is a queue of rows. The search follows their out-edges and appends the unvisited
//              neighbours. It wins while the frontier has few edges.
//   bottom up  Every unvisited row looks through its in-edges and stops at the first neighbour in the frontier. It
//              wins when the frontier has a large part of the remaining edges: see bottom_up_share. The search returns
//              to top down when a shrinking level falls below a share of all rows: see top_down_share.
// A level with fewer edges than serial_edges runs top down on the calling thread, which costs less than a parallel
// region. A graph that is not symmetric and has no in-edges runs top down only.
//
// Parents come after the search, from the levels: the parent of a node is its smallest neighbour one level nearer to
// the source. The first neighbour to reach a node would depend on the threads.
//
// CUDA (cuda.cu). One cooperative launch runs the whole search on pattern CSR. It has the same two directions and a
// third way: one block runs small levels alone, without a barrier of the whole grid. It needs both directions of the
// edges.
#include "graph/bfs/bfs.hpp"

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/graph/bfs.hpp>

#include "core/threads/parallel.hpp"
#include "formats/rows.hpp"
#include "graph/bfs/engine.hpp"
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

/// A search on the host, by the kernels of Backend.
template <class Backend>
class HostBfs final : public BfsEngine {
 public:
  HostBfs(const Backend& backend, const PackedGraph& graph) : backend_(backend), graph_(graph) {
    const std::size_t n = graph.num_nodes();
    const Device& device = graph.device();
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

  void run(BfsResult& result, const BfsOptions& options, std::int32_t unreached) override {
    const Device& device = graph_.device();
    std::int32_t* level = row_level_.empty() ? result.level.data() : row_level_.data();
    BfsCounts counts;
    with_views(graph_, [&]<class View>(const View& out, const View& in) {
      const BfsArgs<View> args{
          out,           in,           graph_.has_in(), graph_.row_of(options.source), max_degree_,
          unreached,     level,        &counts,         unreachable_.data(),           visited_.data(),
          front_.data(), next_.data(), queue_.data()};
      bfs(backend_, args);
    });
    if (!row_level_.empty()) {
      const NodeId* row = graph_.new_id().data();
      parallel_for(device, graph_.num_nodes(), grain, [&](std::size_t i) { result.level[i] = row_level_[row[i]]; });
    }
    result.num_levels = counts.num_levels;
    result.reached = counts.reached;
    if (!options.parents) return;
    allocate_result(result.parent, graph_.num_nodes(), device);
    find_parents(level, result.parent.data(), unreached);
    result.parent[options.source] = options.source;
  }

 private:
  /// Parents come from the levels, after the search: which row was first to reach another depends on the threads, the
  /// smallest does not.
  void find_parents(const std::int32_t* level, NodeId* parent, std::int32_t unreached) const {
    if (graph_.has_in()) {
      pull_parents(level, parent);
    } else {
      push_parents(level, parent, unreached);
    }
  }

  void pull_parents(const std::int32_t* level, NodeId* parent) const {
    const bool rows_are_nodes = graph_.new_id().empty();
    with_view(graph_.in(), [&](const auto& in) {
      parallel_chunks(graph_.device(), graph_.num_nodes(), 1024, [&](Range range) {
        for (std::size_t i = range.begin; i < range.end; ++i) {
          const auto row = static_cast<NodeId>(i);
          NodeId smallest = no_parent;
          any_entry(in, row, [&](NodeId j) {
            if (level[j] != level[row] - 1) return false;
            smallest = std::min(smallest, graph_.node_of(j));
            return rows_are_nodes;  // rows are sorted: the first is the smallest
          });
          parent[graph_.node_of(row)] = smallest;
        }
      });
    });
  }

  void push_parents(const std::int32_t* level, NodeId* parent, std::int32_t unreached) const {
    const NodeId n = graph_.num_nodes();
    std::fill_n(parent, n, no_parent);
    with_view(graph_.out(), [&](const auto& out) {
      for (NodeId row = 0; row < n; ++row) {
        if (level[row] == unreached) continue;
        for_each_entry(out, row, [&](NodeId j) {
          if (level[j] != level[row] + 1) return;
          NodeId& of = parent[graph_.node_of(j)];
          of = std::min(of, graph_.node_of(row));
        });
      }
    });
  }

  Backend backend_;
  const PackedGraph& graph_;
  NodeId max_degree_ = 0;
  Buffer<std::uint64_t> unreachable_;  ///< rows without an edge that leads to them
  Buffer<std::uint64_t> visited_, front_, next_;
  Buffer<NodeId> queue_;
  Buffer<std::int32_t> row_level_;  ///< levels by row, where rows are in another order than the caller's nodes
};

template <class Backend>
std::unique_ptr<BfsEngine> make_bfs_engine(const Backend& backend, const PackedGraph& graph) {
  return std::make_unique<HostBfs<Backend>>(backend, graph);
}

}  // namespace

BreadthFirstSearch::BreadthFirstSearch(const PackedGraph& graph)
    : graph_(&graph),
      engine_(
          with_backend(graph.device(), "bfs", [&](const auto& backend) { return make_bfs_engine(backend, graph); })) {
  allocate_result(result_.level, graph.num_nodes(), graph.device());
}
BreadthFirstSearch::BreadthFirstSearch(BreadthFirstSearch&&) noexcept = default;
BreadthFirstSearch& BreadthFirstSearch::operator=(BreadthFirstSearch&&) noexcept = default;
BreadthFirstSearch::~BreadthFirstSearch() = default;

const BfsResult& BreadthFirstSearch::run(const BfsOptions& options) { return run(options, -1); }

const BfsResult& BreadthFirstSearch::run(const BfsOptions& options, std::int32_t unreached) {
  const NodeId n = graph_->num_nodes();
  check_source(options.source, n);
  graph_->device().throw_if_stopped();
  allocate_result(result_.level, n, graph_->device());
  engine_->run(result_, options, unreached);
  return result_;
}

BfsResult bfs(const PackedGraph& graph, const BfsOptions& options) {
  BreadthFirstSearch search(graph);
  search.run(options);
  return search.take();
}

}  // namespace bitgraph
