// SPDX-License-Identifier: Apache-2.0
// PageRank over strips. The shares of the columns arrive strip by strip in the shared memory of every multiprocessor.
// The same shared memory holds the sums of the multiprocessor's rows. A random read of a share then comes from shared
// memory, and does not fetch a whole sector from the second-level cache for one value. The pattern is laid out for
// this once: see cuda_strip_layout.cu for the layout and cuda_strips.cu for the iteration.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include "graph/pagerank/cuda_sums.cuh"

#include <cstdint>
#include <optional>

namespace bitgraph::pagerank_cuda {

inline constexpr unsigned strip_threads = 1024;  ///< of a block
inline constexpr unsigned entries_together = 4;  ///< of a thread

/// Where nodes stand. They are ranked by their out-edges, most first, and dealt to the blocks like cards, there and
/// back again. A strip has as many nodes of every block, block after block: a block's nodes of a strip lie together,
/// and the first strips have most entries.
struct Deal {
  unsigned blocks = 0;
  unsigned part = 0;  ///< nodes of one block in a strip; a multiple of 4
  NodeId n = 0;

  [[nodiscard]] __host__ __device__ unsigned strip() const { return part * blocks; }
  [[nodiscard]] __host__ __device__ unsigned block(NodeId i) const {
    const unsigned card = i % blocks;
    return i / blocks % 2 == 0 ? card : blocks - 1 - card;
  }
  /// The number of node i among those of its block.
  [[nodiscard]] __host__ __device__ unsigned slot(NodeId i) const { return i / blocks; }
  [[nodiscard]] __host__ __device__ NodeId node(unsigned block, unsigned slot) const {
    return slot * blocks + (slot % 2 == 0 ? block : blocks - 1 - block);
  }
  /// Where the values of a node are.
  [[nodiscard]] __host__ __device__ NodeId place(unsigned block, unsigned slot) const {
    return slot / part * strip() + block * part + slot % part;
  }
  [[nodiscard]] __host__ __device__ NodeId place(NodeId i) const { return place(block(i), slot(i)); }
  [[nodiscard]] __host__ __device__ NodeId num_places() const { return (n + strip() - 1) / strip() * strip(); }
};

/// An entry: the slot of its row above its column within the strip.
inline constexpr int strip_column_bits = 16;
inline constexpr int strip_slot_bits = 32 - strip_column_bits;

/// A row that several slots, most often of several blocks, add up together; without pieces none.
struct LongRow {
  NodeId place = 0;
  unsigned first_piece = 0;
  unsigned num_pieces = 0;
};

/// The pattern. A block's lists, one for each strip and one of what is far, are sorted by slot and cut into as many
/// equal runs as there are threads. Position k of all runs lies together, four entries a thread (of far ones two).
struct StripView {
  Deal deal;
  unsigned num_near = 0;   ///< strips that are brought; what lies in others is far
  unsigned num_slots = 0;  ///< of a block: of whole rows,
  unsigned all_slots = 0;  ///< and of pieces of long ones
  unsigned num_pieces = 0;
  unsigned num_long = 0;
  const std::uint32_t* near = nullptr;
  const unsigned* near_begin = nullptr;  ///< where each block begins, in `strip_threads` uint4
  const unsigned* near_end = nullptr;    ///< where each block's strips end, from there on
  const ulonglong2* far = nullptr;       ///< slot above place
  const unsigned* far_begin = nullptr;   ///< in `strip_threads` ulonglong2
  const LongRow* long_rows = nullptr;
  const std::uint32_t* is_long = nullptr;  ///< bits of places

  /// Bytes of a block's shared memory.
  [[nodiscard]] __host__ __device__ std::size_t shared_bytes() const;
};

struct StripArgs {
  StripView pattern;
  Nodes<float> nodes;  ///< by place; share has four zeros behind the last place
  float* next_share = nullptr;
  float* piece_sum = nullptr;
  double damping = 0;
  Gathering sums;
};

/// Puts an iteration on the device's stream.
void launch_strips(const Device& device, const StripArgs& args);

/// The pattern over strips, and what is known of the nodes, on the device.
class StripLayout {
 public:
  /// Nothing where it would not pay, where the device cannot do it, or has too little memory: it takes 6 bytes an
  /// entry, and 24 while it is made. Radix sorts: O(n + m).
  [[nodiscard]] static std::optional<StripLayout> make(const Device& device, const CsrPatternView& in,
                                                       const CsrPatternView& out);

  [[nodiscard]] StripView view() const;
  [[nodiscard]] std::size_t bytes() const noexcept;

  /// Equal ranks, by place.
  void start(const Nodes<float>& nodes, const Gathering& sums) const;
  void invert_degrees(const CsrPatternView& out, float* inverse_degree) const;
  /// Ranks by place to ranks by row.
  void order(const float* of_place, float* of_row) const;

 private:
  friend class StripLayoutMaker;
  Device device_;
  StripView view_;
  Buffer<NodeId> row_of_;  ///< of each rank
  Buffer<std::uint32_t> near_, is_long_;
  Buffer<std::uint64_t> far_;
  Buffer<unsigned> near_begin_, near_end_, far_begin_;
  Buffer<LongRow> long_rows_;
};

}  // namespace bitgraph::pagerank_cuda
