// SPDX-License-Identifier: Apache-2.0
// Launches of as many blocks as a device runs at a time, and of blocks that wait for one another.
#pragma once

#include <bitgraph/core/kernel.cuh>

#include "core/cuda/limits.hpp"

#include <algorithm>
#include <cstddef>

namespace bitgraph {

/// Lets a kernel have `bytes` of dynamic shared memory: more than 48 KB have to be asked for. The device is the current
/// one.
template <class... Parameters>
void allow_shared_bytes(void (*kernel)(Parameters...), std::size_t bytes, const char* name) {
  if (bytes <= std::size_t{48} << 10) return;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)), name);
}

/// Blocks of a kernel that the device runs at a time. The device is the current one.
template <class... Parameters>
[[nodiscard]] unsigned resident_blocks(const Device& device, void (*kernel)(Parameters...), unsigned threads,
                                       std::size_t shared_bytes, const char* name) {
  int blocks = 0;
  cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads), shared_bytes),
             name);
  return cuda_limits(device).multiprocessors * static_cast<unsigned>(blocks);
}

/// Puts kernel(args) on the device's stream with at most a thread for each of `items`; its blocks may wait for one
/// another (cooperative groups: grid().sync()).
template <unsigned block_threads, class Args>
void launch_cooperative(const Device& device, void (*kernel)(Args), std::size_t items, Args args, const char* name) {
  const ScopedCudaDevice scope(device.index());
  const unsigned most = resident_blocks(device, kernel, block_threads, 0, name);
  void* parameters[] = {&args};
  cuda_check(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(kernel),
                                         dim3(std::min(most, blocks_for(items, block_threads))), dim3(block_threads),
                                         parameters, 0, stream_of(device)),
             name);
}

}  // namespace bitgraph
