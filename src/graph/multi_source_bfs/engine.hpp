// SPDX-License-Identifier: Apache-2.0
// Searches from many sources on one backend: multi_source_bfs.cpp for the host, cuda.cu for CUDA devices.
#pragma once

#include <bitgraph/core/types.hpp>

#include "core/devices/backend.hpp"
#include "graph/engine.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace bitgraph {

class PackedGraph;

/// One pass: its sources, in the caller's numbering on the host, and where its results go, on the graph's device.
struct MultiSourcePass {
  std::span<const NodeId> sources;  ///< at most 64 times the words that the engine was made for
  NodeId* reached = nullptr;        ///< an element a source, as the next
  std::int32_t* eccentricity = nullptr;
  std::int32_t* level = nullptr;  ///< null, or for node i, source s at i * level_stride + s; holds -1 everywhere
  std::size_t level_stride = 0;
};

class MultiSourceBfsEngine : public Engine {
 public:
  virtual void run(const MultiSourcePass& pass) = 0;
};

/// The engine has scratch for rows of `words` words: 1, 2, 4 or 8. `graph` must outlive it. Throws not_possible for a
/// directed graph that was packed without the edges' other direction.
[[nodiscard]] std::unique_ptr<MultiSourceBfsEngine> make_multi_source_bfs_engine(const Cuda& backend,
                                                                                 const PackedGraph& graph,
                                                                                 std::size_t words);

}  // namespace bitgraph
