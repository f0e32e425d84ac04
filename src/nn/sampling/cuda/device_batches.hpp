// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/train.hpp>

#include "nn/sampling/batch_drawer.hpp"

#include <memory>
#include <vector>

namespace bitgraph::nn {

/// Batches of neighbours that a CUDA device draws itself, bit for bit those of make_batch_drawer(): the draws of two
/// batches ahead run on a stream of their own beside the steps. The arrays are allocated here, for the largest batch
/// that there may be; a call of get() allocates none on the device, and waits for a draw that was asked for two calls
/// before. The data set stays where it is.
///
/// Null where samples are for the host to draw: `device` is the host, batches are random walks, or the arrays of the
/// largest batch would take more than a quarter of the memory that is free. Throws usage where a training node stands
/// twice or is no node of the graph, and where fan-outs and layers that aggregate differ in number. O(nodes + entries)
/// for the graph, which goes to the device.
[[nodiscard]] std::unique_ptr<BatchQueue> make_device_batches(const Dataset& dataset, const TrainOptions& options,
                                                              const std::vector<LayerShape>& shapes,
                                                              const Device& device);

}  // namespace bitgraph::nn
