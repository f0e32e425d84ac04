// SPDX-License-Identifier: Apache-2.0
// Triangle counting on one backend: triangles.cpp for the host, cuda.cu for CUDA devices.
#pragma once

#include <bitgraph/core/buffer.hpp>

#include "core/devices/backend.hpp"
#include "graph/engine.hpp"

#include <cstdint>
#include <memory>

namespace bitgraph {

class PackedGraph;
struct Clustering;

class TriangleEngine : public Engine {
 public:
  [[nodiscard]] virtual std::uint64_t count() = 0;

  /// Writes the triangles of every node, in the caller's numbering, on the graph's device.
  virtual void count_of_nodes(std::uint64_t* counts) = 0;

  /// From the triangles of every node.
  [[nodiscard]] virtual Clustering coefficients(const Buffer<std::uint64_t>& counts) = 0;
};

/// `graph` must outlive the engine.
[[nodiscard]] std::unique_ptr<TriangleEngine> make_triangle_engine(const Cuda& backend, const PackedGraph& graph);

/// Sets average and transitivity. `local` is on the host, `pairs` is the number of pairs of neighbours over all nodes.
/// The local coefficients are added up in the caller's order: the mean does not depend on format, order or device.
void set_means(Clustering& result, const Buffer<double>& local, double pairs);

}  // namespace bitgraph
