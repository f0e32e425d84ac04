// SPDX-License-Identifier: Apache-2.0
#include "nn/sampling/parts/seen_part.hpp"

#include <bitgraph/nn/sampling.hpp>
#include <bitgraph/ops/dense.hpp>

#include "io/dataset/dataset.hpp"
#include "nn/inference/input_features.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace bitgraph::nn {

namespace {

/// The graph and features of some nodes.
Dataset rows_of(const Dataset& dataset, std::span<const NodeId> nodes) {
  Dataset part;
  part.name = dataset.name;
  part.num_classes = dataset.num_classes;
  if (dataset.has_dense_features()) {
    part.dense_features = DenseMatrix<float>(nodes.size(), dataset.num_features());
    gather_rows_into(part.dense_features, dataset.dense_features, nodes);
  } else {
    part.features = features_of(dataset.features, nodes);
  }
  part.graph = induced_subgraph(dataset.graph, nodes);
  return part;
}

/// All are for training.
void take_samples(Dataset& part, const Dataset& dataset, std::span<const NodeId> samples) {
  part.labels.reserve(samples.size());
  for (const NodeId sample : samples) part.labels.push_back(dataset.labels[sample]);
  part.train.resize(samples.size());
  std::iota(part.train.begin(), part.train.end(), NodeId{0});
}

}  // namespace

Dataset part_of(const Dataset& dataset, std::span<const NodeId> nodes) {
  Dataset part = rows_of(dataset, nodes);
  take_samples(part, dataset, nodes);
  return part;
}

Dataset with_labels_of(const Dataset& dataset, std::span<const NodeId> nodes) {
  Dataset labelled{.name = dataset.name,
                   .graph = dataset.graph.share(),
                   .features = {dataset.features.pattern.share(), dataset.features.values.share()},
                   .dense_features = dataset.dense_features.share(),
                   .labels = std::vector<std::int32_t>(dataset.labels.size(), unlabelled),
                   .num_classes = dataset.num_classes};
  for (const NodeId node : nodes) labelled.labels[node] = dataset.labels[node];
  labelled.train.assign(nodes.begin(), nodes.end());
  return labelled;
}

Dataset graphs_of(const Dataset& dataset, const std::vector<NodeId>& graphs) {
  Dataset part = rows_of(dataset, dataset.nodes_of(graphs));
  part.first_node = {0};
  for (const NodeId g : graphs)
    part.first_node.push_back(part.first_node.back() + dataset.first_node[g + std::size_t{1}] - dataset.first_node[g]);
  take_samples(part, dataset, graphs);
  return part;
}

Partition part_of(const Partition& partition, std::span<const NodeId> nodes) {
  std::vector<NodeId> number(partition.num_parts(), 0);
  for (const NodeId node : nodes) number[partition.part_of()[node]] = 1;
  NodeId parts = 0;
  for (NodeId& part : number) part = part != 0 ? parts++ : 0;
  std::vector<NodeId> left;
  left.reserve(nodes.size());
  for (const NodeId node : nodes) left.push_back(number[partition.part_of()[node]]);
  return Partition(std::move(left), std::max<NodeId>(1, parts));
}

}  // namespace bitgraph::nn
