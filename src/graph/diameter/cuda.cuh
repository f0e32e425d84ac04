// SPDX-License-Identifier: Apache-2.0
// The diameter on a CUDA device. See cuda.cu.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/graph/bfs.hpp>
#include <bitgraph/graph/diameter.hpp>

#include <cstdint>
#include <vector>

namespace bitgraph {

/// What a search tells of the nodes that it reached. Zeros but for the second and the third, which are all ones before.
struct DiameterStep {
  std::uint64_t widest;     ///< of the open nodes: the largest upper bound, and the inverse of the first such node
  std::uint64_t narrowest;  ///< the smallest lower bound, and the first such node
  std::uint64_t farthest;   ///< the first node that is farthest from the source
};

/// The searches over one graph, as diameter.cpp has them: the bounds stay on the device, the host decides.
class CudaDiameter {
 public:
  /// `graph` must outlive this: symmetric, pattern CSR, with a node at least.
  explicit CudaDiameter(const PackedGraph& graph);

  /// Once.
  [[nodiscard]] Diameter run(const DiameterOptions& options);

 private:
  /// A component: its first node, and how many there are.
  struct Part {
    NodeId first = 0;
    NodeId size = 0;
  };

  void find_parts();
  void close(const Part& part, const DiameterOptions& options);
  DiameterStep search_from(NodeId source, bool eccentricities);

  Device device_;
  const PackedGraph& graph_;
  BreadthFirstSearch search_;
  std::vector<Part> parts_;  ///< of two nodes at least, the largest first
  Buffer<std::int32_t> lower_, upper_;
  Buffer<std::uint64_t> step_;
  std::int32_t rest_ = 0;  ///< upper bound of what was not closed
  Diameter result_;
};

}  // namespace bitgraph
