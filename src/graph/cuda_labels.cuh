// SPDX-License-Identifier: Apache-2.0
// Labels of components on a CUDA device.
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/core/types.hpp>

namespace bitgraph {

/// Of every node, in the caller's numbering, the smallest node of its component: `root` has a row of it for every row,
/// the same for all of them, `new_id` the row of every node (null: rows are nodes), `smallest` scratch for n nodes. Put
/// on the device's stream.
void give_smallest_labels(const Device& device, NodeId n, const NodeId* new_id, const NodeId* root, NodeId* smallest,
                          NodeId* label);

}  // namespace bitgraph
