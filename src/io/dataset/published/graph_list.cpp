// SPDX-License-Identifier: Apache-2.0
#include "io/dataset/published/graph_list.hpp"

#include "io/file/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace bitgraph {

namespace {

/// One 1 a row, in these columns.
SparseFeatures one_hot(Buffer<NodeId> columns, NodeId width, const Device& device) {
  const std::size_t rows = columns.size();
  Buffer<EdgeOffset> row_ptr(rows + 1, device);
  std::iota(row_ptr.begin(), row_ptr.end(), EdgeOffset{0});
  return {CsrPattern(static_cast<NodeId>(rows), width, std::move(row_ptr), std::move(columns), trusted),
          Buffer<float>(rows, 1.0F, device)};
}

SparseFeatures label_features(const std::vector<std::int64_t>& labels, const Device& device) {
  std::vector<std::int64_t> different = labels;
  std::sort(different.begin(), different.end());
  different.erase(std::unique(different.begin(), different.end()), different.end());
  Buffer<NodeId> columns(labels.size(), device);
  std::transform(labels.begin(), labels.end(), columns.begin(), [&](std::int64_t label) {
    return static_cast<NodeId>(std::lower_bound(different.begin(), different.end(), label) - different.begin());
  });
  return one_hot(std::move(columns), static_cast<NodeId>(different.size()), device);
}

SparseFeatures degree_features(const CsrPattern& graph, const Device& device) {
  Buffer<NodeId> columns(graph.nrows(), device);
  for (NodeId i = 0; i < graph.nrows(); ++i)
    columns[i] = static_cast<NodeId>(std::min<std::size_t>(graph.row(i).size(), most_degree));
  return one_hot(std::move(columns), most_degree + 1, device);
}

}  // namespace

NodeId GraphList::add_graph(std::uint64_t num_nodes, const std::string& name) {
  if (num_nodes == 0) fail_in(name, fmt::format("graph {} has no nodes", num_graphs()));
  const NodeId first = first_node.back();
  if (num_nodes >= std::numeric_limits<NodeId>::max() - first)
    fail_in(name, fmt::format("2^32 - 1 or more nodes in the first {} graphs", num_graphs() + 1));
  first_node.push_back(first + static_cast<NodeId>(num_nodes));
  return first;
}

Dataset dataset_of(const GraphList& list, const Device& device) {
  const NodeId nodes = list.first_node.back();
  Dataset dataset;
  dataset.graph = csr_from_edges(nodes, nodes, list.from, list.to, {.symmetrize = true, .drop_loops = true}, device);
  dataset.features =
      list.node_labels.empty() ? degree_features(dataset.graph, device) : label_features(list.node_labels, device);
  dataset.first_node = list.first_node;
  return dataset;
}

}  // namespace bitgraph
