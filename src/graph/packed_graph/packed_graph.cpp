// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/packed_graph.hpp>

#include "core/room.hpp"
#include "graph/packed_graph/choice.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

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

/// The pattern where the graph will be: `a` itself, or a copy that is kept in `moved`.
const CsrPattern& brought_to(const CsrPattern& a, const Device& device, CsrPattern& moved) {
  if (a.device() == device) return a;
  a.device().synchronize();
  require_room(device, "a graph's entries", a.bytes());
  moved = a.to(device);
  return moved;
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
  if (options.tile_dim != auto_tile && options.tile_dim != csr_tile && !is_tile_dim(options.tile_dim)) {
    fail(ErrorCode::usage,
         fmt::format("the tile side {} does not exist: 4, 8, 16, 32, 64, or pattern CSR", options.tile_dim));
  }
  const Device& there = device.is_host() ? a.device() : device;
  PackedGraph graph;
  graph.device_ = there.is_host() ? device : there;
  CsrPattern owned;
  const CsrPattern* source = &brought_to(a, there, owned);
  const auto start = std::chrono::steady_clock::now();
  OrderedPattern ordered;
  if (options.order) {
    ordered = in_order(*source, *options.order, a);
  } else if (options.order_where_it_pays) {
    ordered = choose_order(*source, options.workload, options.tile_dim, there);
    graph.order_reason_ = ordered.reason;
  }
  if (ordered.order != Order::original) {
    graph.order_ = ordered.order;
    graph.new_id_ = std::move(ordered.new_id);
    graph.old_id_ = inverse_permutation(graph.new_id_.span());
    owned = std::move(ordered.pattern);
    source = &owned;
  }
  if (ordered.tried) {
    there.synchronize();
    graph.reorder_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  int tile_dim = options.tile_dim;
  if (tile_dim == auto_tile) {
    const FormatChoice choice = choose_format(*source, options.workload, there);
    tile_dim = choice.tile_dim;
    graph.reason_ = choice.reason;
  }
  const auto make_matrix = [&](const CsrPattern& pattern, CsrPattern* to_keep) -> PackedGraph::Matrix {
    if (tile_dim != csr_tile) return pack(pattern, {.tile_dim = tile_dim}, graph.device_);
    // On the host the copy is for the threads that are wanted, and counted with them.
    return to_keep == nullptr || there.is_host() ? pattern.to(graph.device_) : std::move(*to_keep);
  };
  graph.symmetric_ = is_symmetric(*source);
  if (!graph.symmetric_ && options.with_transpose) {
    CsrPattern turned = transpose(*source);
    graph.in_ = make_matrix(turned, &turned);
  }
  graph.out_ = make_matrix(*source, source == &owned ? &owned : nullptr);
  there.synchronize();
  return graph;
}

}  // namespace bitgraph
