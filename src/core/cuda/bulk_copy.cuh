// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies into shared memory and the barriers that signal their end, from compute capability 9.0 on. For
// other devices the code compiles, but must not run. Places in shared memory are its own addresses.
#pragma once

#include <cstdint>

namespace bitgraph::bulk_copy {

__device__ inline unsigned shared_address(const void* place) {
  return static_cast<unsigned>(__cvta_generic_to_shared(place));
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// A barrier of 64 bits. Its phase ends when all have arrived, and all bytes that it expects have come.
__device__ inline void init(unsigned barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}
/// Behind the last init(), by the thread that called it.
__device__ inline void show_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ inline void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ inline void arrive_and_expect(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
/// Arrives once all copies by cp.async that this thread has begun are there.
__device__ inline void arrive_behind_copies(unsigned barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}
/// Waits for the end of a phase; `parity` is 0 for the first one, 1 for the second one, and so on.
__device__ inline void wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{.reg .pred ended; again: mbarrier.try_wait.parity.shared.b64 ended, [%0], %1; @ended bra done; bra again; "
      "done: }" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/// Brings `bytes`, a multiple of 16, and tells the barrier.
__device__ inline void bring(unsigned to, const void* from, unsigned bytes, unsigned barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
/// Asks for a tensor map, so that the first box does not wait for it.
__device__ inline void ask_for_map(const void* map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }
/// Brings the box of a tensor map that begins at (byte, plane, row).
__device__ inline void bring_box(unsigned to, const void* map, int byte, int plane, int row, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::
          "r"(to),
      "l"(map), "r"(byte), "r"(plane), "r"(row), "r"(barrier)
      : "memory");
}

#else

__device__ inline void init(unsigned, unsigned) {}
__device__ inline void show_barriers() {}
__device__ inline void arrive(unsigned) {}
__device__ inline void arrive_and_expect(unsigned, unsigned) {}
__device__ inline void wait(unsigned, unsigned) {}
__device__ inline void bring(unsigned, const void*, unsigned, unsigned) {}

#endif

}  // namespace bitgraph::bulk_copy
