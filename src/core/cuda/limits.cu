// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/limits.hpp"

#include <bitgraph/core/kernel.cuh>

#include <deque>
#include <mutex>

namespace bitgraph {

namespace {

CudaLimits ask(int index) {
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    cuda_check(cudaDeviceGetAttribute(&value, which, index), "cudaDeviceGetAttribute");
    return value;
  };
  return {
      .multiprocessors = static_cast<unsigned>(attribute(cudaDevAttrMultiProcessorCount)),
      .shared_bytes_a_block = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)),
      .shared_bytes_a_multiprocessor = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor)),
      .cache_bytes = static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize)),
      .major = attribute(cudaDevAttrComputeCapabilityMajor),
      .minor = attribute(cudaDevAttrComputeCapabilityMinor)};
}

}  // namespace

const CudaLimits& cuda_limits(const Device& device) {
  static std::mutex mutex;
  static std::deque<CudaLimits> known;  // elements do not move
  const std::scoped_lock lock(mutex);
  const auto index = static_cast<std::size_t>(device.index());
  while (known.size() <= index) known.emplace_back();
  if (known[index].multiprocessors == 0) known[index] = ask(device.index());
  return known[index];
}

}  // namespace bitgraph
