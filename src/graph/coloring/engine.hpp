// SPDX-License-Identifier: Apache-2.0
// Greedy colouring on one backend: coloring.cpp for the host, cuda.cu for CUDA devices.
#pragma once

#include <bitgraph/core/types.hpp>

#include "core/devices/backend.hpp"
#include "graph/engine.hpp"

#include <cstdint>
#include <memory>

namespace bitgraph {

class PackedGraph;

class ColoringEngine : public Engine {
 public:
  /// Writes the colour of every node, in the caller's numbering, and returns the number of colours.
  virtual std::int32_t run(std::int32_t* color) = 0;
};

/// `graph` must outlive the engine and have in-edges. Throws not_possible for 2^31 nodes.
[[nodiscard]] std::unique_ptr<ColoringEngine> make_coloring_engine(const Cuda& backend, const PackedGraph& graph,
                                                                   std::uint64_t seed);

}  // namespace bitgraph
