// SPDX-License-Identifier: Apache-2.0
// Rows that several blocks of a CUDA kernel add up, each block a run of the entries. A block whose last row ends in a
// later block leaves its partial sum for that block in the device's workspace.
#pragma once

#include "ops/spmm/cuda/schedule/spans.cuh"
#include "ops/spmm/cuda/sum/by_rows.cuh"

namespace bitgraph::spmm_cuda {

/// What blocks have of rows that end in later blocks, and whether it is there yet: for each slice of features.
struct Tails {
  float4* value = nullptr;
  Flags flags;
  unsigned blocks = 0;  ///< that leave any, of a slice

  template <unsigned Group, unsigned Chunks>
  __device__ void leave(const LaneSums<Chunks>& sum) const {
    const std::size_t place = std::size_t{blockIdx.y} * blocks + blockIdx.x;
#pragma unroll
    for (unsigned c = 0; c < Chunks; ++c) __stcg(value + (place * Chunks + c) * Group + threadIdx.x % Group, sum.of[c]);
    __threadfence();
    __syncwarp(group_lanes<Group>());
    if (threadIdx.x % Group == 0) flags.set(place);
  }

  /// Those of the blocks from `first` up to this one, in their order; for a group of lanes.
  template <unsigned Group, unsigned Chunks>
  __device__ LaneSums<Chunks> take(std::size_t first) const {
    const std::size_t slice = std::size_t{blockIdx.y} * blocks;
    const unsigned own = threadIdx.x % Group;
    flags.await(slice + first, slice + blockIdx.x, own, Group);
    __syncwarp(group_lanes<Group>());
    LaneSums<Chunks> sum;
#pragma unroll 4
    for (std::size_t place = slice + first; place < slice + blockIdx.x; ++place) {
#pragma unroll
      for (unsigned c = 0; c < Chunks; ++c) add(sum.of[c], __ldcg(value + (place * Chunks + c) * Group + own));
    }
    return sum;
  }

  template <unsigned Group, unsigned Chunks>
  static std::size_t bytes(unsigned blocks, unsigned slices) {
    return std::size_t{blocks} * slices * Chunks * Group * sizeof(float4);
  }
  /// In the device's workspace, from the beginning on.
  static Tails in_workspace(const Device& device, std::size_t bytes, unsigned blocks, unsigned slices) {
    return {
        static_cast<float4*>(device.workspace(bytes)),
        {static_cast<std::uint32_t*>(device.zeroed_workspace(std::size_t{blocks} * slices * sizeof(std::uint32_t)))},
        blocks};
  }
};

}  // namespace bitgraph::spmm_cuda
