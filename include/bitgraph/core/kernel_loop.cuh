// SPDX-License-Identifier: Apache-2.0
// What kernels in public headers share. Included by kernel_loop.hpp where nvcc compiles it.
#pragma once

#include <bitgraph/core/kernel.cuh>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bitgraph::detail {

inline constexpr unsigned kernel_threads = 256;  ///< threads of a block

/// The number of blocks for `items` items, if a block takes so many of them.
[[nodiscard]] inline unsigned kernel_blocks(std::size_t items, std::size_t a_block) noexcept {
  return static_cast<unsigned>((items + a_block - 1) / a_block);
}

/// A value of any plain type from the lane that `shuffle` takes words of 32 bits from.
template <class T, class Shuffle>
__device__ T shuffled(const T& value, const Shuffle& shuffle) {
  constexpr unsigned words = (sizeof(T) + 3) / 4;
  std::uint32_t word[words]{};
  memcpy(word, &value, sizeof(T));
#pragma unroll
  for (unsigned w = 0; w < words; ++w) word[w] = shuffle(word[w]);
  T other;
  memcpy(&other, word, sizeof(T));
  return other;
}

/// Elements of a loop that a thread takes at once: enough bytes on their way for the memory's latency.
template <class T>
inline constexpr unsigned taken_at_once = sizeof(T) <= 4 ? 8 : (sizeof(T) <= 8 ? 4 : 2);

template <class Body>
__global__ void __launch_bounds__(kernel_threads) run_loop(Body body, std::size_t n) {
  using Value = decltype(body.take(n));
  constexpr unsigned at_once = taken_at_once<Value>;
  const std::size_t first = std::size_t{blockIdx.x} * at_once * kernel_threads + threadIdx.x;
  Value taken[at_once];
  if (first + (at_once - 1) * kernel_threads < n) {
#pragma unroll
    for (unsigned k = 0; k < at_once; ++k) taken[k] = body.take(first + k * kernel_threads);
#pragma unroll
    for (unsigned k = 0; k < at_once; ++k) body.put(first + k * kernel_threads, taken[k]);
  } else {
    for (std::size_t i = first; i < n; i += kernel_threads) body.put(i, body.take(i));
  }
}

template <class Body>
void kernel_loop(const Device& device, std::size_t n, const Body& body) {
  using Value = decltype(body.take(n));
  if (n == 0) return;
  const ScopedCudaDevice scope(device.index());
  run_loop<<<kernel_blocks(n, std::size_t{taken_at_once<Value>} * kernel_threads), kernel_threads, 0,
             stream_of(device)>>>(body, n);
  cuda_check_launch("run_loop");
}

}  // namespace bitgraph::detail
