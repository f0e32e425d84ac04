// SPDX-License-Identifier: Apache-2.0
// The kernels of sssp: one argument struct of views, one overload a backend. See include/bitgraph/graph/sssp.hpp for
// what is computed. Rows are numbered as in memory. Kernels do not check and do not allocate.
#pragma once

#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include "core/devices/backend.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// Rows wait in lists of chunks: the number of the next chunk, how many rows, and the rows.
inline constexpr std::size_t chunk_size = 64;
inline constexpr std::size_t chunk_capacity = chunk_size - 2;

/// The slots of a ring of buckets: a power of two.
inline constexpr std::size_t most_slots = 1024;

template <class Graph, class Weight, class Distance>
struct SsspArgs {
  Graph out;
  const EdgeOffset* row_start = nullptr;  ///< where a row's weights are
  const Weight* weights = nullptr;
  NodeId source = 0;
  double per_delta = 1;          ///< buckets a unit of distance: one over delta; a power of two for whole distances
  std::size_t slots = 2;         ///< more than a weight can lead ahead, in buckets, by at least two
  Distance* distance = nullptr;  ///< n; holds anything

  // Working memory; what it holds does not matter.
  Distance* settled = nullptr;  ///< n: the distance that a row's edges were last followed with
  NodeId* chunks = nullptr;     ///< num_chunks chunks; with too few of them it is slower
  std::size_t num_chunks = 0;
  NodeId* buckets = nullptr;  ///< threads * slots: the first chunk of each
  int threads = 1;
};

template <class Graph, class Weight, class Distance>
void sssp(const Reference& backend, const SsspArgs<Graph, Weight, Distance>& args);
template <class Graph, class Weight, class Distance>
void sssp(const Cpu& backend, const SsspArgs<Graph, Weight, Distance>& args);

}  // namespace bitgraph
