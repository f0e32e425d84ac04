// SPDX-License-Identifier: Apache-2.0
// Maximal independent sets on one backend: independent_set.cpp for the host, cuda.cu for CUDA devices.
#pragma once

#include <bitgraph/core/types.hpp>

#include "core/devices/backend.hpp"
#include "graph/engine.hpp"

#include <cstdint>
#include <memory>

namespace bitgraph {

class PackedGraph;

class IndependentSetEngine : public Engine {
 public:
  /// Writes 1 or 0 for every node, in the caller's numbering, and returns the size of the set.
  virtual NodeId run(std::uint8_t* member) = 0;
};

/// `graph` must outlive the engine and have in-edges.
[[nodiscard]] std::unique_ptr<IndependentSetEngine> make_independent_set_engine(const Cuda& backend,
                                                                                const PackedGraph& graph,
                                                                                std::uint64_t seed);

}  // namespace bitgraph
