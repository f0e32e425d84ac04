// SPDX-License-Identifier: Apache-2.0
// How large the arrays of a neighbour sample may become: what a device allocates once, for all batches.
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/nn/model.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace bitgraph::nn {

/// The most that a batch may need of one hop, whose layer is rows x inputs.
struct HopPlan {
  std::size_t fan_out = 0;
  Aggregation aggregation{};
  std::size_t rows = 0;
  std::size_t inputs = 0;       ///< the rows among them
  std::size_t drawn = 0;        ///< neighbours
  std::size_t entries = 0;      ///< the same, and a row's own entry where the aggregation takes it in
  std::size_t longest_row = 0;  ///< entries of one row
};

struct SamplePlan {
  std::vector<HopPlan> hops;  ///< as fan_outs: the first has the targets as rows

  /// Of batches of at most `targets` different nodes. `aggregations` has one a layer, in the order of computation: the
  /// last is that of the first hop. Throws usage unless there are as many of them as fan-outs, and at least one.
  /// O(nodes) a hop.
  SamplePlan(const CsrPattern& graph, std::span<const std::size_t> fan_outs, std::span<const Aggregation> aggregations,
             std::size_t targets);

  [[nodiscard]] std::size_t targets() const noexcept { return hops.front().rows; }
  [[nodiscard]] std::size_t inputs() const noexcept { return hops.back().inputs; }

  /// The largest of a member over all hops.
  [[nodiscard]] std::size_t most(std::size_t HopPlan::*member) const noexcept;

  /// Device memory of `samples` samples and of what draws them, the graph with it; about that.
  [[nodiscard]] std::size_t bytes(const CsrPattern& graph, std::size_t samples) const noexcept;
};

}  // namespace bitgraph::nn
