// SPDX-License-Identifier: Apache-2.0
#include "nn/training/receptive_field.hpp"

#include <algorithm>

namespace bitgraph::nn {

namespace {

/// All columns of the given rows, increasing.
std::vector<NodeId> columns_of(const CsrPattern& a, const std::vector<NodeId>& rows) {
  std::vector<bool> seen(a.ncols(), false);
  for (const NodeId i : rows) {
    for (const NodeId j : a.row(i)) seen[j] = true;
  }
  std::vector<NodeId> columns;
  for (NodeId j = 0; j < a.ncols(); ++j) {
    if (seen[j]) columns.push_back(j);
  }
  return columns;
}

/// The rows of a, its columns renumbered by their position in `columns`, which has all that occur.
CsrPattern part_of_rows(const CsrPattern& a, const std::vector<NodeId>& rows, const std::vector<NodeId>& columns) {
  std::vector<NodeId> position(a.ncols(), 0);
  for (NodeId p = 0; p < columns.size(); ++p) position[columns[p]] = p;
  Buffer<EdgeOffset> row_ptr(rows.size() + 1, EdgeOffset{0}, a.device());
  for (std::size_t i = 0; i < rows.size(); ++i) row_ptr[i + 1] = row_ptr[i] + a.row(rows[i]).size();
  Buffer<NodeId> col_ind(row_ptr[rows.size()], a.device());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::transform(a.row(rows[i]).begin(), a.row(rows[i]).end(), col_ind.data() + row_ptr[i],
                   [&](NodeId j) { return position[j]; });
  }
  return {static_cast<NodeId>(rows.size()), static_cast<NodeId>(columns.size()), std::move(row_ptr),
          std::move(col_ind)};
}

Buffer<float> taken(const Buffer<float>& values, const std::vector<NodeId>& nodes) {
  Buffer<float> out(nodes.size(), values.device());
  for (std::size_t n = 0; n < nodes.size(); ++n) out[n] = values[nodes[n]];
  return out;
}

}  // namespace

ReceptiveField::ReceptiveField(const NormalizedGraph& graph, std::vector<NodeId> targets)
    : outputs(std::move(targets)),
      middle(columns_of(graph.pattern, outputs)),
      inputs(columns_of(graph.pattern, middle)),
      first(part_of_rows(graph.pattern, middle, inputs)),
      first_transposed(transpose(first)),
      second(part_of_rows(graph.pattern, outputs, middle)),
      second_transposed(transpose(second)),
      output_scale(taken(graph.scale, outputs)),
      middle_scale(taken(graph.scale, middle)),
      input_scale(taken(graph.scale, inputs)),
      first_mean(middle.size(), first.device()) {
  for (NodeId i = 0; i < middle.size(); ++i) first_mean[i] = 1.0F / static_cast<float>(first.row(i).size());
}

}  // namespace bitgraph::nn
