// SPDX-License-Identifier: Apache-2.0
// What a warp does with one row of a sample: it chooses neighbours, and sorts up to 64 columns. All lanes take part.
#pragma once

#include <bitgraph/core/kernel.cuh>
#include <bitgraph/core/types.hpp>

#include "core/cuda/random.cuh"

#include <cstdint>

namespace bitgraph::nn::cuda_sampling {

/// A row that draws some of its neighbours.
struct RowDraws {
  std::uint64_t seed = 0;  ///< of the batch
  std::uint32_t hop = 0;
  NodeId node = 0;
  NodeId degree = 0;
  NodeId taken = 0;  ///< less than degree

  /// What call `n` of NodeDraws::below(bound) gives.
  [[nodiscard]] __device__ NodeId below(NodeId bound, NodeId n) const {
    const uint4 words = cuda_random_words({seed, hop, n / 4}, node);
    const std::uint32_t low = n % 2 == 0 ? words.x : words.y;
    const std::uint32_t high = n % 2 == 0 ? words.z : words.w;
    return static_cast<NodeId>(std::uint64_t{n % 4 < 2 ? low : high} * bound >> 32U);
  }
};

/// Most draws of a row that are made at once.
inline constexpr NodeId few_draws = 64;

/// Calls take(at, n) for each neighbour n of at most few_draws that are chosen, `at` below row.taken and of this
/// lane, in no order of n. Floyd's way (Bentley and Floyd, CACM 1987): draw c is of the numbers below first + c, and a
/// number that was taken before gives way to the largest of them. All draws are made first; each is then compared with
/// what the lanes have taken.
template <class Take>
__device__ void choose_few(const RowDraws& row, Take&& take) {
  const unsigned lane = threadIdx.x % 32;
  const NodeId first = row.degree - row.taken + 1;
  NodeId low = row.below(first + lane, lane);
  NodeId high = row.taken > 32 ? row.below(first + lane + 32, lane + 32) : 0;
  for (unsigned c = 1; c < row.taken; ++c) {
    const NodeId drawn = __shfl_sync(full_warp, c < 32 ? low : high, c % 32);
    const bool same = (lane < c && low == drawn) || (lane + 32 < c && high == drawn);
    const bool again = __any_sync(full_warp, same);
    if (!again || lane != c % 32) continue;
    if (c < 32) {
      low = first + c - 1;
    } else {
      high = first + c - 1;
    }
  }
  if (lane < row.taken) take(lane, low);
  if (lane + 32 < row.taken) take(lane + 32, high);
}

/// The same of any number, n rising with `at`. One by one along all of them (Knuth, The Art of Computer Programming 2,
/// algorithm 3.4.2 S): neighbour n is taken where its draw is below the number that is still to take. A lane has a
/// neighbour; those whose draws are not below that number already at the warp's first are out at once.
template <class Take>
__device__ void choose_many(const RowDraws& row, Take&& take) {
  const unsigned lane = threadIdx.x % 32;
  NodeId chosen = 0;
  for (NodeId begin = 0; chosen < row.taken; begin += 32) {
    const NodeId n = begin + lane;
    const NodeId left = row.taken - chosen;
    const NodeId drawn = n < row.degree ? row.below(row.degree - n, n) : left;
    unsigned candidates = __ballot_sync(full_warp, drawn < left);
    unsigned selected = 0;
    for (; candidates != 0; candidates &= candidates - 1) {
      const unsigned at = __ffs(static_cast<int>(candidates)) - 1;
      if (__shfl_sync(full_warp, drawn, at) + __popc(selected) < left) selected |= 1U << at;
    }
    if ((selected >> lane & 1U) != 0) take(chosen + __popc(selected & lanes_below()), n);
    chosen += __popc(selected);
  }
}

/// Sorts sequences of `width` lanes, a power of two, that rise and then fall or the other way round.
[[nodiscard]] __device__ inline NodeId bitonic_merged(NodeId value, unsigned width, bool rising) {
  for (unsigned step = width / 2; step != 0; step /= 2) {
    const NodeId other = __shfl_xor_sync(full_warp, value, step);
    const bool keeps_smaller = ((threadIdx.x & step) == 0) == rising;
    value = keeps_smaller ? min(value, other) : max(value, other);
  }
  return value;
}

[[nodiscard]] __device__ inline NodeId warp_sorted(NodeId value, bool rising) {
  for (unsigned width = 2; width < 32; width *= 2) value = bitonic_merged(value, width, (threadIdx.x & width) == 0);
  return bitonic_merged(value, 32, rising);
}

/// Sorts 64 values, `high` behind `low`; where `two` is not set, which is the same for all lanes, only `low`.
__device__ inline void sort_row(NodeId& low, NodeId& high, bool two) {
  low = warp_sorted(low, true);
  if (!two) return;
  high = warp_sorted(high, false);
  const NodeId smaller = min(low, high);
  high = bitonic_merged(max(low, high), 32, true);
  low = bitonic_merged(smaller, 32, true);
}

}  // namespace bitgraph::nn::cuda_sampling
