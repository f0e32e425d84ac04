// SPDX-License-Identifier: Apache-2.0
// The walk of local clustering on one backend: local_clustering.cpp for the host, cuda.cu for CUDA devices.
#pragma once

#include <bitgraph/core/types.hpp>

#include "core/devices/backend.hpp"
#include "graph/engine.hpp"
#include "graph/local_clustering/push.hpp"

#include <memory>
#include <span>
#include <vector>

namespace bitgraph {

class PackedGraph;

class LocalWalkEngine : public Engine {
 public:
  /// The sum of all degrees.
  [[nodiscard]] EdgeOffset volume() const noexcept { return volume_; }

  /// The rows with rank, in no order.
  [[nodiscard]] virtual std::vector<RankedRow> run(std::span<const NodeId> seed_rows) = 0;

  /// For each of these rows, all different: how many of its entries lead to rows before it in the list.
  [[nodiscard]] virtual std::vector<EdgeOffset> entries_before(std::span<const NodeId> rows) = 0;

 protected:
  EdgeOffset volume_ = 0;
};

/// `graph` must outlive the engine and have in-edges.
[[nodiscard]] std::unique_ptr<LocalWalkEngine> make_local_walk_engine(const Cuda& backend, const PackedGraph& graph,
                                                                      const RankRule& rule);

}  // namespace bitgraph
