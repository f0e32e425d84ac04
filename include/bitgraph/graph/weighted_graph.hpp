// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/edge_weights.hpp>
#include <bitgraph/graph/packed_graph.hpp>

#include <span>

namespace bitgraph {

/// How weights are held.
enum class WeightKind {
  automatic,  ///< integer where every weight is whole and between 1 and 255, else real
  integer,    ///< 1 .. 255, in bit planes
  real,       ///< float
};

/// A packed graph whose edges have lengths. The weights are in the order of the entries of graph().out(), row by row,
/// columns rising, whatever the format; entry number row_start()[i] is the first of row i.
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

/// Packs a pattern with a weight for each of its entries, in their order. Throws usage where the number of weights is
/// not a.nvals(); bad_input, naming the entry, for a weight that is not positive and finite and, for `integer`, one
/// that is not whole or above 255. Else as pack_graph(). The weights are for the host.
[[nodiscard]] WeightedGraph pack_weighted_graph(const CsrPattern& a, std::span<const float> weights,
                                                const GraphPackOptions& options = {},
                                                WeightKind kind = WeightKind::automatic, const Device& device = {});

}  // namespace bitgraph
