// SPDX-License-Identifier: Apache-2.0
// Flags by which blocks of a kernel tell later blocks that they are done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda/atomic>

namespace bitgraph::spmm_cuda {

/// Whether what a block leaves for a later one is there yet: one for each block, zero between calls.
struct Flags {
  std::uint32_t* ready = nullptr;

  __device__ void set(std::size_t place) const {
    cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>(ready[place]).store(1, cuda::memory_order_release);
  }
  /// Waits for those of first .. end - 1 that are `own` of `step` threads, and clears them.
  __device__ void await(std::size_t first, std::size_t end, unsigned own, unsigned step) const {
    for (std::size_t place = first + own; place < end; place += step) {
      cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device> is_ready(ready[place]);
      while (is_ready.load(cuda::memory_order_acquire) == 0) {
      }
      is_ready.store(0, cuda::memory_order_relaxed);
    }
  }
};

}  // namespace bitgraph::spmm_cuda
