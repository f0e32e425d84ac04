// SPDX-License-Identifier: Apache-2.0
#include "nn/sampling/training_batch.hpp"

#include "nn/inference/graph_operands.hpp"

#include <cmath>

namespace bitgraph::nn {

namespace {

/// Entries of each row as fn sees them.
template <class Fn>
Buffer<float> of_row_sizes(const CsrPattern& a, Fn&& fn) {
  Buffer<float> values(a.nrows());
  for (NodeId i = 0; i < a.nrows(); ++i) values[i] = a.row(i).empty() ? 0.0F : fn(static_cast<float>(a.row(i).size()));
  return values;
}

}  // namespace

LayerGraph::LayerGraph(const CsrPattern& block, Aggregation aggregation, const WholeGraphFacts& facts,
                       const Device& device) {
  const CsrPattern whole = has_loops(aggregation) ? with_self_loops(block) : block.clone();
  Buffer<float> mean = of_row_sizes(whole, [](float entries) { return 1.0F / entries; });
  Buffer<float> rows;
  if (aggregation == Aggregation::symmetric) {
    Buffer<float> inputs = of_row_sizes(whole, [](float entries) { return 1.0F / std::sqrt(entries); });
    if (!facts.input_degrees.empty()) {
      inputs = Buffer<float>(facts.input_degrees.size());
      for (std::size_t j = 0; j < inputs.size(); ++j) inputs[j] = 1.0F / std::sqrt(facts.input_degrees[j] + 1);
    }
    rows = Buffer<float>::copy_of(std::as_const(inputs).span().first(whole.nrows()));
    col_scale = inputs.to(device);
  } else if (is_sum(aggregation)) {
    const float own = has_loops(aggregation) ? 1.0F : 0.0F;
    rows = Buffer<float>(whole.nrows(), facts.factor);
    for (NodeId i = 0; i < facts.degrees.size(); ++i) rows[i] = facts.factor * (facts.degrees[i] + own) * mean[i];
  } else {
    rows = mean.clone();
  }
  pattern = whole.to(device);
  transposed = transpose(pattern);
  row_scale = rows.to(device);
  vote_scale = mean.to(device);
}

FeatureEntries::FeatureEntries(CsrPattern rows, Buffer<float> of_rows)
    : pattern(std::move(rows)), values(std::move(of_rows)), present(pattern.nrows(), pattern.ncols()) {
  for (NodeId i = 0; i < pattern.nrows(); ++i) {
    for (const NodeId j : pattern.row(i)) present.set_bit(i, j, true);
  }
}

}  // namespace bitgraph::nn
