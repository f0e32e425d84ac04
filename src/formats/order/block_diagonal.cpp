// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/block_diagonal.hpp>

#include <bitgraph/core/error.hpp>

#include "core/threads/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace bitgraph {

namespace {

constexpr std::size_t graph_grain = 16;

}  // namespace

std::vector<NodeId> BlockDiagonal::graph_of() const {
  std::vector<NodeId> graph(first_node.back());
  for (std::size_t g = 0; g < num_graphs(); ++g)
    std::fill(graph.begin() + first_node[g], graph.begin() + first_node[g + 1], static_cast<NodeId>(g));
  return graph;
}

BlockDiagonal block_diagonal(std::span<const CsrPattern> graphs, const Device& device) {
  require(device.is_host(), "block diagonal: the batch is made on the host");
  BlockDiagonal batch;
  std::vector<EdgeOffset> first_entry{0};
  std::size_t nodes = 0;
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    const CsrPattern& graph = graphs[g];
    if (graph.nrows() != graph.ncols()) {
      fail(ErrorCode::usage, fmt::format("block diagonal: graph {} is {} x {}, a square matrix is needed", g,
                                         graph.nrows(), graph.ncols()));
    }
    if (!graph.device().is_host()) {
      fail(ErrorCode::usage,
           fmt::format("block diagonal: graph {} is on {}, expected the host", g, graph.device().name()));
    }
    nodes += graph.nrows();
    if (nodes >= std::numeric_limits<NodeId>::max())
      fail(ErrorCode::not_possible,
           fmt::format("block diagonal: the first {} graphs have {} nodes, and a graph has at most "
                       "2^32 - 2",
                       g + 1, nodes));
    batch.first_node.push_back(static_cast<NodeId>(nodes));
    first_entry.push_back(first_entry.back() + graph.nvals());
  }
  Buffer<EdgeOffset> row_ptr(nodes + 1, device);
  Buffer<NodeId> col_ind(first_entry.back(), device);
  parallel_chunks(device, graphs.size(), graph_grain, [&](Range range) {
    for (std::size_t g = range.begin; g < range.end; ++g) {
      const NodeId node = batch.first_node[g];
      const EdgeOffset entry = first_entry[g];
      const auto rows = graphs[g].row_ptr().first(graphs[g].nrows());
      std::transform(rows.begin(), rows.end(), row_ptr.data() + node, [&](EdgeOffset at) { return at + entry; });
      const auto columns = graphs[g].col_ind();
      std::transform(columns.begin(), columns.end(), col_ind.data() + entry, [&](NodeId j) { return j + node; });
    }
  });
  row_ptr[nodes] = first_entry.back();
  const auto size = static_cast<NodeId>(nodes);
  batch.pattern = CsrPattern(size, size, std::move(row_ptr), std::move(col_ind), trusted);
  return batch;
}

CsrPattern readout_matrix(std::span<const NodeId> first_node, const Device& device) {
  Buffer<EdgeOffset> row_ptr(first_node.size(), device);
  std::copy(first_node.begin(), first_node.end(), row_ptr.begin());
  Buffer<NodeId> col_ind(first_node.back(), device);
  std::iota(col_ind.begin(), col_ind.end(), NodeId{0});
  return CsrPattern(static_cast<NodeId>(first_node.size() - 1), first_node.back(), std::move(row_ptr),
                    std::move(col_ind), trusted);
}

}  // namespace bitgraph
