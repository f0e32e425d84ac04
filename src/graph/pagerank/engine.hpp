// SPDX-License-Identifier: Apache-2.0
// PageRank on one backend: pagerank.cpp for the host, cuda.cu for CUDA devices.
#pragma once

#include "core/devices/backend.hpp"
#include "graph/engine.hpp"

#include <memory>

namespace bitgraph {

class PackedGraph;
struct PageRankOptions;
struct PageRankResult;

class PageRankEngine : public Engine {
 public:
  /// Iterates as PageRank says: in single precision until the ranks change by less than single_precision_floor(), then
  /// in double precision. Fills all of `result`, whose rank has an element for each node.
  virtual void run(PageRankResult& result, const PageRankOptions& options) = 0;
};

/// The change of the ranks below which rounding in single precision would show. The relative error of a row's sum is
/// 1e-6 at most; the next iterations pass an error on, 1 / (1 - damping) times in all.
[[nodiscard]] constexpr double single_precision_floor(double damping) { return 1.5e-6 / (1 - damping); }

/// `graph` must outlive the engine and have in-edges.
[[nodiscard]] std::unique_ptr<PageRankEngine> make_pagerank_engine(const Cuda& backend, const PackedGraph& graph,
                                                                   const PageRankOptions& options);

}  // namespace bitgraph
