// SPDX-License-Identifier: Apache-2.0
// The kernels of bfs: one argument struct of views, one overload a backend. See include/bitgraph/graph/bfs.hpp for what
// is computed. Rows are numbered as in memory. Kernels do not check and do not allocate.
#pragma once

#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include "core/devices/backend.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// The queue may be written to that many elements behind its last one.
inline constexpr std::size_t queue_slack = 64;

struct BfsCounts {
  std::int32_t num_levels = 0;
  NodeId reached = 0;
};

template <class Graph>
struct BfsArgs {
  Graph out;
  Graph in;             ///< out where the graph is symmetric
  bool has_in = false;  ///< else only out is there
  NodeId source = 0;
  NodeId max_degree = 0;          ///< of a row of out
  std::int32_t unreached = -1;    ///< the level of what is not reached
  std::int32_t* level = nullptr;  ///< n; holds anything
  BfsCounts* counts = nullptr;

  // Working memory: sets of rows as bits, and a queue of n + queue_slack rows. What they hold does not matter, but for
  // the first: the rows that no edge leads to. Bits behind the last row are set there.
  const std::uint64_t* unreachable = nullptr;
  std::uint64_t* visited = nullptr;
  std::uint64_t* front = nullptr;
  std::uint64_t* next = nullptr;
  NodeId* queue = nullptr;
};

template <class Graph>
void bfs(const Reference& backend, const BfsArgs<Graph>& args);
template <class Graph>
void bfs(const Cpu& backend, const BfsArgs<Graph>& args);

}  // namespace bitgraph
