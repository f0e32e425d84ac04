// SPDX-License-Identifier: Apache-2.0
#include "nn/sampling/training_batch.hpp"

#include "formats/pattern/csr_chunks.hpp"
#include "formats/pattern/transpose_index.hpp"
#include "nn/inference/graph_operands.hpp"
#include "nn/sampling/draws.hpp"

#include <algorithm>
#include <cmath>

namespace bitgraph::nn {

namespace {

CsrPattern with_own_entries(const CsrPattern& block, Aggregation aggregation) {
  return has_loops(aggregation) ? with_self_loops(block) : block.share();
}

std::size_t num_column_scales(const CsrPattern& whole, Aggregation aggregation, const WholeGraphFacts& facts) {
  if (aggregation != Aggregation::symmetric) return 0;
  return facts.input_degrees.empty() ? whole.nrows() : facts.input_degrees.size();
}

/// Row and vote scales, and num_column_scales() of the columns.
void fill_scales(const CsrPattern& whole, Aggregation aggregation, const WholeGraphFacts& facts, std::span<float> rows,
                 std::span<float> columns, std::span<float> votes) {
  const auto entries_of = [&](std::size_t i) {
    return static_cast<float>(whole.row_ptr()[i + 1] - whole.row_ptr()[i]);
  };
  for (std::size_t j = 0; j < columns.size(); ++j) {
    const float entries = facts.input_degrees.empty() ? entries_of(j) : facts.input_degrees[j] + 1;
    columns[j] = entries == 0 ? 0.0F : 1.0F / std::sqrt(entries);
  }
  const float own = has_loops(aggregation) ? 1.0F : 0.0F;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float entries = entries_of(i);
    votes[i] = entries == 0 ? 0.0F : 1.0F / entries;
    rows[i] = votes[i];
    if (aggregation != Aggregation::symmetric && !is_sum(aggregation)) continue;
    const float factor = is_sum(aggregation) ? facts.factor : columns[i];
    rows[i] = facts.degrees.empty() ? factor : drawn_sum_scale(factor, facts.degrees[i] + own, votes[i]);
  }
}

LayerPlaces::Pattern add_pattern(ArrayPack& arrays, NodeId nrows, NodeId ncols, EdgeOffset nvals) {
  return {nrows, ncols, arrays.add<EdgeOffset>(nrows + std::size_t{1}), arrays.add<NodeId>(nvals),
          arrays.add<NodeId>(csr_chunk_bounds(nrows, nvals))};
}

CsrPattern lent(const LayerPlaces::Pattern& at, const ArrayPack& arrays) {
  auto row_ptr = arrays.lend(at.row_ptr);
  auto col_ind = arrays.lend(at.col_ind);
  if (col_ind.device().is_host()) return {at.nrows, at.ncols, std::move(row_ptr), std::move(col_ind), trusted};
  return {at.nrows,       at.ncols, std::move(row_ptr), std::move(col_ind), arrays.lend(at.chunk_row),
          at.longest_row, trusted};
}

}  // namespace

LayerGraph::LayerGraph(const CsrPattern& block, Aggregation aggregation, const WholeGraphFacts& facts,
                       const Device& device) {
  const CsrPattern whole = with_own_entries(block, aggregation);
  Buffer<float> rows(whole.nrows()), votes(whole.nrows());
  Buffer<float> columns(num_column_scales(whole, aggregation, facts));
  fill_scales(whole, aggregation, facts, rows.span(), columns.span(), votes.span());
  pattern = whole.to(device);
  transposed = transpose(pattern);
  row_scale = rows.to(device);
  col_scale = columns.to(device);
  vote_scale = votes.to(device);
}

LayerGraph::LayerGraph(const LayerPlaces& places, const ArrayPack& arrays)
    : pattern(lent(places.pattern, arrays)),
      transposed(lent(places.transposed, arrays)),
      row_scale(arrays.lend(places.row_scale)),
      col_scale(arrays.lend(places.col_scale)),
      vote_scale(arrays.lend(places.vote_scale)) {}

LayerPlaces pack_layer(ArrayPack& arrays, const CsrPattern& block, Aggregation aggregation,
                       const WholeGraphFacts& facts) {
  const CsrPattern whole = with_own_entries(block, aggregation);
  const NodeId nrows = whole.nrows(), ncols = whole.ncols();
  LayerPlaces to{.pattern = add_pattern(arrays, nrows, ncols, whole.nvals()),
                 .transposed = add_pattern(arrays, ncols, nrows, whole.nvals()),
                 .row_scale = arrays.add<float>(nrows),
                 .col_scale = arrays.add<float>(num_column_scales(whole, aggregation, facts)),
                 .vote_scale = arrays.add<float>(nrows)};
  std::ranges::copy(whole.row_ptr(), arrays[to.pattern.row_ptr].begin());
  std::ranges::copy(whole.col_ind(), arrays[to.pattern.col_ind].begin());
  const auto targets = arrays[to.transposed.col_ind];
  transpose_index_into(arrays[to.transposed.row_ptr], whole.device(), {nrows, ncols, whole.row_ptr(), whole.col_ind()},
                       [&](EdgeOffset, EdgeOffset at, NodeId i) { targets[at] = i; });
  fill_scales(whole, aggregation, facts, arrays[to.row_scale], arrays[to.col_scale], arrays[to.vote_scale]);
  for (LayerPlaces::Pattern* const made : {&to.pattern, &to.transposed})
    made->longest_row = csr_chunks_into(arrays[made->chunk_row], arrays[made->row_ptr]);
  return to;
}

FeatureEntries::FeatureEntries(CsrPattern rows, Buffer<float> of_rows)
    : pattern(std::move(rows)), values(std::move(of_rows)), present(pattern.nrows(), pattern.ncols()) {
  for (NodeId i = 0; i < pattern.nrows(); ++i) {
    for (const NodeId j : pattern.row(i)) present.set_bit(i, j, true);
  }
}

}  // namespace bitgraph::nn
