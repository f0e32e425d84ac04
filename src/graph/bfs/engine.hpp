// SPDX-License-Identifier: Apache-2.0
// A breadth-first search on one backend: bfs.cpp for the host, cuda_search.cu for CUDA devices.
#pragma once

#include "core/devices/backend.hpp"
#include "graph/engine.hpp"

#include <cstdint>
#include <memory>

namespace bitgraph {

class PackedGraph;
struct BfsOptions;
struct BfsResult;

class BfsEngine : public Engine {
 public:
  /// Fills `result`. The source is a node of the graph. `result.level` has an element for each node; the engine
  /// allocates `result.parent` where the options ask for parents.
  virtual void run(BfsResult& result, const BfsOptions& options, std::int32_t unreached) = 0;
};

/// Refers to `graph`. Throws not_possible unless the graph has both directions.
[[nodiscard]] std::unique_ptr<BfsEngine> make_bfs_engine(const Cuda& backend, const PackedGraph& graph);

}  // namespace bitgraph
