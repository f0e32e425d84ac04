// SPDX-License-Identifier: Apache-2.0
#include "graph/multi_source_bfs/multi_source_bfs.hpp"

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/graph/multi_source_bfs.hpp>

#include "graph/packed_graph/views.hpp"
#include "graph/source.hpp"
#ifdef BITGRAPH_WITH_CUDA
#include "graph/multi_source_bfs/cuda.cuh"
#endif

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace bitgraph {

MultiSourceBfs::MultiSourceBfs(const PackedGraph& graph, std::size_t most_sources)
    : graph_(&graph),
      most_sources_(most_sources),
      words_(std::bit_ceil(words_for_bits(std::clamp<std::size_t>(most_sources, 1, sources_a_pass)))) {
  const std::size_t n = graph.num_nodes();
  const Device& device = graph.device();
  result_.reached = Buffer<NodeId>(most_sources, device);
  result_.eccentricity = Buffer<std::int32_t>(most_sources, device);
#ifdef BITGRAPH_WITH_CUDA
  if (backend_for(device) == BackendKind::cuda) {
    on_cuda_ = std::make_shared<CudaMultiSourceBfs>(graph, words_);
    return;
  }
#endif
  seen_ = Buffer<std::uint64_t>(n * words_, device);
  front_ = Buffer<std::uint64_t>(n * words_, device);
  next_ = Buffer<std::uint64_t>(n * words_, device);
  active_ = Buffer<std::uint64_t>(words_for_bits(n), device);
  active_next_ = Buffer<std::uint64_t>(words_for_bits(n), device);
}

const MultiSourceBfsResult& MultiSourceBfs::run(const MultiSourceBfsOptions& options) {
  const NodeId n = graph_->num_nodes();
  const std::size_t total = options.sources.size();
  if (total > most_sources_)
    fail(ErrorCode::usage, fmt::format("multi-source BFS: {} sources, made for {}", total, most_sources_));
  for (const NodeId source : options.sources) {
    check_source(source, n);
    if (n == 0) fail(ErrorCode::usage, "multi-source BFS: the graph has no nodes to start from");
  }
  const Device& device = graph_->device();
  if (options.levels) {
    if (result_.level.nrows() != n || result_.level.ncols() != total)
      result_.level = DenseMatrix<std::int32_t>(n, total, device);
    const std::int32_t unreached = -1;
    device.fill(result_.level.values().data(), result_.level.bytes(), &unreached, sizeof(unreached));
  }
  const bool as_they_are = graph_->new_id().empty();
  for (std::size_t first = 0; first < total; first += sources_a_pass) {
    device.throw_if_stopped();
    const std::size_t count = std::min(sources_a_pass, total - first);
#ifdef BITGRAPH_WITH_CUDA
    if (on_cuda_) {
      CudaMultiSourceArgs args;
      args.sources = options.sources.data() + first;
      args.num_sources = static_cast<unsigned>(count);
      args.words = static_cast<unsigned>(std::bit_ceil(words_for_bits(count)));
      args.reached = result_.reached.data() + first;
      args.eccentricity = result_.eccentricity.data() + first;
      args.level = options.levels ? result_.level.values().data() + first : nullptr;
      args.level_stride = total;
      on_cuda_->run(args);
      continue;
    }
#endif
    with_views(*graph_, [&]<class View>(const View& out, const View& in) {
      const MultiSourceBfsArgs<View> args{out,
                                          in,
                                          graph_->has_in(),
                                          options.sources.data() + first,
                                          count,
                                          as_they_are ? nullptr : graph_->new_id().data(),
                                          as_they_are ? nullptr : graph_->old_id().data(),
                                          result_.reached.data() + first,
                                          result_.eccentricity.data() + first,
                                          options.levels ? result_.level.values().data() + first : nullptr,
                                          total,
                                          std::bit_ceil(words_for_bits(count)),
                                          seen_.data(),
                                          front_.data(),
                                          next_.data(),
                                          active_.data(),
                                          active_next_.data()};
      with_host_backend(device, "multi-source BFS", [&](const auto& backend) { multi_source_bfs(backend, args); });
    });
  }
  return result_;
}

MultiSourceBfsResult multi_source_bfs(const PackedGraph& graph, const MultiSourceBfsOptions& options) {
  MultiSourceBfs search(graph, options.sources.size());
  search.run(options);
  return std::move(search).take();
}

}  // namespace bitgraph
