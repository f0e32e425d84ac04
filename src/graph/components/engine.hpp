// SPDX-License-Identifier: Apache-2.0
// Connected components on one backend: components.cpp for the host, cuda.cu for CUDA devices.
#pragma once

#include <bitgraph/core/types.hpp>

#include "core/devices/backend.hpp"
#include "graph/engine.hpp"

#include <memory>

namespace bitgraph {

class PackedGraph;

class ComponentsEngine : public Engine {
 public:
  /// Writes the label of every node, in the caller's numbering, and returns the number of components.
  virtual NodeId run(NodeId* label) = 0;
};

/// `graph` must outlive the engine.
[[nodiscard]] std::unique_ptr<ComponentsEngine> make_components_engine(const Cuda& backend, const PackedGraph& graph);

/// Strongly connected components: strong_components/strong_components.cpp and strong_components/cuda.cu. `graph` must
/// outlive the engine.
[[nodiscard]] std::unique_ptr<ComponentsEngine> make_strong_components_engine(const Cuda& backend,
                                                                              const PackedGraph& graph);

}  // namespace bitgraph
