// SPDX-License-Identifier: Apache-2.0
// Rows that several blocks of a CUDA kernel add up, each block a run of the entries. A block whose last row ends in a
// later block leaves its partial sum for that block in the device's workspace. StreamShape says
// how many blocks a stream of entries has.
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/core/kernel.cuh>

#include "ops/spmm/cuda/epilogue/emit.cuh"
#include "ops/spmm/cuda/schedule/flags.cuh"
#include "ops/spmm/cuda/schedule/spans.cuh"
#include "ops/spmm/cuda/sum/lane_sums.cuh"

#include <cstddef>
#include <cstdint>

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

/// Whether the next kernel may be brought up while blocks of `items` run: not where they take long and half fill the
/// device, for its blocks then go where there is space, more to some multiprocessors than to others.
inline bool lets_next_begin(unsigned items, std::size_t blocks, unsigned at_once) {
  const CudaSumTuning& t = cuda_spmm_tuning().sum;
  return items < t.long_span || 5 * blocks >= t.full_fifths * std::size_t{at_once};
}

/// Slices of as many features as a group has; a binary output has all the words of its rows written.
template <unsigned Group, unsigned Chunks = 1, class Out>
unsigned num_slices(const Out& out) {
  constexpr std::size_t features = Group * own_features * Chunks;
  return static_cast<unsigned>(((out.ncols + 63) / 64 * 64 + features - 1) / features);
}

/// The blocks of a stream over spans of rows and entries, and the bytes of what they leave for later ones.
struct StreamShape {
  unsigned items, blocks, slices, multiprocessors;
  std::size_t tail_bytes;

  template <unsigned Group, class Reader>
  static StreamShape of(const CsrPatternView& a, unsigned slices, unsigned multiprocessors) {
    const std::size_t at_once = std::size_t{Reader::blocks} * multiprocessors;
    const unsigned items = span_items(a, Reader::most_span_items, at_once, slices, Reader::bringing);
    const unsigned blocks = blocks_for(std::size_t{a.nrows} + a.num_entries, items);
    return {items, blocks, slices, multiprocessors, Tails::bytes<Group, Reader::chunks>(blocks, slices)};
  }

  [[nodiscard]] Tails tails(const Device& device) const {
    return Tails::in_workspace(device, tail_bytes, blocks, slices);
  }

  [[nodiscard]] bool lets_next_begin(unsigned blocks_at_once) const {
    return spmm_cuda::lets_next_begin(items, std::size_t{blocks} * slices, blocks_at_once * multiprocessors);
  }
};

}  // namespace bitgraph::spmm_cuda
