// SPDX-License-Identifier: Apache-2.0
// The kernels of multi_source_bfs: one argument struct of views, one overload a backend. One pass: at most 64 * words
// sources. Rows are numbered as in memory. Kernels do not check and do not allocate.
#pragma once

#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include "core/devices/backend.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// What the searches of several passes say of one row; the row itself is left out where it is a source.
struct DistanceSums {
  std::uint64_t sources = 0;   ///< that reach the row
  std::uint64_t distance = 0;  ///< the sum of their distances
  double inverse = 0;          ///< the sum of 1 / distance

  /// `count` sources are `depth` >= 1 away.
  void add(std::uint64_t count, std::int32_t depth) {
    sources += count;
    distance += count * static_cast<std::uint64_t>(depth);
    inverse += static_cast<double>(count) / depth;
  }
};

template <class Graph>
struct MultiSourceBfsArgs {
  Graph out;
  Graph in;
  bool has_in = false;
  const NodeId* sources = nullptr;  ///< the caller's numbers
  std::size_t num_sources = 0;
  const NodeId* new_id = nullptr;  ///< null where rows are numbered as the caller's nodes
  const NodeId* old_id = nullptr;

  NodeId* reached = nullptr;             ///< num_sources
  std::int32_t* eccentricity = nullptr;  ///< num_sources
  std::int32_t* level = nullptr;         ///< null, or for node i, source s at i * level_stride + s; holds -1 everywhere
  std::size_t level_stride = 0;

  // Working memory, which may hold anything.
  std::size_t words = 0;  ///< of a row: 1, 2, 4 or 8
  std::uint64_t* seen = nullptr;
  std::uint64_t* front = nullptr;
  std::uint64_t* next = nullptr;
  std::uint64_t* active = nullptr;  ///< one bit a row
  std::uint64_t* active_next = nullptr;

  DistanceSums* sums = nullptr;  ///< null, or one a row: what this pass finds is added to them
};

template <class Graph>
void multi_source_bfs(const Reference& backend, const MultiSourceBfsArgs<Graph>& args);
template <class Graph>
void multi_source_bfs(const Cpu& backend, const MultiSourceBfsArgs<Graph>& args);

}  // namespace bitgraph
