// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/edge_weights.hpp>
#include <bitgraph/graph/packed_graph.hpp>

#include <span>

namespace bitgraph {

/// The storage of the weights.
enum class WeightKind {
  automatic,  ///< integer where every weight is whole and between 1 and 255, else real
  integer,    ///< 1 .. 255, in bit planes
  real,       ///< float
};

/// A packed graph whose edges have weights, the lengths of the edges. The weights are in the order of the entries of
/// graph().out(): row by row, columns rising, for every format. Entry row_start()[i] is the first one of row i. The
/// weights are on the host.
class WeightedGraph {
 public:
  [[nodiscard]] const PackedGraph& graph() const noexcept { return graph_; }
  [[nodiscard]] bool has_integers() const noexcept { return integer_; }
  [[nodiscard]] const EdgeWeights& integers() const noexcept { return integers_; }       ///< where has_integers()
  [[nodiscard]] std::span<const float> reals() const noexcept { return reals_.span(); }  ///< where not has_integers()
  [[nodiscard]] float largest() const noexcept { return largest_; }                      ///< 0 where there are no edges
  [[nodiscard]] const EdgeOffset* row_start() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  friend WeightedGraph pack_weighted_graph(const CsrPattern&, std::span<const float>, const GraphPackOptions&,
                                           WeightKind, const Device&);
  PackedGraph graph_;
  bool integer_ = true;
  float largest_ = 0;
  EdgeWeights integers_;
  Buffer<float> reals_;
  Buffer<EdgeOffset> row_start_;  ///< for tiles: a CSR has them already
};

/// Packs a pattern with a weight for each of its entries, in their order. Everything else is as in pack_graph(). Throws
/// usage unless there are a.nvals() weights; bad_input, naming the entry, for a weight that is not positive and finite,
/// and with `integer` for one that is not whole or is above 255. O(n + m), and the cost of the order.
[[nodiscard]] WeightedGraph pack_weighted_graph(const CsrPattern& a, std::span<const float> weights,
                                                const GraphPackOptions& options = {},
                                                WeightKind kind = WeightKind::automatic, const Device& device = {});

}  // namespace bitgraph
