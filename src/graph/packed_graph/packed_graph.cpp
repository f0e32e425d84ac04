// SPDX-License-Identifier: Apache-2.0
// Packs a square 0/1 matrix for the algorithms of src/graph: it chooses the order of the nodes and the format of the
// edges.
//
// Encoding. The edges are a pattern CSR (tile_dim is csr_tile) or a matrix of bit tiles (B2SR of Bit-GraphBLAS) with a
// side of 4 to 64. A directed graph also stores its transpose, unless the caller declines it (with_transpose). A
// symmetric graph stores one matrix for both directions. If the nodes are reordered, new_id and old_id map between the
// caller's nodes and the rows in memory. Algorithms renumber their results to the caller's nodes.
//
// Choice of the format (choice.cpp). Bit-GraphBLAS takes the tile side with the fewest bytes. choose_format() predicts
// the time of a product with a vector instead, from a sample of the graph and the measured constants in costs.cpp.
//   pattern CSR  for work that visits single rows (walks_rows)
//   tiles        for a search on a graph with full tiles (full_tile), for products of matrices with well-filled tiles
//                (choose_for_matrices), and for products with vectors where the prediction says so
//
// Choice of the order. choose_order() applies reverse Cuthill-McKee if the time it is predicted to save in `products`
// products exceeds its own cost. Otherwise the caller's order stays.
//
// CUDA. The automatic format is always pattern CSR and the order is never chosen automatically. A graph in tiles is
// possible: most algorithms unpack it once on the device (cuda_rows.cuh).
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
