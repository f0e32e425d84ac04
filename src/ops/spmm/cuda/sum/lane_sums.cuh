// SPDX-License-Identifier: Apache-2.0
// The sums of a lane.
#pragma once

namespace bitgraph::spmm_cuda {

/// A lane's sums: of four features in each chunk.
template <unsigned Chunks>
struct LaneSums {
  float4 of[Chunks];

  __device__ LaneSums() { clear(); }
  __device__ void clear() {
#pragma unroll
    for (unsigned c = 0; c < Chunks; ++c) of[c] = {0, 0, 0, 0};
  }
};

__device__ inline void add(float4& sum, const float4& terms) {
  sum.x += terms.x;
  sum.y += terms.y;
  sum.z += terms.z;
  sum.w += terms.w;
}

template <unsigned Chunks>
__device__ void add(LaneSums<Chunks>& sum, const LaneSums<Chunks>& other) {
#pragma unroll
  for (unsigned c = 0; c < Chunks; ++c) add(sum.of[c], other.of[c]);
}

}  // namespace bitgraph::spmm_cuda
