// SPDX-License-Identifier: Apache-2.0
// A graph as the layers' aggregations see it.
#pragma once

#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/row_order.hpp>
#include <bitgraph/formats/sell_pattern.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/nn/plan.hpp>
#include <bitgraph/nn/program.hpp>

#include "nn/model/layer_forms.hpp"
#include "nn/updates/changing_rows.hpp"

#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bitgraph::nn {

/// What is aggregated over: rows of `pattern`, with row i scaled by row_scale[i] and what comes from j by col_scale[j].
/// Empty scales are ones. A vote takes the pattern alone.
struct AggregationOperand {
  const CsrPattern* pattern = nullptr;
  std::span<const float> row_scale;
  std::span<const float> col_scale;
};

/// Whether A + I is aggregated over, not A.
[[nodiscard]] bool has_loops(Aggregation aggregation) noexcept;

/// The patterns and scales of one graph on a device, each made when it is first asked for. `a` must stay until the last
/// one is made.
class GraphOperands {
 public:
  /// With room for some nodes `a` stays as long as this object, and changes with replace(): on the host nothing is
  /// copied of it. `readout` is graphs x nodes where a model classifies graphs (readout_matrix), else empty.
  GraphOperands(const CsrPattern& a, Device device, PlanCapacity capacity = {}, const CsrPattern& readout = {});

  /// Another graph in the place of the one before.
  void reset(const CsrPattern& a);

  /// The rows `rows` of the kept graph `a` have become these. On the host only they change.
  void replace(const CsrPattern& a, std::span<const ChangingRows::Row> rows);

  /// What the aggregation goes over: A, or A + I.
  [[nodiscard]] const CsrPattern& pattern_of(Aggregation aggregation) {
    return has_loops(aggregation) ? with_loops() : plain();
  }

  /// Pattern and scales. The aggregation must not be `none`.
  [[nodiscard]] AggregationOperand of(Aggregation aggregation);

  /// The scales alone; the pattern is null.
  [[nodiscard]] AggregationOperand scales_of(Aggregation aggregation);

  /// degree_root() of each node. The roots are of one kind, which those who share the operands agree on.
  [[nodiscard]] std::span<const float> degree_roots(DegreeRoot root);

  /// Rows first .. last - 1 of the pattern of `of(aggregation)`, a copy on the device.
  [[nodiscard]] CsrPattern rows_of(Aggregation aggregation, NodeId first, NodeId last) const;

  /// All rows in `blocks` patterns that stay on the device; always the same number of them. Instead of the whole.
  [[nodiscard]] const std::vector<CsrPattern>& blocks_of(Aggregation aggregation, std::size_t blocks);

  /// The same as SELL, of the host.
  [[nodiscard]] const std::vector<SellPattern>& sell_blocks_of(Aggregation aggregation, std::size_t blocks);

  [[nodiscard]] const CsrPattern& graph() const noexcept { return *a_; }

  /// The pattern of `of(aggregation)` in other formats, for votes and products of planes. SELL is of the host.
  [[nodiscard]] const SellPattern& sell(Aggregation aggregation);
  [[nodiscard]] const BitTileMatrix& tiles(Aggregation aggregation, int tile_dim);

  /// Of those that are there: with loops, where there are both.
  [[nodiscard]] std::size_t num_tiles() const noexcept;

  /// The order of the rows of one of the patterns that stay, as a form by length has it.
  [[nodiscard]] const RowOrder& row_order(const CsrPattern& pattern, GraphForm form);

  /// Which nodes a readout adds up for each graph.
  [[nodiscard]] const CsrPattern& readout() const noexcept { return readout_; }
  /// 0: nodes are classified.
  [[nodiscard]] std::size_t num_graphs() const noexcept { return readout_.nrows(); }

  [[nodiscard]] std::size_t num_nodes() const noexcept { return num_nodes_; }
  [[nodiscard]] EdgeOffset entries() const noexcept { return entries_; }
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  [[nodiscard]] bool stays() const noexcept { return capacity_.nodes != 0 && device_.is_host(); }
  const CsrPattern& plain();
  const CsrPattern& with_loops();

  const CsrPattern* a_;
  std::size_t num_nodes_;
  EdgeOffset entries_;
  Device device_;
  PlanCapacity capacity_;
  CsrPattern readout_;
  std::unique_ptr<CsrPattern> plain_, with_loops_;
  std::unique_ptr<ChangingRows> changing_;  ///< A + I of a graph that is kept on the host
  Buffer<float> symmetric_, mean_with_self_, mean_, degree_roots_;
  std::map<bool, std::vector<CsrPattern>> blocks_;  ///< with loops, and without
  std::map<bool, std::vector<SellPattern>> sell_blocks_;
  std::map<std::pair<const CsrPattern*, GraphForm>, RowOrder> row_orders_;
  std::map<const CsrPattern*, SellPattern> sell_;
  std::map<const CsrPattern*, BitTileMatrix> tiles_;  ///< of one side
};

}  // namespace bitgraph::nn
