// SPDX-License-Identifier: Apache-2.0
// Launches whose blocks wait for one another: as many of them as the device runs at a time, and no more.
#pragma once

#include "core/cuda.cuh"

#include <algorithm>

namespace bitgraph {

/// Puts kernel(args) on the device's stream with at most a thread for each of `items`.
template <unsigned block_threads, class Args>
void launch_cooperative(const Device& device, void (*kernel)(Args), std::size_t items, Args args, const char* name) {
  const ScopedCudaDevice scope(device.index());
  int multiprocessors = 0;
  int blocks = 0;
  cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device.index()), name);
  cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(block_threads), 0), name);
  const auto most = static_cast<unsigned>(multiprocessors * blocks);
  void* parameters[] = {&args};
  cuda_check(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(kernel),
                                         dim3(std::min(most, blocks_for(items, block_threads))), dim3(block_threads),
                                         parameters, 0, stream_of(device)),
             name);
}

}  // namespace bitgraph
