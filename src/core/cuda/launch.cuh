// SPDX-License-Identifier: Apache-2.0
// Programmatic dependent launch, from compute capability 9.0 on: a kernel starts while the one before it on the stream
// still runs. For calls so short that the way to the device is most of their time, and for two kernels that do not need
// each other: the second fills the multiprocessors that the first leaves idle towards its end. On older devices a
// kernel waits for the one before it.
#pragma once

#include <bitgraph/core/kernel.cuh>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <type_traits>

namespace bitgraph {

/// In a kernel: from here on the next one of the stream may start, where there is room.
__device__ inline void trigger_dependent_launch() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// In a kernel: waits until the kernel before this one on the stream is done. Ahead of this call, nothing may be read
/// that the kernel before may have written, and nothing be written. Graphs may be read: whoever makes one waits for it,
/// and it does not change. Where batches take turns in one place, a copy stands between the kernels of two of them: the
/// first kernel behind it does not start early.
__device__ inline void wait_for_previous_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// The same once a load of a graph is complete: `loaded` is made of it, and never has all bits set. Without that the
/// assembler puts loads of constant memory behind the wait.
__device__ inline void wait_for_previous_kernel(std::uint32_t loaded) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("{.reg .pred p; setp.eq.u32 p, %0, 0xFFFFFFFF; @p trap; griddepcontrol.wait;}" ::"r"(loaded) : "memory");
#endif
}

/// Called by all threads of a kernel that needs nothing of the one before it, at their start: its last block waits for
/// that kernel, so that what comes after this kernel comes after both.
__device__ inline void outlast_previous_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if (blockIdx.x + 1 == gridDim.x) asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// How a multiprocessor shares out its memory while a kernel runs. Left as it is, it is as the kernel before had it:
/// behind a product that takes nearly all as shared memory, the loads of a sum would find no cache.
enum class FirstLevelCache : bool {
  as_it_is,
  large  ///< all but the shared memory of as many blocks as fit. For kernels that gather
};

/// A kernel that calls wait_for_previous_kernel() or outlast_previous_kernel(), and whether devices can start it early.
/// Made once, where it is launched.
template <class... P>
class ProgrammaticKernel {
 public:
  using Function = void (*)(P...);

  ProgrammaticKernel(Function function, const char* name, FirstLevelCache cache = FirstLevelCache::as_it_is)
      : function_(function), name_(name), cache_(cache) {}

  /// Puts the kernel on the device's stream. The device is the current one.
  void launch(const Device& device, dim3 blocks, unsigned threads, std::size_t shared_bytes,
              const std::type_identity_t<P>&... args) {
    std::array<cudaLaunchAttribute, 2> attributes{};
    unsigned count = 0;
    if (can_be_early(device.index())) {
      attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
      attributes[count++].val.programmaticStreamSerializationAllowed = 1;
    }
#if CUDART_VERSION >= 13000  // older toolkits may not know the attribute
    if (cache_ == FirstLevelCache::large) {
      attributes[count].id = cudaLaunchAttributePreferredSharedMemoryCarveout;
      attributes[count++].val.sharedMemCarveout = shared_part(device.index(), threads, shared_bytes);
    }
#endif
    cudaLaunchConfig_t config{};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream_of(device);
    config.attrs = attributes.data();
    config.numAttrs = count;
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(&args))...};
    const auto* function = reinterpret_cast<const void*>(function_);
    const cudaError_t error = cudaLaunchKernelExC(&config, function, pointers);
    if (error != cudaSuccess) cuda_check(error, name_);
  }

 private:
  enum class Early : std::uint8_t { unknown, no, yes };

  /// Where the code that runs was compiled for a device that can; older code does not wait.
  [[nodiscard]] bool can_be_early(int index) {
    const auto place = static_cast<std::size_t>(index);
    Early early = place < early_.size() ? early_[place].load(std::memory_order_relaxed) : Early::unknown;
    if (early == Early::unknown) {
      constexpr int oldest = 90;
      cudaFuncAttributes facts{};
      cuda_check(cudaFuncGetAttributes(&facts, reinterpret_cast<const void*>(function_)), name_);
      early = facts.ptxVersion >= oldest && facts.binaryVersion >= oldest ? Early::yes : Early::no;
      if (place < early_.size()) early_[place].store(early, std::memory_order_relaxed);
    }
    return early == Early::yes;
  }

  /// Hundredths of a multiprocessor's shared memory that its blocks take, as many as fit.
  [[nodiscard]] unsigned shared_part(int index, unsigned threads, std::size_t shared_bytes) {
    const auto place = static_cast<std::size_t>(index);
    const std::uint64_t launch = std::uint64_t{shared_bytes} << 24 | std::uint64_t{threads} << 8;
    const std::uint64_t known = place < shared_parts_.size() ? shared_parts_[place].load(std::memory_order_relaxed) : 0;
    constexpr std::uint64_t part = 0xFF;
    if (known != 0 && (known & ~part) == launch) return static_cast<unsigned>(known & part);
    const auto* function = reinterpret_cast<const void*>(function_);
    int blocks = 0, all = 0, of_system = 0;
    cudaFuncAttributes facts{};
    cuda_check(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, static_cast<int>(threads), shared_bytes),
        name_);
    cuda_check(cudaFuncGetAttributes(&facts, function), name_);
    cuda_check(cudaDeviceGetAttribute(&all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, index), name_);
    cuda_check(cudaDeviceGetAttribute(&of_system, cudaDevAttrReservedSharedMemoryPerBlock, index), name_);
    const std::size_t of_block = facts.sharedSizeBytes + shared_bytes + static_cast<std::size_t>(of_system);
    const std::size_t taken = static_cast<std::size_t>(blocks) * of_block;
    const auto hundredths = std::min<std::size_t>(100, (taken * 100 + all - 1) / static_cast<std::size_t>(all));
    if (place < shared_parts_.size()) shared_parts_[place].store(launch | hundredths, std::memory_order_relaxed);
    return static_cast<unsigned>(hundredths);
  }

  Function function_;
  const char* name_;
  FirstLevelCache cache_;
  std::array<std::atomic<Early>, 16> early_{};
  std::array<std::atomic<std::uint64_t>, 16> shared_parts_{};  ///< bytes and threads of the last launch, and its part
};

}  // namespace bitgraph
