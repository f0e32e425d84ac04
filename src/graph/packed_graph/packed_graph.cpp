// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/graph/packed_graph.hpp>

#include "core/preconditions.hpp"
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

/// The pattern where the graph will be, under its handle: the storage of `a`, or a copy.
CsrPattern brought_to(const CsrPattern& a, const Device& device) {
  if (same_place(a.device(), device)) return a.share(device);
  a.device().synchronize();
  require_memory(device, "a graph's entries", a.bytes());
  return a.to(device);
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

PackedGraph PackedGraph::share(const Device& device) const {
  const auto shared = [&](const Matrix& matrix) {
    return std::visit([&](const auto& m) -> Matrix { return m.share(device); }, matrix);
  };
  PackedGraph graph;
  graph.device_ = device;
  graph.symmetric_ = symmetric_;
  graph.reorder_seconds_ = reorder_seconds_;
  graph.order_ = order_;
  graph.reason_ = reason_;
  graph.order_reason_ = order_reason_;
  graph.out_ = shared(out_);
  if (in_) graph.in_ = shared(*in_);
  graph.new_id_ = new_id_.share();
  graph.old_id_ = old_id_.share();
  return graph;
}

PackedGraph pack_graph(const CsrPattern& a, const GraphPackOptions& options, const Device& device) {
  if (a.nrows() != a.ncols())
    fail(ErrorCode::usage, fmt::format("a graph needs a square matrix, and this is {} x {}", a.nrows(), a.ncols()));
  if (options.tile_dim != auto_tile && options.tile_dim != csr_tile && !is_tile_dim(options.tile_dim)) {
    fail(ErrorCode::usage,
         fmt::format("the tile side {} does not exist: 4, 8, 16, 32, 64, or pattern CSR", options.tile_dim));
  }
  PackedGraph graph;
  graph.device_ = device.is_host() && !a.device().is_host() ? a.device() : device;
  const Device& place = graph.device_;
  CsrPattern source = brought_to(a, place);
  const auto start = std::chrono::steady_clock::now();
  OrderedPattern ordered;
  if (options.order) {
    ordered = in_order(source, *options.order, same_place(a.device(), place) ? source : a);
  } else if (options.order_where_it_pays) {
    ordered = choose_order(source, options.workload, options.tile_dim, place);
    graph.order_reason_ = ordered.reason;
  }
  if (ordered.order != Order::original) {
    graph.order_ = ordered.order;
    graph.new_id_ = std::move(ordered.new_id);
    graph.old_id_ = inverse_permutation(graph.new_id_.span());
    source = std::move(ordered.pattern);
  }
  if (ordered.tried) {
    place.synchronize();
    graph.reorder_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  int tile_dim = options.tile_dim;
  if (tile_dim == auto_tile) {
    const FormatChoice choice = choose_format(source, options.workload, place);
    tile_dim = choice.tile_dim;
    graph.reason_ = choice.reason;
  }
  const auto make_matrix = [&](CsrPattern pattern) -> PackedGraph::Matrix {
    place.throw_if_stopped();
    if (tile_dim != csr_tile) return pack(pattern, {.tile_dim = tile_dim}, place);
    return pattern;
  };
  place.throw_if_stopped();
  graph.symmetric_ = is_symmetric(source);
  if (!graph.symmetric_ && options.with_transpose) graph.in_ = make_matrix(transpose(source));
  graph.out_ = make_matrix(std::move(source));
  place.synchronize();
  return graph;
}

}  // namespace bitgraph
