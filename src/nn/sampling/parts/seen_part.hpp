// SPDX-License-Identifier: Apache-2.0
// The part of a data set that training may see.
#pragma once

#include <bitgraph/formats/partition.hpp>
#include <bitgraph/io/dataset.hpp>

#include <span>
#include <vector>

namespace bitgraph::nn {

/// What is left of a data set where there are some nodes only, in rising order: the edges between them, their features
/// and labels. All are training nodes.
[[nodiscard]] Dataset part_of(const Dataset& dataset, std::span<const NodeId> nodes);

/// All of a data set of one graph, with the labels of some nodes alone, which are the training nodes. Shares its memory
/// but for the labels.
[[nodiscard]] Dataset with_labels_of(const Dataset& dataset, std::span<const NodeId> nodes);

/// What is left of a data set of many graphs where there are some only: their nodes, edges, features and labels. All
/// are training graphs. O(nodes + entries + features of all).
[[nodiscard]] Dataset graphs_of(const Dataset& dataset, const std::vector<NodeId>& graphs);

/// What is left of a partition where there are some nodes only, in rising order: parts that have none of them are gone.
[[nodiscard]] Partition part_of(const Partition& partition, std::span<const NodeId> nodes);

}  // namespace bitgraph::nn
