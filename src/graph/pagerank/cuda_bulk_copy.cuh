// SPDX-License-Identifier: Apache-2.0
// Asynchronous bulk copies into shared memory, from compute capability 9.0 on, and the barriers that signal their end.
// For other devices the code compiles, but must not run.
#pragma once

#include <cstdint>

namespace bitgraph::bulk_copy {

__device__ inline unsigned shared_address(const void* place) {
  return static_cast<unsigned>(__cvta_generic_to_shared(place));
}

/// By one thread, which is the one to say what to expect, before the others wait.
__device__ inline void init(std::uint64_t* barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(barrier)));
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#else
  static_cast<void>(barrier);
#endif
}

/// The barrier's phase ends when so many bytes have come.
__device__ inline void expect(std::uint64_t* barrier, unsigned bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
#else
  static_cast<void>(barrier), static_cast<void>(bytes);
#endif
}

/// Waits for the end of the phase; `parity` is 0 for the first and 1 for the second one, and so on.
__device__ inline void wait(std::uint64_t* barrier, unsigned parity) {
#if __CUDA_ARCH__ >= 900
  unsigned ended = 0;
  while (ended == 0) {
    asm volatile(
        "{\n\t.reg .pred ended;\n\tmbarrier.try_wait.parity.shared.b64 ended, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, ended;\n\t}"
        : "=r"(ended)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
  }
#else
  static_cast<void>(barrier), static_cast<void>(parity);
#endif
}

/// Brings `bytes`, a multiple of 16, and tells the barrier.
__device__ inline void bring(void* to, const void* from, unsigned bytes, std::uint64_t* barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
#else
  static_cast<void>(to), static_cast<void>(from), static_cast<void>(bytes), static_cast<void>(barrier);
#endif
}

}  // namespace bitgraph::bulk_copy
