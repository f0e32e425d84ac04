// SPDX-License-Identifier: Apache-2.0
// Breadth-first searches from many sources at once (Then et al., "The more the merrier", VLDB 2014).
//
// The idea. Searches from many sources visit the same edges. One pass over an edge serves all sources of a batch: it
// ORs the bits of one row into another.
//
// Encoding. The graph is a pattern CSR or a matrix of bit tiles. The state is a bit matrix with one row for each row
// of the graph and one bit for each source. There are three such matrices: the sources that have reached a row, the
// frontier and the next frontier. Their rows have 1, 2, 4 or 8 words of 64 bits. A row of sources_a_pass bits is one
// cache line. Two bit vectors mark the active rows, which are the non-empty rows of the frontiers. More sources take
// several passes.
//
// Methods on the host (cpu.cpp).
//   pull  Each row that lacks a source ORs the frontier rows of its active in-neighbours until nothing is missing. It
//         wins when many rows are active.
//   push  Each active row ORs its bits into its out-neighbours. It wins when the active rows have a small part of the
//         edges: see push_share. It is the only way without in-edges.
// A source whose last level was empty no longer counts as missing.
//
// CUDA (cuda.cu). One cooperative launch runs a pass on pattern CSR, and every level is pulled. Rows of like length
// are side by side in a warp. The reference (reference.cpp) runs one search after another.
#include "graph/multi_source_bfs/multi_source_bfs.hpp"

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/graph/multi_source_bfs.hpp>

#include "graph/multi_source_bfs/engine.hpp"
#include "graph/packed_graph/views.hpp"
#include "graph/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace bitgraph {

namespace {

template <class Backend>
class HostMultiSourceBfs final : public MultiSourceBfsEngine {
 public:
  HostMultiSourceBfs(const Backend& backend, const PackedGraph& graph, std::size_t words)
      : backend_(backend), graph_(graph) {
    const std::size_t n = graph.num_nodes();
    const Device& device = graph.device();
    seen_ = Buffer<std::uint64_t>(n * words, device);
    front_ = Buffer<std::uint64_t>(n * words, device);
    next_ = Buffer<std::uint64_t>(n * words, device);
    active_ = Buffer<std::uint64_t>(words_for_bits(n), device);
    active_next_ = Buffer<std::uint64_t>(words_for_bits(n), device);
  }

  void run(const MultiSourcePass& pass) override {
    const bool rows_are_nodes = graph_.new_id().empty();
    with_views(graph_, [&]<class View>(const View& out, const View& in) {
      const MultiSourceBfsArgs<View> args{out,
                                          in,
                                          graph_.has_in(),
                                          pass.sources.data(),
                                          pass.sources.size(),
                                          rows_are_nodes ? nullptr : graph_.new_id().data(),
                                          rows_are_nodes ? nullptr : graph_.old_id().data(),
                                          pass.reached,
                                          pass.eccentricity,
                                          pass.level,
                                          pass.level_stride,
                                          std::bit_ceil(words_for_bits(pass.sources.size())),
                                          seen_.data(),
                                          front_.data(),
                                          next_.data(),
                                          active_.data(),
                                          active_next_.data()};
      multi_source_bfs(backend_, args);
    });
  }

 private:
  Backend backend_;
  const PackedGraph& graph_;
  Buffer<std::uint64_t> seen_, front_, next_;   ///< n x words
  Buffer<std::uint64_t> active_, active_next_;  ///< rows of front_ and next_ that hold anything
};

template <class Backend>
std::unique_ptr<MultiSourceBfsEngine> make_multi_source_bfs_engine(const Backend& backend, const PackedGraph& graph,
                                                                   std::size_t words) {
  return std::make_unique<HostMultiSourceBfs<Backend>>(backend, graph, words);
}

}  // namespace

MultiSourceBreadthFirstSearch::MultiSourceBreadthFirstSearch(const PackedGraph& graph, std::size_t most_sources)
    : graph_(&graph), most_sources_(most_sources) {
  const std::size_t words = std::bit_ceil(words_for_bits(std::clamp<std::size_t>(most_sources, 1, sources_a_pass)));
  engine_ = with_backend(graph.device(), "multi-source BFS",
                         [&](const auto& backend) { return make_multi_source_bfs_engine(backend, graph, words); });
  allocate_result(result_.reached, most_sources, graph.device());
  allocate_result(result_.eccentricity, most_sources, graph.device());
}
MultiSourceBreadthFirstSearch::MultiSourceBreadthFirstSearch(MultiSourceBreadthFirstSearch&&) noexcept = default;
MultiSourceBreadthFirstSearch& MultiSourceBreadthFirstSearch::operator=(MultiSourceBreadthFirstSearch&&) noexcept =
    default;
MultiSourceBreadthFirstSearch::~MultiSourceBreadthFirstSearch() = default;

const MultiSourceBfsResult& MultiSourceBreadthFirstSearch::run(const MultiSourceBfsOptions& options) {
  const NodeId n = graph_->num_nodes();
  const std::size_t total = options.sources.size();
  if (total > most_sources_)
    fail(ErrorCode::usage, fmt::format("multi-source BFS: {} sources, made for {}", total, most_sources_));
  for (const NodeId source : options.sources) check_source(source, n);
  const Device& device = graph_->device();
  allocate_result(result_.reached, most_sources_, device);
  allocate_result(result_.eccentricity, most_sources_, device);
  if (options.levels) {
    if (result_.level.nrows() != n || result_.level.ncols() != total)
      result_.level = DenseMatrix<std::int32_t>(n, total, device);
    const std::int32_t unreached = -1;
    device.fill(result_.level.values().data(), result_.level.bytes(), &unreached, sizeof(unreached));
  }
  for (std::size_t first = 0; first < total; first += sources_a_pass) {
    device.throw_if_stopped();
    engine_->run({.sources = options.sources.subspan(first, std::min(sources_a_pass, total - first)),
                  .reached = result_.reached.data() + first,
                  .eccentricity = result_.eccentricity.data() + first,
                  .level = options.levels ? result_.level.values().data() + first : nullptr,
                  .level_stride = total});
  }
  return result_;
}

MultiSourceBfsResult multi_source_bfs(const PackedGraph& graph, const MultiSourceBfsOptions& options) {
  MultiSourceBreadthFirstSearch search(graph, options.sources.size());
  search.run(options);
  return search.take();
}

}  // namespace bitgraph
