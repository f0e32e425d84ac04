// SPDX-License-Identifier: Apache-2.0
// How the groups of a block share its tiles and the chunks of X that come into its shared memory.
#pragma once

#include "ops/gemm/wgmma.cuh"

namespace bitgraph::level_cuda {

using wgmma::group_threads;

constexpr unsigned groups = 4;  ///< that multiply; one more brings X
constexpr unsigned multiplying_threads = groups * group_threads, threads = multiplying_threads + group_threads;
constexpr unsigned most_stages = 12;  ///< chunks of X on their way
constexpr unsigned most_w_parts = 8;  ///< of an image of W, that come one after the other

/// Where a group is in the chunks of its block: a stage, and how often it was filled.
struct Place {
  unsigned stage, parity = 0;

  __device__ void advance(unsigned count, unsigned all) {
    stage += count;
    while (stage >= all) stage -= all, parity ^= 1;
  }
};

}  // namespace bitgraph::level_cuda
