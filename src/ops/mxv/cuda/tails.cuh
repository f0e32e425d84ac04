// SPDX-License-Identifier: Apache-2.0
// The partial sums that chunks leave of rows that end in a later chunk.
#pragma once

#include "ops/mxv/cuda/lanes.cuh"

#include <bitgraph/core/types.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cuda/atomic>

namespace bitgraph::mxv_cuda {

/// Parts of rows that end in a later chunk. A word of 64 bits has 32 of a value and whether they are there: both come
/// with one access, and nobody waits for memory to settle.
template <class T>
struct Tails {
  static constexpr unsigned words_a_value = sizeof(T) / 4;
  static constexpr std::uint64_t there = std::uint64_t{1} << 32U;
  using Word = cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>;

  std::uint64_t* words = nullptr;  ///< words_a_value for each chunk, zero between calls

  __device__ void leave(NodeId c, T sum) const {
    std::uint32_t bits[words_a_value];
    memcpy(bits, &sum, sizeof(T));
    for (unsigned n = 0; n < words_a_value; ++n) {
      Word(words[std::size_t{c} * words_a_value + n]).store(there | bits[n], cuda::memory_order_relaxed);
    }
  }

  /// What the chunks first .. c - 1 have of a row, in their order. For a whole warp; all lanes have it.
  template <class S>
  __device__ T take(NodeId first, NodeId c) const {
    T earlier = S::template identity<T>();
    for (NodeId p = first + threadIdx.x % 32; p < c; p += 32) earlier = S::add(earlier, take_one(p));
    return reduce_among<S>(earlier, 32);
  }

 private:
  __device__ T take_one(NodeId p) const {
    std::uint32_t bits[words_a_value];
    for (unsigned n = 0; n < words_a_value; ++n) {
      const Word word(words[std::size_t{p} * words_a_value + n]);
      std::uint64_t value = 0;
      while ((value = word.load(cuda::memory_order_relaxed)) == 0) {
      }
      word.store(0, cuda::memory_order_relaxed);
      bits[n] = static_cast<std::uint32_t>(value);
    }
    T sum;
    memcpy(&sum, bits, sizeof(T));
    return sum;
  }
};

}  // namespace bitgraph::mxv_cuda
