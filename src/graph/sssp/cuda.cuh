// SPDX-License-Identifier: Apache-2.0
// Shortest paths on a CUDA device. See cuda.cu.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include "graph/packed_graph/cuda_rows.cuh"
#include "graph/sssp/engine.hpp"

#include <cstdint>
#include <type_traits>

namespace bitgraph {

/// Rows and edges of a queue are counted in one word.
inline constexpr int sssp_count_bits = 30;
inline constexpr int sssp_edge_bits = 64 - sssp_count_bits;

/// A queued row: its first edge, the edges of the rows before it in the queue, and its distance when it was queued.
struct SsspQueue {
  EdgeOffset* first = nullptr;
  EdgeOffset* edges_before = nullptr;
  std::uint32_t* distance = nullptr;
};

/// State that all blocks share. A round writes the entry of its number modulo 3.
struct SsspControl {
  unsigned long long queued[3];  ///< rows and edges in the queue, in one word
  std::uint32_t nearest[3];      ///< the least distance among the rows that wait for a later bucket
  NodeId reached;
  unsigned rounds;
};

template <class Weight, class Distance>
struct CudaSsspArgs {
  CsrPatternView out;
  const Weight* weights = nullptr;
  NodeId source = 0;
  Distance delta = 1;                ///< width of a bucket
  Distance long_delta = 1;           ///< of the part of it where rows with many edges are taken on: no more than delta
  EdgeOffset few_edges = 0;          ///< a bucket with no more edges left is not finished before the next is begun
  Distance* distance = nullptr;      ///< n
  std::uint32_t* pending = nullptr;  ///< bits of n rows
  SsspQueue queue;                   ///< n
  SsspControl* control = nullptr;
};

/// Puts a search on the device's stream.
template <class Weight, class Distance>
void launch_sssp(const Device& device, const CudaSsspArgs<Weight, Distance>& args);

/// The searches over one graph and the memory they take.
template <class Distance>
class CudaSssp final : public SsspEngine<Distance> {
 public:
  /// `graph` must outlive this. Throws not_possible for 2^30 nodes or 2^34 edges.
  explicit CudaSssp(const WeightedGraph& graph);

  /// Writes the distance of every node, in the caller's numbering, and returns how many have one. Waits for it.
  NodeId run(NodeId source_row, double delta, Distance* distance) override;

 private:
  using Weight = std::conditional_t<std::is_same_v<Distance, float>, float, std::uint8_t>;

  Device device_;
  CudaRows rows_;
  Buffer<Weight> weights_;
  Buffer<Distance> row_distance_;  ///< where rows are in another order than the caller's nodes
  Buffer<std::uint32_t> pending_;
  Buffer<EdgeOffset> first_, edges_before_;
  Buffer<std::uint32_t> queued_distance_;
  Buffer<SsspControl> control_;
};

}  // namespace bitgraph
