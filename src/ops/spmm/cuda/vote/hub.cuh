// SPDX-License-Identifier: Apache-2.0
// Counters of a row that the sets of a warp, or the warps of a block, count together.
#pragma once

#include "ops/cuda_vote_counters.cuh"
#include "ops/spmm/cuda/block.hpp"
#include "ops/spmm/cuda/epilogue/emit.cuh"

namespace bitgraph::spmm_cuda {

constexpr int any_planes = 32;
constexpr unsigned batch = cuda_spmm_tuning().vote.batch;  ///< neighbours a set of lanes takes at a time

/// Adds the counters of a warp's sets of lanes; every set has the sum. Counts have `planes` bits at most.
template <int Lanes, int Planes>
__device__ void add_sets(BitCounter<Planes>& counter, int planes) {
#pragma unroll
  for (unsigned step = Lanes; step < 32; step *= 2) {
    counter.add_counter(planes, [&](int p) { return __shfl_xor_sync(full_warp, counter.plane[p], step); });
  }
}

/// The counters of a hub, one a warp, in shared memory: plane by plane.
template <int Words>
struct HubCounts {
  std::uint32_t plane[block_warps][any_planes][Words];

  /// Adds to a lane's count of `warp` another, whose plane p is other(p); counts have `planes` bits.
  template <class Other>
  __device__ void add(unsigned warp, unsigned lane, int planes, const Other& other) {
    std::uint32_t carry = 0;
    for (int p = 0; p < planes; ++p) carry = add_bits(plane[warp][p][lane], other(p), carry);
  }
};

/// The warps' counts of a hub, half of them onto the other half, and so on; the first warp's are those of the row.
template <int Words>
__device__ void add_warps(HubCounts<Words>& counts, int planes) {
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  for (unsigned half = block_warps / 2; half != 0; half /= 2) {
    __syncthreads();
    if (warp < half && lane < Words) {
      counts.add(warp, lane, planes, [&](int p) { return counts.plane[warp + half][p][lane]; });
    }
  }
  __syncthreads();
}

template <int Words, class Args>
__device__ void emit_hub(const Args& args, const HubCounts<Words>& counts, const Counted& counted, int planes) {
  using Out = std::remove_cvref_t<decltype(args.out)>;
  if constexpr (is_bits<Out>) {
    if (is_plain<Out> || args.epilogue.is_identity()) {
      if (threadIdx.x % 32 >= Words || counted.row == no_row) return;
      const std::uint32_t threshold = counted.n / 2 + counted.n % 2;
      std::uint32_t votes = ~0U;
      for (int p = 0; p < planes; ++p) {
        votes = compare_plane(votes, counts.plane[0][p][threadIdx.x % 32], (threshold >> p) & 1U);
      }
      *half_word(args.out, counted.row, counted.word) = votes & feature_mask(args.x.ncols, counted.word);
      return;
    }
  }
  emit_numbers(args, &counts.plane[0][0][0], counted, Words, planes);
}

}  // namespace bitgraph::spmm_cuda
