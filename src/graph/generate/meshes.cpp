// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/core/random.hpp>
#include <bitgraph/graph/generate.hpp>

#include "core/preconditions.hpp"
#include "core/threads/parallel.hpp"
#include "graph/generate/edges.hpp"

#include <limits>
#include <utility>
#include <vector>

namespace bitgraph {

CsrPattern generate_grid(NodeId width, NodeId height, const Device& device) {
  require_host(device, "generate_grid");
  require(std::uint64_t{width} * height < std::numeric_limits<NodeId>::max(), "grid: more than 2^32 - 2 nodes");
  GeneratedEdges edges(2 * std::size_t{width} * height);
  parallel_for(device, std::size_t{width} * height, generator_grain, [&](std::size_t n) {
    const auto i = static_cast<NodeId>(n);
    edges.rows[2 * n] = edges.rows[2 * n + 1] = i;
    edges.cols[2 * n] = i % width + 1 < width ? i + 1 : i;  // a loop where there is no neighbour: loops are dropped
    edges.cols[2 * n + 1] = i / width + 1 < height ? i + width : i;
  });
  return edges.symmetric(width * height, device);
}

CsrPattern generate_mesh(NodeId width, NodeId height, std::uint64_t seed, bool shuffled, const Device& device) {
  require_host(device, "generate_mesh");
  require(std::uint64_t{width} * height < std::numeric_limits<NodeId>::max(), "mesh: more than 2^32 - 2 nodes");
  const NodeId n = width * height;
  std::vector<NodeId> name(n);
  for (NodeId i = 0; i < n; ++i) name[i] = i;
  // Fisher and Yates: every order is equally likely.
  for (NodeId i = n; shuffled && i > 1; --i) std::swap(name[i - 1], name[random_below({seed, 30, 0}, i, i)]);
  GeneratedEdges edges(3 * std::size_t{n});
  parallel_for(device, n, generator_grain, [&](std::size_t at) {
    const auto i = static_cast<NodeId>(at);
    const bool right = i % width + 1 < width;
    const bool below = i / width + 1 < height;
    const bool falling = random_below({seed, 31, 0}, i, 2) == 0;
    for (std::size_t e = 0; e < 3; ++e) edges.rows[3 * at + e] = edges.cols[3 * at + e] = name[i];
    if (right) edges.cols[3 * at] = name[i + 1];
    if (below) edges.cols[3 * at + 1] = name[i + width];
    if (right && below) {
      edges.rows[3 * at + 2] = name[falling ? i : i + 1];
      edges.cols[3 * at + 2] = name[falling ? i + width + 1 : i + width];
    }
  });
  return edges.symmetric(n, device);
}

}  // namespace bitgraph
