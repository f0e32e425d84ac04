// SPDX-License-Identifier: Apache-2.0
// Searches from many sources at once on a CUDA device. See cuda.cu.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include "graph/multi_source_bfs/engine.hpp"
#include "graph/packed_graph/cuda_rows.cuh"

#include <cstdint>

namespace bitgraph {

inline constexpr std::size_t most_source_words = 8;  ///< 64-bit words of a row of sources

/// Rows by the threads that they take, the longest first; rows without entries are not among them.
struct RowsByLength {
  const NodeId* row = nullptr;
  NodeId blocks = 0;  ///< the rows [0, blocks) take a block each
  NodeId warps = 0;   ///< [blocks, warps) a warp each
  NodeId total = 0;   ///< the others a few lanes
};

/// State that all blocks share: the sources that found anything at a level, by its number modulo 3.
struct SourcesFound {
  unsigned long long word[3][most_source_words];
};

struct CudaMultiSourceArgs {
  CsrPatternView in;
  RowsByLength rows;
  const NodeId* sources = nullptr;  ///< the caller's numbers
  unsigned num_sources = 0;
  unsigned words = 0;              ///< of a row: 1, 2, 4 or 8
  const NodeId* new_id = nullptr;  ///< null where rows are numbered as the caller's nodes
  const NodeId* old_id = nullptr;

  NodeId* reached = nullptr;
  std::int32_t* eccentricity = nullptr;
  std::int32_t* level = nullptr;  ///< null, or for node i, source s at i * level_stride + s; holds -1 everywhere
  std::size_t level_stride = 0;

  // Working memory, which may hold anything.
  std::uint64_t* seen = nullptr;
  std::uint64_t* front = nullptr;
  std::uint64_t* next = nullptr;
  std::uint32_t* active = nullptr;  ///< one bit a row, three times: the frontier's at a level modulo 3
  SourcesFound* found = nullptr;
};

/// Puts one pass, at most 64 * words sources, on the device's stream.
void launch_multi_source_bfs(const Device& device, const CudaMultiSourceArgs& args);

/// The searches over one packed graph and the memory they take.
class CudaMultiSourceBfs final : public MultiSourceBfsEngine {
 public:
  /// Scratch for rows of `words` words. `graph` must outlive this. Throws not_possible where it is directed and was
  /// packed without the edges' other direction.
  CudaMultiSourceBfs(const PackedGraph& graph, std::size_t words);

  void run(const MultiSourcePass& pass) override;

 private:
  void sort_rows();

  Device device_;
  CudaRows rows_;
  RowsByLength by_length_;
  Buffer<NodeId> sorted_, sources_, old_id_;
  Buffer<std::uint64_t> seen_, front_, next_;
  Buffer<std::uint32_t> active_;
  Buffer<SourcesFound> found_;
};

}  // namespace bitgraph
