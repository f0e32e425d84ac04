// SPDX-License-Identifier: Apache-2.0
// Shortest paths on one backend: sssp.cpp for the host, cuda.cu for CUDA devices.
#pragma once

#include <bitgraph/core/types.hpp>

#include "core/devices/backend.hpp"
#include "graph/engine.hpp"

#include <memory>

namespace bitgraph {

class WeightedGraph;

template <class Distance>
class SsspEngine : public Engine {
 public:
  /// Writes the distance of every node, in the caller's numbering, and returns how many nodes have one. `delta` is the
  /// width of a bucket, in units of the weights.
  virtual NodeId run(NodeId source_row, double delta, Distance* distance) = 0;
};

/// `graph` must outlive the engine. Throws not_possible for 2^30 nodes or 2^34 edges.
template <class Distance>
[[nodiscard]] std::unique_ptr<SsspEngine<Distance>> make_sssp_engine(const Cuda& backend, const WeightedGraph& graph);

}  // namespace bitgraph
