// SPDX-License-Identifier: Apache-2.0
// reduce() on a CUDA device, over any monoid. Included by reduce.hpp where nvcc compiles it.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/kernel_loop.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bitgraph::detail {

/// Elements that a lane loads side by side: 16 bytes where they are plain words.
template <class T>
inline constexpr unsigned reduced_a_load = sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8
                                               ? 16 / sizeof(T)
                                               : 1;

inline constexpr unsigned reduce_loads = 4;  ///< loads of a lane before it adds
inline constexpr std::size_t most_reduced_parts = 8192;

/// Elements that a warp takes at once.
template <class T>
inline constexpr std::size_t reduced_a_turn = std::size_t{32} * reduced_a_load<T>* reduce_loads;

/// Adds the sums of the lanes in their order; lane 0 gets the result.
template <class Monoid, class T>
__device__ T sum_of_lanes(T sum) {
#pragma unroll
  for (unsigned lanes = 1; lanes < 32; lanes *= 2) {
    const T behind = shuffled(sum, [&](std::uint32_t word) { return __shfl_down_sync(full_warp, word, lanes); });
    if (threadIdx.x % (2 * lanes) == 0) sum = Monoid::add(sum, behind);
  }
  return sum;
}

/// `size` consecutive elements of x[0 .. n) from `first` on; elements behind the end are the identity.
template <class Monoid, class T, bool aligned>
struct ReducedLoad {
  static constexpr unsigned size = reduced_a_load<T>;
  alignas(16) T value[size];

  __device__ void load(const T* x, std::size_t first, std::size_t n) {
    if (aligned && size > 1 && first + size <= n) {
      const uint4 words = *reinterpret_cast<const uint4*>(x + first);
      memcpy(value, &words, sizeof(words));
      return;
    }
#pragma unroll
    for (unsigned k = 0; k < size; ++k) value[k] = first + k < n ? x[first + k] : Monoid::template identity<T>();
  }
  [[nodiscard]] __device__ T sum() const {
    T sum = value[0];
#pragma unroll
    for (unsigned k = 1; k < size; ++k) sum = Monoid::add(sum, value[k]);
    return sum;
  }
};

/// A warp a span of elements, in their order: Monoid's add need not commute.
template <class Monoid, class T, bool aligned>
__global__ void __launch_bounds__(kernel_threads) reduce_spans(const T* x, std::size_t n, std::size_t span, T* parts) {
  const std::size_t part = (std::size_t{blockIdx.x} * kernel_threads + threadIdx.x) / 32;
  if (part * span >= n) return;
  const std::size_t end = min(n, (part + 1) * span);
  constexpr std::size_t a_load = std::size_t{32} * reduced_a_load<T>;
  T total = Monoid::template identity<T>();
  for (std::size_t first = part * span; first < end; first += reduced_a_turn<T>) {
    ReducedLoad<Monoid, T, aligned> loads[reduce_loads];
#pragma unroll
    for (unsigned k = 0; k < reduce_loads; ++k) {
      loads[k].load(x, first + k * a_load + threadIdx.x % 32 * reduced_a_load<T>, end);
    }
#pragma unroll
    for (unsigned k = 0; k < reduce_loads; ++k) {
      const T sum = sum_of_lanes<Monoid>(loads[k].sum());
      if (threadIdx.x % 32 == 0) total = Monoid::add(total, sum);
    }
  }
  if (threadIdx.x % 32 == 0) parts[part] = total;
}

/// Adds the parts in their order, with one block.
template <class Monoid, class T>
__global__ void __launch_bounds__(kernel_threads) reduce_parts(const T* parts, std::size_t num_parts, T* total) {
  __shared__ alignas(alignof(T)) unsigned char storage[kernel_threads / 32 * sizeof(T)];
  T* of_warps = reinterpret_cast<T*>(storage);
  const std::size_t own = (num_parts + kernel_threads - 1) / kernel_threads;
  const std::size_t end = min(num_parts, (threadIdx.x + 1) * own);
  T sum = Monoid::template identity<T>();
  for (std::size_t p = threadIdx.x * own; p < end; ++p) sum = Monoid::add(sum, parts[p]);
  sum = sum_of_lanes<Monoid>(sum);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  sum = of_warps[0];
  for (unsigned w = 1; w < kernel_threads / 32; ++w) sum = Monoid::add(sum, of_warps[w]);
  *total = sum;
}

/// As reduce(): the order of the additions follows from the number of elements alone. Waits for the device.
template <class Monoid, class T>
T reduce_on_device(const Device& device, const T* x, std::size_t n) {
  if (n == 0) return Monoid::template identity<T>();
  const ScopedCudaDevice scope(device.index());
  const std::size_t turns = (n + reduced_a_turn<T> - 1) / reduced_a_turn<T>;
  const std::size_t span = (turns + most_reduced_parts - 1) / most_reduced_parts * reduced_a_turn<T>;
  const std::size_t num_parts = (n + span - 1) / span;
  T* parts = static_cast<T*>(device.workspace((num_parts + 1) * sizeof(T)));
  const bool aligned = reinterpret_cast<std::uintptr_t>(x) % 16 == 0;
  const auto kernel = aligned ? reduce_spans<Monoid, T, true> : reduce_spans<Monoid, T, false>;
  kernel<<<kernel_blocks(num_parts, kernel_threads / 32), kernel_threads, 0, stream_of(device)>>>(x, n, span, parts);
  cuda_check_launch("reduce");
  reduce_parts<Monoid><<<1, kernel_threads, 0, stream_of(device)>>>(parts, num_parts, parts + num_parts);
  cuda_check_launch("reduce");
  T total;
  Device::copy(&total, Device{}, parts + num_parts, device, sizeof(T));
  return total;
}

}  // namespace bitgraph::detail
