// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/reorder.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <variant>

namespace bitgraph {

/// A tile side is 4, 8, 16, 32 or 64, or one of these values.
inline constexpr int csr_tile = 0;    ///< pattern CSR instead of tiles
inline constexpr int auto_tile = -1;  ///< the format of least predicted time for the graph, the work and the device

/// The work that a graph is packed for. Each kind of work has its own best format.
enum class Workload {
  traversal,        ///< rows are visited a few at a time: shortest paths, components
  search,           ///< breadth-first search
  ranks,            ///< PageRank: every row times a vector of numbers, again and again
  values,           ///< every row times a vector of numbers: mxv over plus_times, min_plus ...
  bits,             ///< every row times a vector of bits, to bits: mxv over or_and
  counts,           ///< every row times a vector of bits, to numbers: mxv over plus_times
  counting,         ///< rows are intersected: triangles; mxm over plus_pair
  products,         ///< a matrix times a matrix: mxm over or_and
  masked_products,  ///< the same within a mask, and masked sums: only the rows of the mask are compared
};

struct GraphPackOptions {
  int tile_dim = auto_tile;          ///< a side, csr_tile or auto_tile
  std::optional<Order> order = {};   ///< the numbering of the nodes in memory; none: the caller's
  bool order_where_it_pays = false;  ///< without `order`: reverse Cuthill-McKee, where it is predicted to save more
                                     ///< time over a hundred repetitions of the work than it takes to find and apply
  bool with_transpose = true;        ///< keep the in-edges of a directed graph too
  Workload workload = Workload::traversal;
};

/// A square 0/1 matrix ready for graph algorithms, on one device. It holds the out-edges and in-edges of every node in
/// the chosen format and order. It is immutable. Algorithms take it by const reference and give results in the caller's
/// numbering.
class PackedGraph {
 public:
  using Matrix = std::variant<CsrPattern, BitTileMatrix>;

  [[nodiscard]] NodeId num_nodes() const noexcept;
  [[nodiscard]] EdgeOffset num_edges() const noexcept;  ///< entries of the matrix
  [[nodiscard]] bool symmetric() const noexcept { return symmetric_; }
  [[nodiscard]] const Device& device() const noexcept { return device_; }

  /// The side of the tiles, or csr_tile.
  [[nodiscard]] int tile_dim() const noexcept;
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }  ///< why this format; empty if asked for

  /// The numbering of the rows, and why pack_graph chose it where it did (`order_where_it_pays`).
  [[nodiscard]] Order order() const noexcept { return order_; }
  [[nodiscard]] const std::string& order_reason() const noexcept { return order_reason_; }

  /// Row i has the nodes that edges from i lead to.
  [[nodiscard]] const Matrix& out() const noexcept { return out_; }
  /// Row i has the nodes from which edges lead to i. It is out() where the graph is symmetric. Throws usage where a
  /// directed graph was packed without it.
  [[nodiscard]] const Matrix& in() const;
  [[nodiscard]] bool has_in() const noexcept { return symmetric_ || in_.has_value(); }

  /// Node i of the caller's numbering is row new_id()[i]; row i is node old_id()[i]. Both are on the host, and empty
  /// where the rows are in the caller's order.
  [[nodiscard]] std::span<const NodeId> new_id() const noexcept { return new_id_.span(); }
  [[nodiscard]] std::span<const NodeId> old_id() const noexcept { return old_id_.span(); }
  [[nodiscard]] NodeId row_of(NodeId node) const noexcept { return new_id_.empty() ? node : new_id_[node]; }
  [[nodiscard]] NodeId node_of(NodeId row) const noexcept { return old_id_.empty() ? row : old_id_[row]; }

  /// Size of all arrays, those that are shared with a pattern included.
  [[nodiscard]] std::size_t bytes() const noexcept;

  /// The same graph over the same storage, not copied, under another handle of the same place: one with a stop token,
  /// or with a stream for another host thread. See Buffer::share. Throws usage where the places differ. O(1).
  [[nodiscard]] PackedGraph share(const Device& device) const;

  /// The part of pack_graph's time that it took to find an order and to renumber, also where the order was not taken. 0
  /// where no order was tried.
  [[nodiscard]] double reorder_seconds() const noexcept { return reorder_seconds_; }

 private:
  friend PackedGraph pack_graph(const CsrPattern&, const GraphPackOptions&, const Device&);
  Device device_;
  bool symmetric_ = false;
  double reorder_seconds_ = 0;
  Order order_ = Order::original;
  std::string reason_, order_reason_;
  Matrix out_;
  std::optional<Matrix> in_;
  Buffer<NodeId> new_id_, old_id_;
};

/// Packs a pattern for algorithms, on `device`. A pattern on a CUDA device stays there where `device` is the host.
/// Pattern CSR in the caller's order shares the storage of `a`, where `a` is at the same place; nothing is copied.
///
/// Throws usage unless `a` is square, and for a tile side that does not exist; not_possible where the device has too
/// little memory, naming the bytes that are missing. O(n + m), and the cost of the order.
[[nodiscard]] PackedGraph pack_graph(const CsrPattern& a, const GraphPackOptions& options = {},
                                     const Device& device = {});

/// Calls fn(view) with the CsrPatternView or BitTileView<K> of a packed graph's matrix. Only here the format becomes a
/// type.
template <class Fn>
decltype(auto) with_view(const PackedGraph::Matrix& matrix, Fn&& fn) {
  if (const auto* csr = std::get_if<CsrPattern>(&matrix)) return fn(csr->view());
  const auto& tiles = std::get<BitTileMatrix>(matrix);
  return with_tile_dim(tiles.tile_dim(), [&](auto k) { return fn(tiles.view<k()>()); });
}

}  // namespace bitgraph
