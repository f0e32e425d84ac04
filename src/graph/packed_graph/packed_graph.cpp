// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/packed_graph.hpp>

#include "graph/packed_graph/choice.hpp"

#include <fmt/format.h>

#include <chrono>

namespace bitgraph {

namespace {

NodeId rows_of(const PackedGraph::Matrix& matrix) {
  return std::visit([](const auto& m) { return m.nrows(); }, matrix);
}
EdgeOffset entries_of(const PackedGraph::Matrix& matrix) {
  return std::visit([](const auto& m) { return m.nvals(); }, matrix);
}
std::size_t bytes_of(const PackedGraph::Matrix& matrix) {
  return std::visit([](const auto& m) { return m.bytes(); }, matrix);
}

PackedGraph::Matrix make_matrix(const CsrPattern& a, int tile_dim, const Device& device) {
  if (tile_dim == csr_tile) return a.to(device);
  return pack(a, {.tile_dim = tile_dim}, Device::host(device.threads())).to(device);
}

}  // namespace

NodeId PackedGraph::num_nodes() const noexcept { return rows_of(out_); }
EdgeOffset PackedGraph::num_edges() const noexcept { return entries_of(out_); }

int PackedGraph::tile_dim() const noexcept {
  const auto* tiles = std::get_if<BitTileMatrix>(&out_);
  return tiles == nullptr ? csr_tile : tiles->tile_dim();
}

const PackedGraph::Matrix& PackedGraph::in() const {
  if (symmetric_) return out_;
  if (!in_) fail(ErrorCode::usage, "this algorithm needs the edges' other direction: pack the graph with_transpose");
  return *in_;
}

std::size_t PackedGraph::bytes() const noexcept {
  return bytes_of(out_) + (in_ ? bytes_of(*in_) : 0) + new_id_.bytes() + old_id_.bytes();
}

PackedGraph pack_graph(const CsrPattern& a, const GraphPackOptions& options, const Device& device) {
  if (a.nrows() != a.ncols())
    fail(ErrorCode::usage, fmt::format("a graph needs a square matrix, and this is {} x {}", a.nrows(), a.ncols()));
  PackedGraph graph;
  graph.device_ = device;
  CsrPattern ordered;
  const CsrPattern* source = &a;
  if (options.order && *options.order != Order::original) {
    const auto start = std::chrono::steady_clock::now();
    graph.new_id_ = reorder(a, *options.order);
    graph.old_id_ = inverse_permutation(graph.new_id_.span());
    ordered = permuted(a, graph.new_id_.span());
    source = &ordered;
    graph.reorder_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  int tile_dim = options.tile_dim;
  if (tile_dim == auto_tile) {
    const FormatChoice choice = choose_format(*source, options.workload, device);
    tile_dim = choice.tile_dim;
    graph.reason_ = choice.reason;
  } else if (tile_dim != csr_tile && !is_tile_dim(tile_dim)) {
    fail(ErrorCode::usage, fmt::format("the tile side {} does not exist: 4, 8, 16, 32, 64, or pattern CSR", tile_dim));
  }
  graph.symmetric_ = is_symmetric(*source);
  graph.out_ = make_matrix(*source, tile_dim, device);
  if (!graph.symmetric_ && options.with_transpose) graph.in_ = make_matrix(transpose(*source), tile_dim, device);
  return graph;
}

}  // namespace bitgraph
