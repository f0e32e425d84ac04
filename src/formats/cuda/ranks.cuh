// SPDX-License-Identifier: Apache-2.0
// Some of many things, in their order: bits say which, and the bits before a bit are its place among those kept.
#pragma once

#include <bitgraph/core/kernel.cuh>

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/bit_vector.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph::cuda_formats {

inline constexpr unsigned rank_block = 256;  ///< bits that are counted together

/// What a kernel sees of bits and their counts.
struct RankView {
  std::size_t size = 0;
  const std::uint32_t* words = nullptr;
  const EdgeOffset* before = nullptr;  ///< set bits before each block

  [[nodiscard]] __device__ bool bit(std::size_t u) const { return (words[u / 32] >> (u % 32) & 1U) != 0; }

  /// Set bits before bit u; u may be size.
  [[nodiscard]] __device__ EdgeOffset rank(std::size_t u) const {
    EdgeOffset sum = before[u / rank_block];
    for (std::size_t w = u / rank_block * (rank_block / 32); w < u / 32; ++w) sum += __popc(words[w]);
    if (u % 32 != 0) sum += __popc(words[u / 32] & ((1U << (u % 32)) - 1));
    return sum;
  }
};

/// The counts of a set on a CUDA device; the set must outlive them. Waits for the device.
class Ranks {
 public:
  explicit Ranks(const BitVector& bits);
  [[nodiscard]] RankView view() const noexcept { return {size_, words_, before_.data()}; }
  [[nodiscard]] EdgeOffset count() const noexcept { return count_; }  ///< bits that are set

 private:
  std::size_t size_ = 0;
  const std::uint32_t* words_ = nullptr;
  Buffer<EdgeOffset> before_;
  EdgeOffset count_ = 0;
};

inline constexpr unsigned move_warps = 8;  ///< of a block

/// A warp a block of bits.
template <class Move>
__global__ void __launch_bounds__(32 * move_warps) move_blocks(RankView kept, Move move) {
  constexpr unsigned words = rank_block / 32;
  const std::size_t block = std::size_t{blockIdx.x} * move_warps + threadIdx.x / 32;
  const std::size_t first = block * rank_block + threadIdx.x % 32;
  if (block * rank_block >= kept.size) return;
  decltype(move.take(first)) values[words];
  std::uint32_t word[words];
#pragma unroll
  for (unsigned w = 0; w < words; ++w) {
    word[w] = block * rank_block + w * 32 < kept.size ? kept.words[block * words + w] : 0;
    if (first + w * 32 < kept.size) values[w] = move.take(first + w * 32);
  }
  EdgeOffset place = kept.before[block];
#pragma unroll
  for (unsigned w = 0; w < words; ++w) {
    const unsigned below = __popc(word[w] & ((1U << (threadIdx.x % 32)) - 1));
    if ((word[w] >> (threadIdx.x % 32) & 1U) != 0) move.put(place + below, values[w]);
    place += __popc(word[w]);
  }
}

/// For every bit u that is set: move.put(its place among those, move.take(u)). Nothing is done where none is.
template <class Move>
void move_kept(const Ranks& ranks, const Move& move, const Device& device) {
  if (ranks.count() == 0) return;
  const ScopedCudaDevice scope(device.index());
  move_blocks<<<blocks_for(ranks.view().size, rank_block * move_warps), 32 * move_warps, 0, stream_of(device)>>>(
      ranks.view(), move);
  cuda_check_launch("move_blocks");
}

/// Row pointers of what is kept of rows: row_ptr[i] becomes its rank. `nrows` + 1 of them.
[[nodiscard]] Buffer<EdgeOffset> kept_row_ptr(const Ranks& ranks, const EdgeOffset* row_ptr, NodeId nrows,
                                              const Device& device);

}  // namespace bitgraph::cuda_formats
